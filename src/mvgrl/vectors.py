"""From trained codes to the vectors that are written: which codes, how the views are joined, and at what scale."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.matrices import Matrix
from mvgrl.model import MVGRL
from mvgrl.sampling import Batch
from mvgrl.settings import Output

__all__ = ["Output", "node_and_graph_vectors"]


def node_and_graph_vectors(model: MVGRL, batch: Batch, output: Output) -> tuple[Tensor, Tensor]:
    """The vectors of the nodes and of the graphs of a batch.

    With the default output they are the paper's: the sum over the views, H = H^α + H^β and h = h^α + h^β.
    """
    views = [_codes(model, layers, view, batch, output.codes) for layers, view in model.layer_codes(batch)]
    joined = [
        torch.stack(codes).sum(0) if output.join == "sum" else torch.cat(codes, dim=1)
        for codes in zip(*views, strict=True)
    ]
    nodes, graphs = (normalize(vectors) if output.unit_length else vectors for vectors in joined)
    return nodes, graphs


def _codes(model: MVGRL, layers: list[Tensor], view: Matrix, batch: Batch, codes: str) -> tuple[Tensor, Tensor]:
    """The codes of nodes and graphs in one view: after the heads, before them, or of all layers without a readout."""
    if codes == "layers":
        nodes = torch.cat(layers, dim=1)
        sums = batch.pool(nodes)
        return nodes, sums / sums.new_tensor(batch.sizes)[:, None] if model.settings.readout.averages else sums
    nodes, graphs = layers[-1], model.readout(layers, view, batch).graphs
    return (nodes, graphs) if codes == "encoded" else (model.node_head(nodes), model.graph_head(graphs))

"""Make the final vectors from a trained model: parts, scaling and length.

The paper's vector is the sum of the views' codes. The default vector has several parts side by side: the codes of every
view, and parts that need no training (beside/). All parts are scaled and rotated together (vector_space.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.beside import KINDS, Beside
from mvgrl.errors import InputError
from mvgrl.inputs import Inputs
from mvgrl.matrices import Matrix
from mvgrl.model import MVGRL
from mvgrl.positions import are_positions
from mvgrl.sampling import Batch
from mvgrl.settings import Output, Settings
from mvgrl.vector_space import VectorSpace, weights_by_share
from mvgrl.views import Adjacency, view_matrix

__all__ = ["Composition", "Output", "plain_vectors"]

_COLUMNS = 128  # columns of a part that are propagated at a time
_CONSTANT = 1e-12  # variance of a part, relative to its squares, below which all rows are the same up to rounding


def plain_vectors(model: MVGRL, inputs: Inputs, output: Output) -> tuple[Tensor, Tensor]:
    """Return the vectors of the nodes and of the graphs as in the paper, without other parts or scaling.

    With the paper's output they are the sum over the views, H = H^α + H^β and h = h^α + h^β.
    """
    found: list[list[Tensor]] = [[], []]
    with torch.inference_mode():
        for batch in inputs.whole():
            views = [_codes(model, layers, view, batch, output) for layers, view in model.layer_codes(batch)]
            for rows, codes in zip(found, zip(*views, strict=True), strict=True):
                rows.append(_join(codes, output))
    nodes, graphs = (torch.cat(rows) for rows in found)
    return (normalize(nodes), normalize(graphs)) if output.unit_length else (nodes, graphs)


@dataclass(frozen=True)
class Composition:
    """The parts of a vector and how they are joined: fitted on the training graphs and saved with the model."""

    output: Output  # with everything chosen
    beside: Beside | None
    space: VectorSpace
    logarithms: bool = False  # of sums over graphs; square roots in older files

    @classmethod
    def fit(cls, model: MVGRL, inputs: Inputs, output: Output) -> tuple[Composition, list[Tensor]]:
        """Learn components, scales and the rotation from the training graphs, and return their parts, too."""
        kind = KINDS.get(output.beside)
        beside = None if kind is None else inputs.once(kind, lambda: kind.fit(inputs))
        logarithms = inputs.settings.task == "graph"
        found = _parts(model, inputs, output, beside, logarithms=logarithms)
        parts = [part for part in found if part is not None]  # all of them: everything is known of the training graphs
        return cls(output, beside, fitted_space(parts, beside, inputs), logarithms), parts

    def vectors(self, model: MVGRL, inputs: Inputs, output: Output, parts: Sequence[Tensor] | None = None) -> Tensor:
        """Return the vectors of the task for prepared graphs, whose parts are computed unless they are given."""
        known = _parts(model, inputs, self.output, self.beside, logarithms=self.logarithms) if parts is None else parts
        found = self.space.transform(known, output.dim)
        return normalize(found) if output.unit_length else found

    def fits(self, output: Output) -> bool:
        """Whether vectors of this output have the same parts."""
        names = ("beside", "codes", "join")
        return all(getattr(output, name) == getattr(self.output, name) for name in names)

    def parts(self, settings: Settings, dim: int) -> dict[str, float]:
        """Return the share of the variance of each part that vectors of this length keep, by the part's name."""
        names = code_names(settings, self.output) + (self.beside.names(settings) if self.beside else [])
        return dict(zip(names, self.space.kept(dim), strict=True))

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors to save in a file; :meth:`from_tensors` reads them back."""
        logarithms = {"logarithms": torch.ones(1)} if self.logarithms else {}
        return (self.beside.tensors() if self.beside else {}) | self.space.tensors() | logarithms

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], settings: Settings, width: int, output: Output) -> Composition:
        """Rebuild the composition of a model whose features have ``width`` columns from the tensors of its file."""
        kind, codes = KINDS.get(output.beside), len(code_names(settings, output))
        count = tensors["widths"].numel() - codes
        beside = None if kind is None else kind.from_tensors(tensors, settings, width, count)
        widths = [_code_width(settings, output)] * codes + ([] if beside is None else beside.widths(width))
        composition = cls(output, beside, VectorSpace.from_tensors(tensors, widths), "logarithms" in tensors)
        if unknown := set(tensors) - set(composition.tensors()):
            raise ValueError(f"vector/{min(unknown)} is unknown")
        return composition

    def to(self, device: torch.device | str) -> Composition:
        """Return the composition on another device."""
        beside = self.beside.to(device) if self.beside else None
        return replace(self, beside=beside, space=self.space.to(device))


def code_names(settings: Settings, output: Output) -> list[str]:
    """Return the names of the parts of a vector that are codes.

    >>> code_names(Settings(), Output().for_task("node"))
    ['codes: adjacency', 'codes: ppr']
    """
    return [f"codes: {view}" for view in settings.views] if output.join == "concatenate" else ["codes"]


def fitted_space(parts: Sequence[Tensor], beside: Beside | None, inputs: Inputs) -> VectorSpace:
    """Learn the scales and the rotation of all parts: the codes, if there are any, and the parts after them."""
    weights = part_weights(len(parts), beside)
    if beside is not None and any(beside.by_share):
        counted = [True] * (len(parts) - len(beside.by_share)) + beside.by_share  # the codes come first
        weights = weights_by_share(weights, _surviving_shares(parts, counted, inputs))
    return VectorSpace.fit(parts, weights)


def part_weights(count: int, beside: Beside | None) -> list[float]:
    """Return the weights of all parts, those of the codes first; the codes of all views share one weight."""
    if beside is None:
        return [count**-0.5] * count
    codes = count - len(beside.weights)
    return [beside.code_weight * max(codes, 1) ** -0.5] * codes + beside.weights


def describe(settings: Settings, output: Output, rows: int) -> str:
    """Return in a few words what the vectors of this many nodes or graphs are made of.

    >>> describe(Settings(), Output().for_task("node"), 2708)
    'vectors of 512: codes of adjacency and ppr, raw and propagated features'
    >>> describe(Settings(), Output().for_task("node"), 34)
    'vectors of up to 34: codes of adjacency and ppr, raw and propagated features'
    >>> describe(Settings(), Output(preset="paper").for_task("node"), 34)
    'vectors of 512: sum of the codes of adjacency and ppr'
    """
    *first, last = [view.name for view in settings.views]
    views = f"{', '.join(first)} and {last}" if first else last
    codes = f"{'sum of the ' if output.join == 'sum' and first else ''}codes of {views}"
    propagated = f"raw and propagated {'positions' if are_positions(settings.features) else 'features'}"
    beside = {
        "none": "",
        "counts": ", counts of substructures, histogram",
        "propagated": f", {propagated}",
        "propagated+position": f", {propagated}, positions",
    }[output.beside]
    length = str(output.dim) if output.dim < rows else f"up to {rows}"  # few points span few dimensions
    if not output.dim:
        length = "all components"
    return f"vectors of {length if output.composed else plain_length(settings, output)}: {codes}{beside}"


def plain_length(settings: Settings, output: Output) -> int:
    """Return the length of vectors without other parts or scaling."""
    return _code_width(settings, output) * (len(settings.views) if output.join == "concatenate" else 1)


def _code_width(settings: Settings, output: Output) -> int:
    return settings.hidden * (settings.layers if output.codes == "layers" else 1)


def _parts(
    model: MVGRL, inputs: Inputs, output: Output, beside: Beside | None, *, logarithms: bool
) -> list[Tensor | None]:
    """Return all parts, rows × columns each, or None if unknown; rows are nodes or graphs, depending on the task."""
    graphs = inputs.settings.task == "graph"
    with torch.inference_mode():
        found = [_code_parts(model, batch, output, graphs=graphs, logarithms=logarithms) for batch in inputs.whole()]
        parts: list[Tensor | None] = [torch.cat(rows) for rows in zip(*found, strict=True)]
        parts += beside.parts(inputs) if beside is not None else []
    for part in parts:
        if part is not None:
            check_finite_vectors(part)
    return parts


def _surviving_shares(parts: Sequence[Tensor], counted: Sequence[bool], inputs: Inputs) -> list[float | None]:
    """Return the share of each part's variance that survives one step over the edges; None if it is not counted."""
    kinds = [isinstance(kind, Adjacency) for kind in inputs.settings.views]
    if any(kinds):
        adjacency = inputs.views[kinds.index(True)]
    else:
        adjacency = view_matrix(Adjacency(), inputs.graph, cache=inputs.cache).to(inputs.device)
    shares: list[float | None] = []
    with torch.inference_mode():
        for part, counts in zip(parts, counted, strict=True):
            if not counts:
                shares.append(None)
                continue
            before, after, size = 0.0, 0.0, _squares(part)
            for columns in part.split(_COLUMNS, dim=1):
                centred = columns - columns.mean(0)
                before += _squares(centred)
                after += _squares(adjacency @ centred)
            shares.append(surviving_share(before, after, size))
    return shares


def surviving_share(before: float, after: float, size: float) -> float:
    """Return the share of a part's variance that survives; 0 if it is rounding error, relative to all its squares."""
    return after / before if before > _CONSTANT * size else 0.0


def _squares(values: Tensor) -> float:
    return float(values.square().sum(dtype=torch.float64))


def check_finite_vectors(vectors: Tensor) -> None:
    """Reject codes that are not finite."""
    if not vectors.sum().isfinite() and not vectors.isfinite().all():  # a sum takes no memory, but may overflow
        raise InputError(
            "the vectors are not finite: the weights of the model are too large for these features; train again, with "
            "a smaller learning rate"
        )


def _code_parts(model: MVGRL, batch: Batch, output: Output, *, graphs: bool, logarithms: bool) -> list[Tensor]:
    """Return the codes of every view, or their sum; graph codes are sums, so logarithms keep large ones in bounds."""
    views = [_codes(model, layers, view, batch, output)[graphs] for layers, view in model.layer_codes(batch)]
    codes = [_join(views, output)] if output.join == "sum" else views
    if not graphs:
        return codes
    return [one.sign() * (one.abs().log1p() if logarithms else one.abs().sqrt()) for one in codes]


def _join(views: Sequence[Tensor], output: Output) -> Tensor:
    return torch.stack(list(views)).sum(0) if output.join == "sum" else torch.cat(list(views), dim=1)


def _codes(model: MVGRL, layers: list[Tensor], view: Matrix, batch: Batch, output: Output) -> tuple[Tensor, Tensor]:
    """Return the codes of nodes and graphs in one view: after the heads, before them, or of all layers, summed."""
    if output.codes == "layers":
        nodes = torch.cat(layers, dim=1)
        sums = batch.pool(nodes)
        return nodes, sums / batch.counts(sums)[:, None] if model.settings.readout.averages else sums
    nodes, graphs = layers[-1], model.readout(layers, view, batch).graphs
    return (nodes, graphs) if output.codes == "encoded" else (model.node_head(nodes), model.graph_head(graphs))

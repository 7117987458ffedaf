"""GraphMAE (Hou et al., 2022): features of masked nodes are reconstructed by an autoencoder with attention."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from mvgrl.datasets import Dataset
from mvgrl.encoders import BiasedPReLU
from mvgrl.matrices import DenseMatrix, Matrix, SparseMatrix
from mvgrl.methods.augmentations import EdgeDropper
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_data import features_of
from mvgrl.methods.self_supervised import Model, Plan, train
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings

_GAIN = math.sqrt(2)  # of the initial weights
_SMALLEST_NORM = 1e-12


@dataclass(frozen=True)
class GraphMAE(Method):
    """Two GAT layers encode; one GAT layer with one head decodes, after the codes of masked nodes are set to zero.

    Features stay sparse, and no reconstruction is formed: the decoder propagates before it projects, and the cosine of
    x and W·p + b needs only products with x, p and W·Wᵀ. Dropout does not apply to the mask token.
    """

    name, label, tasks, trains = "graphmae", "GraphMAE", ("node",), True
    source: ClassVar[str] = (
        "Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders, KDD 2022, and the authors' code "
        "(github.com/THUDM/GraphMAE, configs.yml); defaults: Cora"
    )
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "citeseer": {"heads": 2, "weight_decay": 2e-5, "epochs": 300, "replaced": 0.1, "power": 1.0},
        "pubmed": {"hidden": 1024, "weight_decay": 1e-5, "epochs": 1000, "masked": 0.75, "replaced": 0.0},
    }

    hidden: int = 512  # of all heads together
    heads: int = 4
    masked: float = 0.5  # share of the nodes
    replaced: float = 0.05  # share of the masked nodes that get the features of another node, not the token
    power: float = 3.0  # γ of the scaled cosine error
    drop_features: float = 0.2  # dropout before each layer
    drop_attention: float = 0.1
    learning_rate: float = 1e-3
    weight_decay: float = 2e-4
    epochs: int = 1500

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed."""
        device = context.device
        features = features_of(dataset, settings, device)
        edges = EdgeDropper(dataset.graph, device)

        def pace(epoch: int) -> float:
            return (1 + math.cos(epoch * math.pi / self.epochs)) / 2

        plan = Plan(self.epochs, self.learning_rate, self.weight_decay, pace=pace)
        return [train(lambda seed: Masked(features, edges, self, seed), [seed], plan, device)[0] for seed in seeds]


class Masked(Model):
    """The encoder, the decoder and the token that replaces the features of masked nodes."""

    def __init__(self, features: Matrix, edges: EdgeDropper, method: GraphMAE, seed: int) -> None:
        super().__init__()
        self.features, self.method = features, method
        self.norms = features.row_squares().sqrt()
        # Dropout needs many numbers: they are drawn where they are used.
        self.noise = generator_for(seed, "dropout", self.norms.device)
        self.dropout = FeatureDropout(features, method.drop_features)
        generator, width, hidden = generator_for(seed, "weights"), features.shape[1], method.hidden
        self.first = Attention(width, hidden, method.heads, edges, method.drop_attention, generator)
        self.second = Attention(hidden, hidden, method.heads, edges, method.drop_attention, generator)
        self.activations = nn.ModuleList(BiasedPReLU(hidden) for _ in range(2))
        self.between = nn.Parameter((torch.rand(hidden, hidden, generator=generator) * 2 - 1) * hidden**-0.5)
        self.decoder = Attention(hidden, width, 1, edges, method.drop_attention, generator)
        self.bias = nn.Parameter(torch.zeros(width))  # of the decoder
        self.token = nn.Parameter(torch.zeros(width))

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        nodes, method = self.features.shape[0], self.method
        order = torch.randperm(nodes, generator=generator)
        count = max(1, int(method.masked * nodes))
        replaced = int(method.replaced * count)
        rows, token = torch.arange(nodes), torch.zeros(nodes, dtype=torch.bool)
        token[order[replaced:count]] = True
        rows[order[:replaced]] = torch.randperm(nodes, generator=generator)[:replaced]
        return {"masked": order[:count], "token": token, "rows": rows}

    def forward(self, drawn: Mapping[str, Tensor], matrices: Mapping[str, Matrix]) -> Tensor:
        projected = (self.dropout(self.noise) @ self.first.weight).index_select(0, drawn["rows"])
        projected = torch.where(drawn["token"][:, None], self.token @ self.first.weight, projected)
        codes = self._encode(projected, self.noise) @ self.between
        codes = dropped(codes.index_fill(0, drawn["masked"], 0.0), self.method.drop_features, self.noise)
        reached = self.decoder.propagate(codes, self.noise)[drawn["masked"]]  # P; the reconstruction is P·W + b
        return self._error(reached, drawn["masked"])

    def _encode(self, projected: Tensor, noise: torch.Generator | None = None) -> Tensor:
        codes = self.activations[0](self.first(projected, noise))
        if noise is not None:
            codes = dropped(codes, self.method.drop_features, noise)
        return self.activations[1](self.second(codes @ self.second.weight, noise))

    def _error(self, reached: Tensor, masked: Tensor) -> Tensor:
        weight, bias = self.decoder.weight, self.bias
        features = self.features @ torch.cat([weight.mT, bias[:, None]], dim=1)  # X·[Wᵀ, b]
        features = features.index_select(0, masked)
        products = (features[:, :-1] * reached).sum(1) + features[:, -1]
        squares = (reached @ (weight @ weight.mT) * reached).sum(1) + 2 * reached @ (weight @ bias) + bias @ bias
        norms = squares.clamp(min=_SMALLEST_NORM).sqrt() * self.norms[masked].clamp(min=_SMALLEST_NORM)
        return (1 - products / norms).clamp(min=0).pow(self.method.power).mean()

    def codes(self) -> Tensor:
        return self._encode(self.features @ self.first.weight)


class Attention(nn.Module):
    """Graph attention (Veličković et al., 2018), given X·Θ: each head weighs the neighbours by a softmax of scores."""

    def __init__(
        self, width: int, out: int, heads: int, edges: EdgeDropper, drop: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.edges, self.heads, self.drop = edges, heads, drop
        size = out // heads
        self.weight = nn.Parameter(_normal(width, out, math.sqrt(2 / (width + out)), generator))
        spread = math.sqrt(2 / (size * heads + size))
        self.of_source = nn.Parameter(_normal(heads, size, spread, generator))
        self.of_target = nn.Parameter(_normal(heads, size, spread, generator))

    def forward(self, projected: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """Return the codes, nodes × out, given the projected ones; without noise, nothing is dropped."""
        parts = projected.unflatten(1, (self.heads, -1))
        shares = self._shares((parts * self.of_source).sum(2), (parts * self.of_target).sum(2), noise)
        heads = [_Weighted.apply(shares[:, i], parts[:, i], self.edges) for i in range(self.heads)]
        return torch.cat(heads, dim=1)

    def propagate(self, codes: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """Return the weighted sums of the codes themselves, before the projection; for one head."""
        source, target = codes @ (self.weight @ self.of_source.mT), codes @ (self.weight @ self.of_target.mT)
        return _Weighted.apply(self._shares(source, target, noise)[:, 0], codes, self.edges)

    def _shares(self, source: Tensor, target: Tensor, noise: torch.Generator | None) -> Tensor:
        """Return the weight of each edge for each head, edges × heads, given nodes × heads."""
        rows = self.edges.rows
        scores = leaky_relu(target[rows] + source[self.edges.columns], 0.2)
        index = rows[:, None].expand_as(scores)
        highest = target.new_full(target.shape, -torch.inf).scatter_reduce(0, index, scores.detach(), "amax")
        scores = (scores - highest[rows]).exp()
        shares = scores / torch.zeros_like(target).index_add(0, rows, scores)[rows]
        return shares if noise is None else dropped(shares, self.drop, noise)


class _Weighted(torch.autograd.Function):
    """Sums of rows over the edges with learned weights: the product of a sparse matrix with learned values."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, right: Tensor, edges: EdgeDropper) -> Tensor:
        ctx.save_for_backward(values, right)
        ctx.edges = edges
        return SparseMatrix(edges.indptr, edges.indices, values.detach().contiguous(), edges.nodes).multiply(right)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (values, right), edges = ctx.saved_tensors, ctx.edges
        transpose = SparseMatrix(edges.indptr, edges.indices, values[edges.reverse], edges.nodes)
        along = (grad[edges.rows] * right[edges.columns]).sum(1)
        return along, transpose.multiply(grad), None


class FeatureDropout:
    """Dropout of the entries of a matrix, which stays sparse if it is."""

    def __init__(self, features: Matrix, rate: float) -> None:
        self.features, self.rate = features, rate
        if isinstance(features, SparseMatrix):
            self.order = torch.argsort(features.indices, stable=True)  # of the values in the transpose

    def __call__(self, noise: torch.Generator) -> Matrix:
        """Return the matrix with some entries zero, and the others scaled up."""
        whole = self.features
        if not isinstance(whole, SparseMatrix):
            return DenseMatrix(dropped(whole.dense(), self.rate, noise))
        values = dropped(whole.values, self.rate, noise)
        some = SparseMatrix(whole.indptr, whole.indices, values, whole.shape[1])
        some.pair_with(SparseMatrix(whole.T.indptr, whole.T.indices, values[self.order], whole.shape[0]))
        return some


def dropped(values: Tensor, rate: float, noise: torch.Generator) -> Tensor:
    """Return the values with a share of them zero, and the others divided by one minus that share."""
    kept = torch.rand(values.shape, generator=noise, device=values.device) >= rate
    return values * kept / (1 - rate)


def _normal(rows: int, columns: int, spread: float, generator: torch.Generator) -> Tensor:
    return torch.randn(rows, columns, generator=generator) * (_GAIN * spread)

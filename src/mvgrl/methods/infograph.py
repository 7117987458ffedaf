"""InfoGraph: which nodes of a batch are in which graph (Sun et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from mvgrl.datasets import Dataset
from mvgrl.encoders import xavier
from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix, SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_classifiers import node_kinds
from mvgrl.mutual_information import jsd
from mvgrl.optimizers import Adam
from mvgrl.runtime import generator_for
from mvgrl.sampling import Batch, GraphBatches
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class InfoGraph(Method):
    """GIN layers next to each other, summed per graph; nodes and graphs are scored by the Jensen–Shannon bound.

    The vectors are those after the last epoch; the authors' code reports the epoch with the best test accuracy.
    """

    name, label, tasks, trains = "infograph", "InfoGraph", ("graph",), True
    source = (
        "Sun et al., 2020, section 4.1, and the defaults of the authors' code, github.com/fanyun-sun/InfoGraph: 5 GIN "
        "layers of 32, batches of 128, 20 epochs, Adam; learning rate 0.001 of their grid; one-hot labels, or a "
        "constant where there are none"
    )
    hidden: int = 32
    layers: int = 5
    batch: int = 128
    epochs: int = 20
    learning_rate: float = 0.001

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed."""
        graph = dataset.graph
        kinds = node_kinds(graph, "constant" if graph.node_labels is None else "labels")
        batches = batches_of(graph, kinds, context.device)
        return [Outcome(self._vectors(batches, seed), epochs=self.epochs) for seed in seeds]

    def _vectors(self, batches: GraphBatches, seed: int) -> np.ndarray:
        generator, order = generator_for(seed, "parameters"), np.random.default_rng([seed, 1])
        model = InfoGraphModel(batches.features.shape[1], self.hidden, self.layers, generator).to(batches.device)
        optimiser = Adam(model.parameters(), lr=self.learning_rate)
        count = len(batches.offsets) - 1
        for _ in range(self.epochs):
            for numbers in self._parts(order.permutation(count)):
                optimiser.zero_grad()
                model.loss(batches.of_graphs(numbers)).backward()
                optimiser.step()
        model.eval()
        with torch.no_grad():
            found = [model(batch)[1].cpu() for batch in map(batches.of_graphs, self._parts(np.arange(count)))]
        return torch.cat(found).numpy()

    def _parts(self, numbers: np.ndarray) -> Iterator[Tensor]:
        yield from map(torch.from_numpy, np.array_split(numbers, -(-len(numbers) // self.batch)))


def batches_of(graph: Graph, kinds: np.ndarray, device: torch.device) -> GraphBatches:
    """Return the graphs with one-hot features, and edges without weights."""
    features = torch.eye(int(kinds.max()) + 1)[torch.from_numpy(kinds)]
    edges = graph.adjacency.astype(np.float32)
    edges.data[:] = 1
    adjacency = SparseMatrix.from_scipy(edges, symmetric=True).to(device)
    return GraphBatches(DenseMatrix(features).to(device), (adjacency,), torch.from_numpy(graph.offsets), device=device)


class InfoGraphModel(nn.Module):
    """The encoder, and a network each for nodes and graphs, whose inner products are the scores."""

    def __init__(self, width: int, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        widths = [width] + [hidden] * (layers - 1)
        self.convolutions = nn.ModuleList(
            nn.Sequential(_linear(one, hidden, generator), nn.ReLU(), _linear(hidden, hidden, generator))
            for one in widths
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in widths)
        self.of_nodes, self.of_graphs = (_Feedforward(hidden * layers, generator) for _ in range(2))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the codes of the nodes, and their sums per graph, all layers next to each other."""
        (adjacency,), x, every = batch.views, batch.features.dense(), []
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = norm(torch.relu(convolution(x + adjacency @ x)))
            every.append(x)
        nodes = torch.cat(every, dim=1)
        return nodes, batch.pool(nodes)

    def loss(self, batch: Batch) -> Tensor:
        """Return the bound: a node and its own graph belong together, a node and any other graph do not."""
        nodes, graphs = self(batch)
        scores = self.of_nodes(nodes) @ self.of_graphs(graphs).T
        return jsd(scores, batch.owner[:, None] == torch.arange(len(graphs), device=scores.device))


class _Feedforward(nn.Module):
    """Three layers with ReLU, in parallel to a linear one."""

    def __init__(self, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.block = nn.Sequential(*(part for _ in range(3) for part in (_linear(width, width, generator), nn.ReLU())))
        self.beside = _linear(width, width, generator)

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x) + self.beside(x)


def _linear(width: int, hidden: int, generator: torch.Generator) -> nn.Linear:
    layer = nn.Linear(width, hidden)
    layer.weight.data, layer.bias.data = xavier(hidden, width, generator=generator), torch.zeros(hidden)
    return layer

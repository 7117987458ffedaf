"""GAE and VGAE (Kipf and Welling, 2016): a graph convolutional encoder whose inner products predict the edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mvgrl.datasets import Dataset
from mvgrl.encoders import xavier
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import as_vectors
from mvgrl.methods.graph_data import edge_index_of, features_of
from mvgrl.optimizers import Adam
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings
from mvgrl.views.adjacency import normalised_adjacency

_CHUNK = {"cpu": 2**19, "cuda": 2**27}  # pairs of nodes that exist at once


@dataclass(frozen=True)
class GAE(Method):
    """relu(Â X W) and then Â H W, trained to predict A + I from the inner products; the codes are the vectors."""

    name, label, tasks, trains = "gae", "GAE", ("node",), True
    source = "Kipf and Welling (2016), section 2, and tkipf/gae: train.py, optimizer.py; features as they are"
    variational: ClassVar[bool] = False

    hidden: int = 32
    size: int = 16
    rate: float = 0.01
    epochs: int = 200

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed."""
        features = features_of(dataset, settings, context.device, normalise="none")
        problem = Reconstruction(dataset.graph, features, context.device)
        return [Outcome(as_vectors(self.train(problem, seed)), epochs=self.epochs) for seed in seeds]

    def train(self, problem: Reconstruction, seed: int) -> Tensor:
        """Return the codes after training; those of a variational encoder are the means."""
        model = GraphEncoder(problem, self.hidden, self.size, seed, variational=self.variational)
        optimiser = Adam(model.parameters, lr=self.rate)
        for _ in range(self.epochs):
            optimiser.zero_grad()
            model.loss(model.sample()).backward()
            optimiser.step()
        return model.means()


@dataclass(frozen=True)
class VGAE(GAE):
    """GAE with a normal distribution per node, kept close to the standard one; the means are the vectors."""

    name, label = "vgae", "VGAE"
    variational = True


class Reconstruction:
    """What is encoded and predicted: features, the normalised adjacency, and the entries of A + I."""

    def __init__(self, graph: Any, features: Matrix, device: torch.device) -> None:
        self.features, self.nodes, self.device = features, graph.nodes, device
        self.adjacency = SparseMatrix.from_scipy(normalised_adjacency(graph)[0], symmetric=True).to(device)
        edges = edge_index_of(graph, device)
        self.edges, loops = edges.shape[1], torch.arange(graph.nodes, device=device).expand(2, -1)
        self.ends = torch.cat([edges, loops], dim=1)

    def loss(self, codes: Tensor) -> Tensor:
        """Return the weighted cross-entropy of all pairs of nodes, in which edges weigh as much as all other pairs.

        With P edges in both directions it is ½ (Σ over edges / P + Σ over other pairs / (n² − P)); the loops count as
        edges but not in P, as in the authors' code.
        """
        scores = (codes.index_select(0, self.ends[0]) * codes.index_select(0, self.ends[1])).sum(1)
        edges = max(self.edges, 1)
        others = _AllPairs.apply(codes) - softplus(scores).sum()
        return (softplus(-scores).sum() / edges + others / max(self.nodes**2 - self.edges, 1)) / 2


class _AllPairs(torch.autograd.Function):
    """Σ softplus(zᵢ·zⱼ) over all pairs of nodes, a few rows at a time; each pair is computed once."""

    @staticmethod
    def forward(ctx: Any, codes: Tensor) -> Tensor:
        rows = max(1, _CHUNK[codes.device.type] // len(codes))
        gradient, total = torch.zeros_like(codes), torch.zeros((), dtype=torch.float64, device=codes.device)
        for start in range(0, len(codes), rows):
            some, later = codes[start : start + rows], codes[start:]
            scores = some @ later.T
            smooth = softplus(scores)
            total += 2 * smooth.sum() - smooth[:, : len(some)].sum()
            scores.sigmoid_()
            gradient[start : start + rows] += 2 * (scores @ later)  # a pair counts in both orders
            gradient[start + rows :] += 2 * (scores[:, len(some) :].T @ some)
        ctx.save_for_backward(gradient)
        return total.to(codes.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (gradient,) = ctx.saved_tensors
        found: Tensor = grads[0] * gradient
        return found


class GraphEncoder:
    """Two graph convolutions without biases. A variational one has a second head: the logarithm of the spread.

    ``noise`` is the standard deviation of what is added to the hidden layer in training.
    """

    def __init__(
        self,
        problem: Reconstruction,
        hidden: int,
        size: int,
        seed: int,
        *,
        variational: bool = False,
        noise: float = 0.0,
    ) -> None:
        self.problem, self.noise = problem, noise
        weights = generator_for(seed, "autoencoder weights")
        self.draws = generator_for(seed, "autoencoder samples", problem.device)
        shapes = [(problem.features.shape[1], hidden)] + [(hidden, size)] * (2 if variational else 1)
        drawn = [xavier(*shape, generator=weights).to(problem.device) for shape in shapes]
        self.parameters = [weight.requires_grad_() for weight in drawn]

    def _heads(self, *, noise: float = 0.0) -> list[Tensor]:
        """The codes, or the means and logarithms of the spreads."""
        first, *heads = self.parameters
        hidden = (self.problem.adjacency @ (self.problem.features @ first)).relu()
        if noise:
            hidden = hidden + noise * self.normal(*hidden.shape)
        return [self.problem.adjacency @ (hidden @ head) for head in heads]

    def sample(self) -> list[Tensor]:
        """Return codes for training, and the heads they come from."""
        means, *spreads = self._heads(noise=self.noise)
        if not spreads:
            return [means, means]
        return [means + self.normal(*means.shape) * spreads[0].exp(), means, spreads[0]]

    def loss(self, sample: list[Tensor]) -> Tensor:
        """Return the loss of the reconstruction and, if variational, the divergence per node, divided by the nodes."""
        codes, means, *spreads = sample
        found = self.problem.loss(codes)
        for spread in spreads:
            divergence = (means.square() + (2 * spread).exp() - 1 - 2 * spread).sum(1).mean() / 2
            found = found + divergence / self.problem.nodes
        return found

    def means(self) -> Tensor:
        """Return the final codes."""
        with torch.no_grad():
            return self._heads()[0]

    def normal(self, *shape: int) -> Tensor:
        """Draw standard normal numbers."""
        return torch.randn(shape, generator=self.draws, device=self.problem.device)

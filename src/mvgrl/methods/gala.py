"""GALA (Park et al., 2019): an autoencoder of the features that smooths in the encoder and sharpens in the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mvgrl.datasets import Dataset
from mvgrl.encoders import xavier
from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import as_vectors
from mvgrl.methods.graph_data import features_of
from mvgrl.optimizers import Adam
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings
from mvgrl.views.adjacency import normalised, normalised_adjacency


@dataclass(frozen=True)
class GALA(Method):
    """Two smoothing layers relu(Â H W), and two sharpening ones of which the last is linear; ½ ‖X − X̂‖² / n.

    The codes between both are the vectors. Features are as they are: with rows of unit length, this weight decay
    made the codes useless in a trial on Cora. The authors' code is for images; the sizes of the layers and the
    epochs for citation graphs could not be found, and those here are ours.
    """

    name, label, tasks, trains = "gala", "GALA", ("node",), True
    source = "Park et al. (2019), sections 3 and 5, and sseung0703/GALA_TF2.0: train.py, op_util.py, nets/GALA.py"

    sizes: tuple[int, int] = (128, 64)
    rate: float = 1e-4
    weight_decay: float = 5e-4
    epochs: int = 1000

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed."""
        features = features_of(dataset, settings, context.device, normalise="none")
        views = smoother(dataset.graph, context.device), sharpener(dataset.graph, context.device)
        return [Outcome(as_vectors(self.train(features, *views, seed)), epochs=self.epochs) for seed in seeds]

    def train(self, features: Matrix, smooth: Matrix, sharp: Matrix, seed: int) -> Tensor:
        """Return the inner codes after training."""
        widths, draws = (features.shape[1], *self.sizes), generator_for(seed, "GALA weights")
        shapes = [*pairwise(widths)]
        shapes += [(after, before) for before, after in reversed(shapes)]
        squares = features.row_squares().sum()
        weights = [xavier(*shape, generator=draws).to(squares.device).requires_grad_() for shape in shapes]
        optimiser = Adam(weights, lr=self.rate, weight_decay=self.weight_decay)
        for _ in range(self.epochs):
            optimiser.zero_grad()
            codes = encode(features, smooth, *weights[:2])
            reconstruction_loss(features, squares, last_layer(codes, sharp, weights[2]), weights[3]).backward()
            optimiser.step()
        with torch.no_grad():
            return encode(features, smooth, *weights[:2])


def encode(features: Matrix, smooth: Matrix, first: Tensor, second: Tensor) -> Tensor:
    """Return relu(S · relu(S · X · W₀) · W₁)."""
    hidden = (smooth @ (features @ first)).relu()
    return (smooth @ (hidden @ second)).relu()


def last_layer(codes: Tensor, sharp: Matrix, weight: Tensor) -> Tensor:
    """Return what the last weight is multiplied with: D · relu(D · Z · W₂)."""
    return sharp @ ((sharp @ codes) @ weight).relu()


def reconstruction_loss(features: Matrix, squares: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
    """Return ½ ‖X − H W‖² / n, given ‖X‖², as ½ (‖X‖² − 2 ⟨Xᵀ H, Wᵀ⟩ + ⟨Hᵀ H W, W⟩) / n.

    The product H W is never formed: it has as many entries as X, but X is sparse.
    """
    shared = (features.T @ hidden) * weight.T
    own = (hidden.T @ hidden @ weight) * weight
    return (squares - 2 * shared.sum() + own.sum()) / (2 * len(hidden))


def smoother(graph: Graph, device: torch.device) -> Matrix:
    """Return (I + D)^-1/2 (I + A) (I + D)^-1/2."""
    return SparseMatrix.from_scipy(normalised_adjacency(graph)[0], symmetric=True).to(device)


def sharpener(graph: Graph, device: torch.device) -> Matrix:
    """Return (2I + D)^-1/2 (2I − A) (2I + D)^-1/2, of which no eigenvalue exceeds 1.

    >>> sharpener(Graph.from_edges([0], [1]), torch.device("cpu")).dense()
    tensor([[ 0.6667, -0.3333],
            [-0.3333,  0.6667]])
    """
    adjacency = graph.adjacency.astype(np.float64)
    signed = sp.csr_array(2 * sp.eye_array(graph.nodes, format="csr") - adjacency)
    signed.sort_indices()
    degrees = np.asarray(adjacency.sum(axis=1)).reshape(-1)
    return SparseMatrix.from_scipy(normalised(signed, 2 + degrees), symmetric=True).to(device)

"""ManiReg: least squares with manifold regularisation (Belkin, Niyogi & Sindhwani, JMLR 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from mvgrl.datasets import Dataset
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.conjugate_gradients import solve
from mvgrl.methods.node_classifier import NodeData
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class ManiReg(Method):
    """Linear least squares on the features: W = (X_LᵀX_L + γ_A·I + γ_I·XᵀLX)⁻¹·X_LᵀY with the Laplacian L = D - A.

    The penalties are the products γ_A·l and γ_I·l/(u + l)² of the paper, for l train nodes among u + l nodes.
    """

    name: ClassVar[str] = "manireg"
    label: ClassVar[str] = "ManiReg"
    tasks: ClassVar[tuple[str, ...]] = ("node",)
    seeded: ClassVar[bool] = False
    supervised: ClassVar[bool] = True
    source: ClassVar[str] = "Belkin, Niyogi & Sindhwani (JMLR 2006), Section 4.2 (linear LapRLS) and Section 6.2"
    size_penalty: float = 0.005
    manifold_penalty: float = 0.045

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same predictions for all seeds."""
        data = NodeData.of(dataset, settings, context.device)
        adjacency = dataset.graph.adjacency.astype(np.float64)
        degrees = sp.diags_array(np.asarray(adjacency.sum(axis=1)).reshape(-1))
        laplacian = SparseMatrix.from_scipy(degrees - adjacency, symmetric=True, dtype=torch.float64)
        scores = self.scores(data, laplacian.to(context.device))
        return [Outcome(predictions=scores.argmax(1).cpu().numpy())]

    def scores(self, data: NodeData, laplacian: Matrix) -> Tensor:
        """Return X·W, nodes × classes."""
        x, known = data.features.matrix, torch.zeros(len(data.labels), 1, dtype=torch.float64, device=data.device)
        known[data.train] = 1

        def product(w: Tensor) -> Tensor:
            z = x.multiply(w)
            return x.T.multiply(known * z + self.manifold_penalty * laplacian.multiply(z)) + self.size_penalty * w

        truth = known * one_hot(data.labels.clamp(min=0), data.classes)
        return x.multiply(solve(product, x.T.multiply(truth)))

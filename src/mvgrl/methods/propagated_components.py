"""Principal components of propagated features: of each view side by side, and of one to three steps over the edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.datasets import Dataset
from mvgrl.graphs.features import CentredMatrix
from mvgrl.matrices import DenseMatrix, Matrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import VECTOR_SIZE, as_vectors, principal_components
from mvgrl.methods.mvgrl import shared_inputs
from mvgrl.positions import feature_encoder
from mvgrl.settings import Output, Settings
from mvgrl.views import Adjacency, view_matrix

SIZE_PER_VIEW = 256
_LARGEST_DENSE = 2**27  # entries of nodes × features that are kept as a dense table: 512 MiB
_CHUNK = 256  # columns of a larger table that are computed at once


class PropagatedBeside(Method):
    """For each view V, the principal components of the rows of V·X at unit length; views have equal total variance."""

    name, label = "propagated-beside", "propagated features, views side by side"
    tasks, seeded = ("node",), False

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        inputs = shared_inputs(dataset, replace(settings, similar=0), context)
        parts = []
        with torch.no_grad():  # not inference mode: matrices keep their transposes, and training uses them too
            for view in inputs.views:
                table = unit_rows((view,), inputs.features, inputs.device)
                part = principal_components(table, SIZE_PER_VIEW, inputs.device)
                spread = part.var(0, correction=0).sum().sqrt()
                parts.append(part / spread if spread > 0 else part)
        return [Outcome(as_vectors(torch.cat(parts, dim=1)))]


class PropagatedOnce(Method):
    """The principal components of the features after one step over the edges, V·X at unit length."""

    name, label = "propagated-1", "propagated features, one step"
    tasks, seeded = ("node",), False
    steps: ClassVar[int] = 1

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        encoder = feature_encoder(settings.features, settings.normalise, settings.degree_cap).fit(dataset.graph)
        features = encoder.transform(dataset.graph).to(context.device)
        view = view_matrix(Adjacency(), dataset.graph, cache=context.cache).to(context.device)
        with torch.no_grad():
            table = unit_rows((view,) * self.steps, features, context.device)
            return [Outcome(as_vectors(principal_components(table, VECTOR_SIZE, context.device)))]


class PropagatedTwice(PropagatedOnce):
    """The principal components of the features after two steps over the edges, V²·X at unit length."""

    name, label, steps = "propagated-2", "propagated features, two steps", 2


class PropagatedThrice(PropagatedOnce):
    """The principal components of the features after three steps over the edges, V³·X at unit length."""

    name, label, steps = "propagated-3", "propagated features, three steps", 3


def unit_rows(views: Sequence[Matrix], features: Matrix, device: torch.device) -> Matrix:
    """Return the product of the views and the features with rows at unit length; rows of zeros stay zero.

    The product is computed if it is small, and else only multiplied: wide features of a large graph stay sparse.
    """
    nodes, width = features.shape
    if nodes * width > _LARGEST_DENSE:
        return _UnitRows(views, features, device)
    table = features.dense()
    for view in reversed(views):
        table = view.multiply(table)
    return DenseMatrix(normalize(table))


class _UnitRows(Matrix):
    """The product of views and features with rows at unit length, as an operator."""

    def __init__(self, views: Sequence[Matrix], features: Matrix, device: torch.device) -> None:
        self.views, self.features, self.shape = views, features, features.shape
        self.scale = torch.ones(self.shape[0], 1, device=device)
        squares = torch.zeros_like(self.scale)
        for start in range(0, self.shape[1], _CHUNK):
            columns = torch.zeros(self.shape[1], min(_CHUNK, self.shape[1] - start), device=device)
            columns[start : start + _CHUNK].fill_diagonal_(1)
            squares += self.multiply(columns).square().sum(1, keepdim=True)
        self.scale = torch.where(squares > 0, squares.rsqrt(), 0.0)

    def multiply(self, right: Tensor) -> Tensor:
        for factor in (self.features, *reversed(self.views)):
            right = factor.multiply(right)
        return right * self.scale.to(right.dtype)

    @property
    def T(self) -> Matrix:
        return _Transposed(self)


class _Transposed(Matrix):
    def __init__(self, product: _UnitRows) -> None:
        self.product, self.shape = product, (product.shape[1], product.shape[0])

    def multiply(self, right: Tensor) -> Tensor:
        right = right * self.product.scale.to(right.dtype)
        for view in self.product.views:
            right = view.T.multiply(right)
        features = self.product.features
        if isinstance(features, CentredMatrix):
            return features.matrix.T.multiply(right) - torch.outer(features.offset.to(right.dtype), right.sum(0))
        return features.T.multiply(right)

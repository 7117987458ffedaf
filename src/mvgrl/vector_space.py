"""Join the parts of a vector: centred, scaled so that none dominates, and rotated to ordered components.

The variances of principal components differ by orders of magnitude. Methods that treat every dimension separately, such
as StandardScaler, decision trees and networks trained with Adam, would give the last, noisy components as much weight
as the first. So components are mixed in blocks of growing length, by Hadamard matrices: the dimensions of a block have
equal variance, while distances and angles, and the variance that the first blocks keep, do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from scipy.linalg import hadamard
from torch import Tensor

_ROWS = 2**10  # rows that are joined at a time: the joined parts of all rows are never in memory together
_OVERSAMPLED, _ITERATIONS = 16, 3  # of the randomised subspace iteration
_LENGTH = 3.0  # root mean squared length of a part with weight 1, which suits probes with default regularisation
_LEAST_SHARE = 1e-4  # in a clique nothing survives; then all parts keep their weights
_BLOCK = 64  # length of the first block of components that are mixed
_EMPTY = 1e-7  # share of the total variance below which a component is rounding error


@dataclass(frozen=True)
class VectorSpace:
    """How parts become a vector: fitted on the training graphs, and saved with the model.

    Every part is centred, scaled to the same root mean squared length and multiplied by its weight. All parts, side by
    side, are then rotated so that the first k components are the best approximation of length k. Finally, the
    components of a vector are mixed in blocks.

    >>> points = torch.tensor([[3.0, 4.0], [-3.0, -4.0], [0.4, -0.3], [-0.4, 0.3]])
    >>> space = VectorSpace.fit([points], weights=[1.0])
    >>> space.transform([points], dim=1).abs().round(decimals=3).flatten()
    tensor([4.2220, 4.2220, 0.0000, 0.0000])
    >>> [round(share, 3) for share in space.kept(dim=1)]
    [0.99]
    """

    mean: Tensor  # of all columns of all parts
    scale: Tensor  # per part: the factor that gives it the length of its weight
    widths: tuple[int, ...]  # columns per part
    rotation: Tensor  # columns × components
    variance: Tensor  # per part and component: share of the part's variance kept by components up to this one
    mixed: bool = True  # False in models of earlier formats

    names: ClassVar[tuple[str, ...]] = ("mean", "scale", "widths", "rotation", "variance")  # of the tensors in a file

    @classmethod
    def fit(cls, parts: Sequence[Tensor], weights: Sequence[float]) -> VectorSpace:
        """Learn means, scales and the rotation from the parts of the training graphs, rows × columns each."""
        mean = torch.cat([_mean(part) for part in parts])
        widths = tuple(part.shape[1] for part in parts)
        scale = torch.stack(
            [
                _LENGTH * weight / _root_mean_square(part, centre)
                for part, centre, weight in zip(parts, mean.split(widths), weights, strict=True)
            ]
        )
        centred = cls(mean, scale, widths, mean.new_empty(0), mean.new_empty(0))
        return cls._rotated(mean, scale, widths, *centred._components(parts))

    @classmethod
    def from_moments(
        cls, mean: Tensor, covariance: Tensor, widths: Sequence[int], weights: Sequence[float]
    ) -> VectorSpace:
        """Learn a space from the means and the covariance of all columns, in double precision.

        >>> points = torch.tensor([[3.0, 4.0], [-3.0, -4.0], [0.4, -0.3], [-0.4, 0.3]])
        >>> space = VectorSpace.from_moments(torch.zeros(2).double(), (points.T @ points).double() / 4, [2], [1.0])
        >>> space.transform([points], dim=1).abs().round(decimals=3).flatten()
        tensor([4.2220, 4.2220, 0.0000, 0.0000])
        """
        widths = tuple(widths)
        roots = [max(float(part.sum()), 0.0) ** 0.5 or 1.0 for part in covariance.diagonal().split(widths)]
        scale = torch.tensor([_LENGTH * weight / root for weight, root in zip(weights, roots, strict=True)]).double()
        factor = torch.cat([one.expand(width) for one, width in zip(scale, widths, strict=True)])
        scaled = covariance * (factor[:, None] * factor)
        values, directions = torch.linalg.eigh(scaled)
        count = max(1, int((values > _EMPTY * values.sum()).sum()))
        found = (values.flip(0)[:count].clamp(min=0), fixed_signs(directions.flip(1)[:, :count]), scaled.diagonal())
        return cls._rotated(mean.float(), scale.float(), widths, *(one.float() for one in found))

    @classmethod
    def _rotated(
        cls, mean: Tensor, scale: Tensor, widths: tuple[int, ...], values: Tensor, directions: Tensor, total: Tensor
    ) -> VectorSpace:
        """Return the space of these components, with the share of each part's variance that they keep."""
        explained = (directions.square() * values).split(widths)
        kept = [
            one.sum(0).cumsum(0) / whole.sum().clamp(min=torch.finfo(whole.dtype).tiny)
            for one, whole in zip(explained, total.split(widths), strict=True)
        ]
        rotation = directions.contiguous()  # the same memory layout as when read from a file, for identical bits
        return cls(mean, scale, widths, rotation, torch.stack(kept))

    def transform(self, parts: Sequence[Tensor | None], dim: int) -> Tensor:
        """Return the vectors of all rows, with ``dim`` components, or all if there are fewer or ``dim`` is 0.

        A part that is None is unknown and contributes nothing, as if all its rows were the mean of the training graph.
        """
        directions = self.directions(dim)
        return torch.cat([rows @ directions for rows in self._joined(parts)])

    def directions(self, dim: int) -> Tensor:
        """Return the orthonormal directions of a vector's components, columns × length."""
        rotation = self.rotation[:, : dim or None]
        return mixed(rotation) if self.mixed else rotation

    def length(self, dim: int) -> int:
        """Return the length of the vectors for this ``dim``."""
        return min(dim, self.rotation.shape[1]) if dim else self.rotation.shape[1]

    def kept(self, dim: int) -> list[float]:
        """Return the share of each part's variance that the vectors keep."""
        return [min(1.0, float(one)) for one in self.variance[:, self.length(dim) - 1]]

    def to(self, device: torch.device | str) -> VectorSpace:
        """Return the space on another device."""
        names = (name for name in self.names if name != "widths")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors to save in a file; :meth:`from_tensors` reads them back."""
        found = {name: torch.tensor(self.widths) if name == "widths" else getattr(self, name) for name in self.names}
        return found | ({"mixed": torch.tensor([_BLOCK])} if self.mixed else {})

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], widths: Sequence[int]) -> VectorSpace:
        """Rebuild a space from a file, for parts of these widths."""
        total, parts = sum(widths), len(widths)
        found = {name: tensors[name] for name in cls.names}
        count = found["rotation"].shape[1] if found["rotation"].ndim == 2 else 0
        shapes = {"mean": (total,), "scale": (parts,), "widths": (parts,), "rotation": (total, count)}
        for name, shape in (shapes | {"variance": (parts, count)}).items():
            if tuple(found[name].shape) != shape or not count:
                raise ValueError(f"vector/{name} has shape {tuple(found[name].shape)}, not {shape}")
            if name != "widths" and (found[name].dtype != torch.float32 or not found[name].isfinite().all()):
                raise ValueError(f"vector/{name} is not made of finite single-precision numbers")
        if found["widths"].tolist() != list(widths):
            raise ValueError(f"its parts have {found['widths'].tolist()} columns, not {list(widths)}")
        if "mixed" in tensors and tensors["mixed"].tolist() != [_BLOCK]:
            raise ValueError(f"vector/mixed is {tensors['mixed'].tolist()}, not [{_BLOCK}]")
        given = found["mean"], found["scale"], tuple(widths), found["rotation"], found["variance"]
        return cls(*given, mixed="mixed" in tensors)

    def _components(self, parts: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the variances of the components, their directions, and the variances of the columns.

        From the covariance of the columns or, if there are fewer, from the inner products of the rows.
        """
        rows, columns = len(parts[0]), len(self.mean)
        if rows < columns:
            joined = torch.cat(list(self._joined(parts))) / rows**0.5
            total = joined.square().sum(0)
            values, left = _eigh(joined @ joined.T)
            directions = torch.nn.functional.normalize(joined.T @ left, dim=0)
        else:
            covariance = self.mean.new_zeros(columns, columns)
            for some in self._joined(parts):
                covariance.addmm_(some.T, some, alpha=1 / rows)
            total = covariance.diagonal().clone()
            values, directions = _eigh(covariance)
        count = max(1, int((values > _EMPTY * values.sum()).sum()))
        return values.flip(0)[:count].clamp(min=0), fixed_signs(directions.flip(1)[:, :count]), total

    def _joined(self, parts: Sequence[Tensor | None]) -> Iterator[Tensor]:
        """Yield blocks of rows of all parts side by side, centred and scaled."""
        known = next(part for part in parts if part is not None)
        means = self.mean.split(self.widths)
        for start, stop in pairwise([*range(0, len(known), _ROWS), len(known)]):
            yield torch.cat(
                [
                    known.new_zeros(stop - start, width) if part is None else (part[start:stop] - mean) * scale
                    for part, mean, scale, width in zip(parts, means, self.scale, self.widths, strict=True)
                ],
                dim=1,
            )


def blocks(count: int, first: int = _BLOCK) -> Iterator[slice]:
    """Yield the blocks of ``count`` components: 64, 64, 128, 256, …, then the largest powers of two that fit the rest.

    >>> [(block.start, block.stop) for block in blocks(300)]
    [(0, 64), (64, 128), (128, 256), (256, 288), (288, 296), (296, 300)]
    """
    start = 0
    while start < count:
        largest = 1 << (count - start).bit_length() - 1
        block = slice(start, start + min(max(start, first), largest))
        yield block
        start = block.stop


def mixed(columns: Tensor, first: int = _BLOCK) -> Tensor:
    """Multiply the columns of every block by an orthonormal Hadamard matrix.

    >>> mixed(torch.tensor([[2.0, 0.0, 5.0]]))
    tensor([[1.4142, 1.4142, 5.0000]])
    """
    parts = []
    for block in blocks(columns.shape[1], first):
        count = block.stop - block.start
        matrix = torch.from_numpy(hadamard(count, dtype=np.float32)).to(columns.device)
        parts.append(columns[:, block] @ matrix * count**-0.5)
    return torch.cat(parts, dim=1)


def leading_directions(
    product: Callable[[Tensor], Tensor],
    shape: tuple[int, int],
    count: int,
    device: torch.device,
    *,
    symmetric: bool = False,
) -> Tensor:
    """Return the leading right singular vectors of a matrix that is given by its product, columns × count.

    By randomised subspace iteration (Halko, Martinsson, Tropp 2011), with the same random numbers every time. The
    product with the transpose is the gradient of the product, so the matrix itself is never formed; for a symmetric
    matrix it is the product again, which takes less memory.

    >>> matrix = torch.tensor([[0.0, 5.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    >>> leading_directions(lambda right: matrix @ right, (3, 3), 2, torch.device("cpu")).round(decimals=3).abs()
    tensor([[0., 0.],
            [1., 0.],
            [0., 1.]])
    """
    sampled = min(*shape, count + _OVERSAMPLED)
    rng = np.random.default_rng(0)
    right = torch.from_numpy(rng.standard_normal((shape[1], sampled), dtype=np.float32)).to(device)
    with torch.inference_mode(False), torch.enable_grad():  # callers may have turned gradients off
        for _ in range(_ITERATIONS):
            right = torch.linalg.qr(right.detach()).Q
            if symmetric:
                right = product(torch.linalg.qr(product(right)).Q)
                continue
            right.requires_grad_()
            left = product(right)
            # The gradient of a sum, as torch imports SymPy where the gradient of the output is given.
            (right,) = torch.autograd.grad((left * torch.linalg.qr(left.detach()).Q).sum(), right)
    # right is MᵀQ, with columns of Q spanning the range of M: its left singular vectors are M's right ones.
    directions, _, _ = torch.linalg.svd(right, full_matrices=False)
    return fixed_signs(directions[:, :count])


def weights_by_share(weights: Sequence[float], shares: Sequence[float | None]) -> list[float]:
    """Return the weights of parts, lowered where less of a part's variance survives one step over the edges.

    The variance of a part in the vector is then proportional to the share of it that survives. Noise does not survive:
    a node and its neighbours have different noise, and its average is small. The part with the largest share keeps its
    weight, and so does a part whose share is None.

    >>> weights_by_share([1.0, 0.5, 0.7], [0.8, 0.2, None])
    [1.0, 0.25, 0.7]
    """
    largest = max(max(share, _LEAST_SHARE) for share in shares if share is not None)
    factors = [1.0 if share is None else (max(share, _LEAST_SHARE) / largest) ** 0.5 for share in shares]
    return [weight * factor for weight, factor in zip(weights, factors, strict=True)]


def fixed_signs(directions: Tensor) -> Tensor:
    """Return the columns with signs such that the largest entry of each, by absolute value, is positive.

    >>> fixed_signs(torch.tensor([[0.6, 0.8], [-0.8, 0.6]]))
    tensor([[-0.6000,  0.8000],
            [ 0.8000,  0.6000]])
    """
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    return directions * torch.where(largest < 0, -1.0, 1.0).to(directions.dtype)


def _eigh(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors; in double precision if single precision does not converge.

    On matrices with many rows of zeros, LAPACK was seen to fail with an error, and to return NaN without one.
    """
    try:
        values, vectors = torch.linalg.eigh(matrix)
        converged = bool(values.isfinite().all())
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        converged = False
    if not converged:
        values, vectors = torch.linalg.eigh(matrix.double())
    return values.to(matrix.dtype), vectors.to(matrix.dtype)


def _mean(part: Tensor) -> Tensor:
    return part.mean(0, dtype=torch.float64).to(part.dtype)


def _root_mean_square(part: Tensor, mean: Tensor) -> Tensor:
    """Return the root mean squared length of the rows around their mean; 1 if all rows are the same."""
    squares = sum((rows - mean).square().sum(dtype=torch.float64) for rows in part.split(_ROWS))
    root = torch.as_tensor(squares / max(len(part), 1)).sqrt()
    return torch.where(root > 0, root, torch.ones_like(root)).to(part.dtype)

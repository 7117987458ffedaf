"""g: the graph convolutional encoder of a view. Project (X·Θ), then propagate (V·Z)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numba
import torch
from torch import Tensor, nn

from mvgrl.components import Component
from mvgrl.matrices import Matrix
from mvgrl.runtime import compiled, use_torch_threads


def xavier(*shape: int, generator: torch.Generator | None = None) -> Tensor:
    """A weight tensor by Glorot's uniform rule, drawn from the generator."""
    return nn.init.xavier_uniform_(torch.empty(shape), generator=generator)


class _BiasedPReLU(torch.autograd.Function):
    """PReLU(x + bias) with one slope, alone or stacked (… × nodes × hidden, … × hidden, … × 1).

    On the CPU an unstacked call takes one pass over memory forward and one backward; plain torch takes ten.
    """

    @staticmethod
    def forward(x: Tensor, bias: Tensor, slope: Tensor) -> Tensor:
        if not _fusible(x):
            return torch.ops.aten._prelu_kernel(x + bias.unsqueeze(-2), slope.unsqueeze(-1))
        out = torch.empty_like(x)
        use_torch_threads()
        _forward(x.detach().numpy(), bias.detach().numpy(), slope.detach().numpy(), out.numpy())
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return _BiasedPReLUBackward.apply(grad, *ctx.saved_tensors)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, bias: Tensor, slope: Tensor) -> tuple[Tensor, int]:
        x, bias, slope = (_stacked(t, d, info.batch_size) for t, d in zip((x, bias, slope), in_dims, strict=True))
        return _BiasedPReLU.apply(x, bias, slope), 0


class _BiasedPReLUBackward(torch.autograd.Function):
    """The gradients of x, bias and slope, as a separate function so that vmap can stack them."""

    @staticmethod
    def forward(grad: Tensor, x: Tensor, bias: Tensor, slope: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if not (_fusible(x) and grad.is_contiguous()):
            return _gradients(grad, x, bias, slope)
        grad_x, chunks = torch.empty_like(x), min(16, len(x))
        grad_bias, grad_slope = x.new_zeros(chunks, x.shape[1]), x.new_zeros(chunks)
        arrays = (grad, x, bias, slope, grad_x, grad_bias, grad_slope)
        use_torch_threads()
        _backward(*(array.detach().numpy() for array in arrays))
        return grad_x, grad_bias.sum(0), grad_slope.sum().reshape(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Tensor) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        stacks = (_stacked(t, d, info.batch_size) for t, d in zip(inputs, in_dims, strict=True))
        return _gradients(*stacks), (0, 0, 0)


def _gradients(grad: Tensor, x: Tensor, bias: Tensor, slope: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients for tensors of … × nodes × hidden, biases of … × hidden and slopes of … × 1."""
    pre = x + bias.unsqueeze(-2)
    grad_x, grad_slope = torch.ops.aten._prelu_kernel_backward(grad, pre, slope.unsqueeze(-1))  # one pass for both
    return grad_x, grad_x.sum(-2), grad_slope.sum((-2, -1)).unsqueeze(-1)


def _fusible(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.dim() == 2 and x.is_contiguous() and x.numel() > 0


def _stacked(tensor: Tensor, dim: int | None, count: int) -> Tensor:
    return tensor.expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


@compiled(parallel=True)
def _forward(x: Any, bias: Any, slope: Any, out: Any) -> None:
    a = slope[0]
    for i in numba.prange(x.shape[0]):
        for k in range(x.shape[1]):
            pre = x[i, k] + bias[k]
            out[i, k] = pre if pre > 0 else a * pre


@compiled(parallel=True, fastmath={"reassoc", "contract"})
def _backward(grad: Any, x: Any, bias: Any, slope: Any, grad_x: Any, grad_bias: Any, grad_slope: Any) -> None:
    chunks, rows, a = grad_bias.shape[0], x.shape[0], slope[0]
    for chunk in numba.prange(chunks):  # a fixed number of chunks: the sums do not depend on the number of threads
        column = grad_bias[chunk]
        total = a - a
        for i in range(chunk * rows // chunks, (chunk + 1) * rows // chunks):
            for k in range(x.shape[1]):
                pre, g = x[i, k] + bias[k], grad[i, k]
                back = g if pre > 0 else a * g
                total += g * min(pre, a - a)
                grad_x[i, k] = back
                column[k] += back
        grad_slope[chunk] = total


class BiasedPReLU(nn.Module):
    """max(0, x + b) + a·min(0, x + b): a learned bias b, zero at first, and one learned slope a."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.slope = nn.Parameter(torch.tensor([0.25]))

    def forward(self, x: Tensor) -> Tensor:
        return _BiasedPReLU.apply(x, self.bias, self.slope)


class GCN(nn.Module):
    """Layers of PReLU(V·(X·Θ) + b).

    The product X·Θ of the first layer is a separate step, so that samples and negatives can share it: permuting
    features permutes rows, (PX)Θ = P(XΘ).

    >>> from mvgrl.matrices import DenseMatrix
    >>> encoder = GCN(width=3, hidden=4, layers=2)
    >>> X, V = DenseMatrix(torch.ones(5, 3)), DenseMatrix(torch.eye(5))
    >>> [tuple(layer.shape) for layer in encoder(encoder.project(X), V)]
    [(5, 4), (5, 4)]
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        layers: int = 1,
        *,
        norm: type[nn.Module] = nn.Identity,
        dropout: float = 0.0,
        noise: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        widths = [width, *[hidden] * layers]
        self.weights = nn.ParameterList(xavier(a, b, generator=generator) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(norm(hidden) for _ in range(layers))
        self.activations = nn.ModuleList(BiasedPReLU(hidden) for _ in range(layers))
        self.dropout, self.noise = dropout, noise

    def project(self, features: Matrix) -> Tensor:
        """X·Θ of the first layer."""
        return features @ self.weights[0]

    def forward(self, projected: Tensor, view: Matrix, generator: torch.Generator | None = None) -> list[Tensor]:
        """The codes of every layer (nodes × hidden), given X·Θ of the same nodes."""
        codes: list[Tensor] = []
        for layer, (weight, norm, activation) in enumerate(
            zip(self.weights, self.norms, self.activations, strict=True)
        ):
            z = projected if layer == 0 else codes[-1] @ weight
            z = activation(norm(view @ z))
            codes.append(self._perturbed(z, generator) if self.training else z)
        return codes

    def _perturbed(self, codes: Tensor, generator: torch.Generator | None) -> Tensor:
        """Apply dropout and Gaussian noise, drawn on the CPU so that every device sees the same numbers."""
        if self.dropout:
            kept = torch.rand(codes.shape, generator=generator) >= self.dropout
            codes = codes * (kept.to(codes) / (1 - self.dropout))
        if self.noise:
            codes = codes + self.noise * torch.randn(codes.shape, generator=generator).to(codes)
        return codes


@dataclass(frozen=True)
class Norm(Component):
    """A normalisation between propagation and activation, as a component."""

    layer: ClassVar[type[nn.Module]]


@dataclass(frozen=True)
class NoNorm(Norm):
    """No normalisation."""

    name: ClassVar[str] = "none"
    layer: ClassVar[type[nn.Module]] = nn.Identity


@dataclass(frozen=True)
class BatchNorm(Norm):
    """Batch normalisation, which keeps running statistics."""

    name: ClassVar[str] = "batch"
    layer: ClassVar[type[nn.Module]] = nn.BatchNorm1d
    stackable: ClassVar[bool] = False


@dataclass(frozen=True)
class LayerNorm(Norm):
    """Layer normalisation."""

    name: ClassVar[str] = "layer"
    layer: ClassVar[type[nn.Module]] = nn.LayerNorm


NORMS: dict[str, type[Norm]] = {"none": NoNorm, "batch": BatchNorm, "layer": LayerNorm}


@dataclass(frozen=True)
class Encoder(Component):
    """How the views are encoded, as a component."""

    def count(self, views: int) -> int:
        """The number of GCNs for this number of views; view i uses GCN i modulo this number."""
        raise NotImplementedError


@dataclass(frozen=True)
class Dedicated(Encoder):
    """One GCN per view."""

    name: ClassVar[str] = "dedicated"

    def count(self, views: int) -> int:
        return views


@dataclass(frozen=True)
class Shared(Encoder):
    """One GCN for all views."""

    name: ClassVar[str] = "shared"

    def count(self, views: int) -> int:
        return 1


ENCODERS: dict[str, type[Encoder]] = {"dedicated": Dedicated, "shared": Shared}

"""Bounds on mutual information: functions from scores to a loss.

``scores`` is a matrix, rows × columns: each row belongs to an anchor, each column to a code it is compared with.
``positives`` marks the pairs that belong together, ``negatives`` those that do not (by default all others; a pair that
is neither is ignored). Each function returns one number to minimise.

>>> scores = torch.tensor([[2.0, -1.0], [0.0, 3.0]])
>>> round(float(jsd(scores, torch.eye(2, dtype=torch.bool))), 4)
0.591
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mvgrl.components import Component, Custom, check_positive

_LOG_ZERO = -1e30  # finite, so that a row without negatives has a gradient of zero, not NaN


def jsd(scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """Jensen–Shannon: the mean of softplus(−s) over positives plus the mean of softplus(s) over negatives."""
    negatives = ~positives if negatives is None else negatives
    return _mean(softplus(-scores), positives) + _mean(softplus(scores), negatives)


def nce(scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """InfoNCE: −log of the softmax probability of each positive among the negatives of its row."""
    negatives = ~positives if negatives is None else negatives
    noise = scores.masked_fill(~negatives, _LOG_ZERO).logsumexp(dim=1, keepdim=True)
    return _mean(softplus(noise - scores), positives)  # −log(e^s / (e^s + e^noise))


def nt_xent(scores: Tensor, positives: Tensor, negatives: Tensor | None = None, *, temperature: float = 0.5) -> Tensor:
    """NT-Xent: InfoNCE on cosines divided by a temperature, the mean of its row-wise and column-wise forms."""
    negatives = ~positives if negatives is None else negatives
    scores = scores / temperature
    return (nce(scores, positives, negatives) + nce(scores.mT, positives.mT, negatives.mT)) / 2


def donsker_varadhan(scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """Donsker–Varadhan: log-mean-exp over negatives minus mean over positives."""
    negatives = ~positives if negatives is None else negatives
    total = scores.masked_fill(~negatives, _LOG_ZERO).logsumexp(dim=(0, 1))
    return total - negatives.sum().to(scores.dtype).log() - _mean(scores, positives)


@dataclass(frozen=True)
class Bound(Component):
    """A bound as a component: called with (scores, positives, negatives), it returns the loss to minimise."""

    cosine: ClassVar[bool] = False  # scores are cosines, not dot products
    across_samples: ClassVar[bool] = True  # other samples of the same graph also count as negatives

    def __call__(self, scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
        """The loss of a matrix of scores."""
        raise NotImplementedError


@dataclass(frozen=True)
class JSD(Bound):
    """The Jensen–Shannon bound: see :func:`jsd`."""

    name: ClassVar[str] = "jsd"
    # Two samples of one graph share nodes, and this bound weights all negatives equally: it does better without them.
    across_samples: ClassVar[bool] = False

    def __call__(self, scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
        return jsd(scores, positives, negatives)


@dataclass(frozen=True)
class NCE(Bound):
    """The InfoNCE bound: see :func:`nce`."""

    name: ClassVar[str] = "nce"

    def __call__(self, scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
        return nce(scores, positives, negatives)


@dataclass(frozen=True)
class NTXent(Bound):
    """The NT-Xent bound with a temperature: see :func:`nt_xent`.

    >>> str(NTXent(temperature=0.2))
    'nt-xent:temperature=0.2'
    """

    name: ClassVar[str] = "nt-xent"
    cosine: ClassVar[bool] = True

    temperature: float = 0.5

    def __post_init__(self) -> None:
        check_positive(self, "temperature")

    def __call__(self, scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
        return nt_xent(scores, positives, negatives, temperature=self.temperature)


@dataclass(frozen=True)
class DV(Bound):
    """The Donsker–Varadhan bound: see :func:`donsker_varadhan`."""

    name: ClassVar[str] = "dv"

    def __call__(self, scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
        return donsker_varadhan(scores, positives, negatives)


@dataclass(frozen=True)
class CustomBound(Custom, Bound):
    """A user-defined function (scores, positives, negatives) -> loss."""


BOUNDS: dict[str, type[Bound]] = {"jsd": JSD, "nce": NCE, "nt-xent": NTXent, "dv": DV}


def _mean(values: Tensor, chosen: Tensor) -> Tensor:
    return torch.where(chosen, values, 0.0).sum() / chosen.sum()

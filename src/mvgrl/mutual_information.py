"""Bounds on mutual information: functions from scores to a loss.

``scores`` is a matrix, rows × columns: a row is the code of an anchor, a column a code it is compared with.
``positives`` marks the pairs that belong together, ``negatives`` those that do not (all others, unless given;
a pair that is neither is left out). Each function returns one number to minimise.

>>> scores = torch.tensor([[2.0, -1.0], [0.0, 3.0]])
>>> round(float(jsd(scores, torch.eye(2, dtype=torch.bool))), 4)
0.591
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

_NOTHING = -1e30  # stands for log 0: finite, so that a row without negatives has a gradient of zero, not NaN


def jsd(scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """Jensen–Shannon: softplus(−s) over positives plus softplus(s) over negatives, each a mean."""
    negatives = ~positives if negatives is None else negatives
    return _mean(softplus(-scores), positives) + _mean(softplus(scores), negatives)


def nce(scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """InfoNCE: −log of the softmax probability of each positive among the negatives of its row."""
    negatives = ~positives if negatives is None else negatives
    noise = scores.masked_fill(~negatives, _NOTHING).logsumexp(dim=1, keepdim=True)
    return _mean(softplus(noise - scores), positives)  # −log(e^s / (e^s + e^noise))


def nt_xent(scores: Tensor, positives: Tensor, negatives: Tensor | None = None, *, temperature: float = 0.5) -> Tensor:
    """NT-Xent: InfoNCE on cosines divided by a temperature, the mean of its row-wise and column-wise forms."""
    negatives = ~positives if negatives is None else negatives
    scores = scores / temperature
    return (nce(scores, positives, negatives) + nce(scores.mT, positives.mT, negatives.mT)) / 2


def donsker_varadhan(scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """Donsker–Varadhan: log-mean-exp over negatives minus mean over positives."""
    negatives = ~positives if negatives is None else negatives
    total = scores.masked_fill(~negatives, _NOTHING).logsumexp(dim=(0, 1))
    return total - negatives.sum().to(scores.dtype).log() - _mean(scores, positives)


class Bound(NamedTuple):
    """A bound and what it asks of the scores."""

    loss: Callable[..., Tensor]
    cosine: bool = False  # scores are cosines, not plain products
    many: bool = True  # samples of one graph are negatives to each other, besides the corrupted graph


BOUNDS: dict[str, Bound] = {
    # two samples of one graph share nodes: a bound that weighs every negative alike is better off without them
    "jsd": Bound(jsd, many=False),
    "nce": Bound(nce),
    "nt-xent": Bound(nt_xent, cosine=True),
    "dv": Bound(donsker_varadhan),
}


def _mean(values: Tensor, chosen: Tensor) -> Tensor:
    return torch.where(chosen, values, 0.0).sum() / chosen.sum()

"""Logistic regression at its optimum, with the strength chosen on the validation nodes.

Unlike the linear probe, which stops after a fixed number of Adam steps, it has no learning rate, no initial weights
and no seed. On the CPU scikit-learn's newton-cg solves it: for the same optimum it takes 1.4 times as long as our
batched solver for one seed and about twice as long for many (``benchmarks/probes.py``, recorded in
``results/benchmarks/probes.json``), half a second per seed of Cora. On a GPU :mod:`mvgrl.evaluation.newton` solves all
seeds together.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from mvgrl.errors import SettingsError
from mvgrl.evaluation import newton
from mvgrl.evaluation.checks import check_known, check_scorable, checked_embeddings, checked_labels, node_numbers
from mvgrl.evaluation.threads import one_thread

# Points are scaled to a mean square of 1. With a C below these, the weights are close to 0 and only the class means
# matter; above them, train nodes that are separable are almost certainly separated.
STRENGTHS = tuple(10.0**power for power in range(-3, 4))

_MAX_STEPS = 200  # scikit-learn's max_iter
_LARGE = 2**18  # train nodes × classes from which exact solutions take minutes
_LARGE_TOLERANCE, _LARGE_STEPS = 1e-5, 1000
_MANY = 1000  # train nodes from which the singular value decomposition takes most of the time
_CHUNK_BYTES = {"cpu": 0, "cuda": 2**30}  # for the points of the stack entries that are solved together


class LogisticFit(NamedTuple):
    """Predictions for the nodes and the C that was chosen; ... are the leading dimensions of a stack."""

    predictions: np.ndarray  # ... × nodes, labels
    probabilities: np.ndarray  # ... × nodes × classes
    classes: np.ndarray  # the labels of the train nodes, sorted
    strengths: np.ndarray  # ..., the chosen C


def logistic_probe(
    embeddings: Any,
    labels: Any,
    train: Any,
    test: Any,
    *,
    val: Any = None,
    strengths: Sequence[float] = STRENGTHS,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """Compute the test accuracy of the logistic regression of :func:`logistic_fit`, tuned on the val nodes.

    ``embeddings`` is n×d, or a stack ...×n×d with a regression per entry; the scores have the leading dimensions.
    ``train``, ``test`` and ``val`` are node numbers or masks.

    >>> points = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]])
    >>> float(logistic_probe(points, ["low", "low", "high", "high", "high"], train=[0, 4], test=[1, 3], val=[2]))
    1.0
    """
    codes = checked_embeddings(embeddings)
    names = checked_labels(labels, codes.shape[-2])
    train, test = node_numbers(train, len(names), "train"), node_numbers(test, len(names), "test")
    check_scorable(names, train, test, "test")
    predicted = logistic_predictions(codes, names, train, test, val=val, strengths=strengths, device=device)
    return np.asarray((predicted == names[test]).mean(axis=-1))


def logistic_predictions(
    embeddings: Any,
    labels: Any,
    train: Any,
    nodes: Any,
    *,
    val: Any = None,
    strengths: Sequence[float] = STRENGTHS,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """Predict the nodes' labels with the regression of :func:`logistic_fit`, ... × nodes.

    >>> points = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]])
    >>> logistic_predictions(points, ["low", "", "high", "", "high"], train=[0, 4], nodes=[1, 3], val=[2]).tolist()
    ['low', 'high']
    """
    return logistic_fit(embeddings, labels, train, nodes, val=val, strengths=strengths, device=device).predictions


def logistic_fit(
    embeddings: Any,
    labels: Any,
    train: Any,
    nodes: Any,
    *,
    val: Any = None,
    strengths: Sequence[float] = STRENGTHS,
    device: torch.device | str | None = None,
) -> LogisticFit:
    """Fit on the train nodes, choose the strength with the best accuracy on the val nodes, and predict the nodes.

    A strength is the C of scikit-learn's ``LogisticRegression``, and the optimum is the same: it minimises
    ½‖w‖² + C·Σ loss, without a penalty on the intercept. To make C independent of the embeddings' scale, each entry of
    a stack is first divided by the root mean squared distance of its train nodes from their mean. Ties go to the
    smallest C; each entry of a stack has its own. A single strength needs no val nodes. The labels of the val nodes are
    used for this choice only, those of the nodes to predict are not used.

    >>> points = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]])
    >>> fit = logistic_fit(points, ["low", "", "high", "", "high"], train=[0, 4], nodes=[1, 3], val=[2])
    >>> float(fit.strengths), fit.classes.tolist()
    (0.001, ['high', 'low'])
    """
    codes = checked_embeddings(embeddings)
    *leading, count, _ = codes.shape
    names = checked_labels(labels, count)
    train, nodes = node_numbers(train, count, "train"), node_numbers(nodes, count, "nodes")
    check_known(names, train, "train")
    grid = _checked_strengths(strengths)
    if val is None and len(grid) > 1:
        raise SettingsError(
            f"there are {len(grid)} strengths to choose from but no val; give val nodes or one strength"
        )
    val = node_numbers(() if val is None else val, count, "val", empty=val is None)
    check_scorable(names, train, val, "val")
    classes, truth = np.unique(names[train], return_inverse=True)
    wanted = np.searchsorted(classes, names[val])
    device = codes.device if device is None else torch.device(device)
    stack, asked = codes.reshape(-1, *codes.shape[-2:]), np.concatenate([val, nodes])
    size = _chunk_size((len(train) + len(asked)) * stack.shape[-1], device)
    numbers, Cs = torch.from_numpy(truth).to(device), torch.from_numpy(grid).to(device)
    solve = solve_with_sklearn if device.type == "cpu" else newton.solve
    chosen, found = [], []
    with one_thread():  # enough for small matrices
        for first in range(0, len(stack), size):
            points, others = principal_axes(stack[first : first + size], train, asked, device)
            logits = newton.batched_product(solve(points, numbers, len(classes), Cs), others).cpu()
            hits = (logits[..., : len(val)].argmax(2).numpy() == wanted).sum(-1)
            best = hits.argmax(1)  # the first, so the smallest C, of the best
            chosen.append(best)
            found.append(logits[torch.arange(len(best)), torch.from_numpy(best), :, len(val) :].softmax(1).mT.numpy())
    probabilities = np.concatenate(found).reshape(*leading, len(nodes), len(classes))
    predictions = classes[probabilities.argmax(-1)]
    return LogisticFit(predictions, probabilities, classes, grid[np.concatenate(chosen)].reshape(leading))


def _checked_strengths(strengths: Sequence[float]) -> np.ndarray:
    """Sort the strengths in ascending order."""
    try:
        grid = np.asarray(strengths, dtype=np.float64)
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.ndim != 1 or not len(grid) or not (np.isfinite(grid) & (grid > 0)).all():
        raise SettingsError(f"strengths is {strengths}; give a list of at least one C, each positive and finite")
    return np.sort(grid)


def _chunk_size(numbers: int, device: torch.device) -> int:
    """Choose how many entries of a stack, of ``numbers`` values each, to process together."""
    return max(1, _CHUNK_BYTES["cpu" if device.type == "cpu" else "cuda"] // (8 * numbers))


def principal_axes(codes: Tensor, train: np.ndarray, asked: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor]:
    """Map the train nodes and the asked nodes to coordinates that suit the solver, entries × nodes × coordinates.

    The optimum is a linear combination of the train nodes, so their principal axes can replace the columns: there are
    no more of them than train nodes, and along them the Hessian is nearly diagonal. The last coordinate is 1: its
    weight is the intercept.
    """
    trained, others = (
        codes[:, torch.from_numpy(part).to(codes.device)].to(device, torch.float64) for part in (train, asked)
    )
    centre = trained.mean(1, keepdim=True)
    trained, others = trained - centre, others - centre
    spread = trained.square().sum(2).mean(1)[:, None, None].sqrt()
    scale = torch.where(spread > 0, 1 / spread, 0.0)  # 0 if all train nodes are the same
    if trained.shape[1] <= max(trained.shape[2], _MANY):
        axes = torch.linalg.svd(trained, full_matrices=False).Vh.mT
    else:  # less accurate, but many times faster, and any orthogonal axes give the same optimum
        axes = torch.linalg.eigh(trained.mT @ trained).eigenvectors
    return _with_ones(scale * trained @ axes), _with_ones(scale * others @ axes)


def _with_ones(points: Tensor) -> Tensor:
    return torch.cat([points, torch.ones_like(points[..., :1])], dim=-1)


def solve_with_sklearn(
    points: Tensor, truth: Tensor, classes: int, grid: Tensor, *, tolerance: float = newton.TOLERANCE
) -> Tensor:
    """Compute the same weights as :func:`mvgrl.evaluation.newton.solve`, one regression after the other.

    ``tolerance`` is that of the gradient of the mean loss, scikit-learn's ``tol``. Where there are many train nodes and
    classes, it is 1e-5: predictions hardly change, and on WordNet they take a quarter of the time.

    >>> points = torch.tensor([[[-1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
    >>> weights = solve_with_sklearn(points, torch.tensor([0, 1]), 2, torch.tensor([1.0], dtype=torch.float64))
    >>> newton.batched_product(weights, points).softmax(2)[0, 0, 0, 0]
    tensor(0.6626, dtype=torch.float64)
    """
    from sklearn.linear_model import LogisticRegression

    weights = np.zeros((len(points), len(grid), classes, points.shape[2]))
    if classes == 1:  # refused by scikit-learn
        return torch.from_numpy(weights)
    unfinished = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for entry, rows in enumerate(points[..., :-1].numpy()):
            machine = LogisticRegression(solver="newton-cg", tol=tolerance, max_iter=_MAX_STEPS)
            if len(rows) * classes > _LARGE:  # then start from the solution of the previous C
                machine.set_params(solver="lbfgs", tol=_LARGE_TOLERANCE, max_iter=_LARGE_STEPS, warm_start=True)
            for place, C in enumerate(grid.tolist()):
                caught.clear()
                machine.C = C
                machine.fit(rows, truth.numpy())
                found = np.column_stack([machine.coef_, machine.intercept_])
                weights[entry, place] = np.concatenate([-found, found]) / 2 if classes == 2 else found
                unfinished += len(caught) > 0  # too many steps, or a line search without success
    if unfinished:
        warnings.warn(
            f"{unfinished} of {len(points) * len(grid)} logistic regressions did not converge in {_MAX_STEPS} steps; "
            "use a smaller C",
            ConvergenceWarning,
            stacklevel=3,
        )
    return torch.from_numpy(weights)

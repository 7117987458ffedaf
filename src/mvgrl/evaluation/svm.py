"""The linear support vector machine of the graph protocol, and its cross-validation with all problems as one batch."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation.checks import check_seed, checked_embeddings, checked_labels, classes_of, is_known
from mvgrl.evaluation.svm_solver import Points, Solution, solve_path
from mvgrl.folds import shuffled_folds
from mvgrl.runtime import resolve_device

CS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # the grid of the paper
_WORKING_BYTES = 2**25  # for one value per point and problem; about twenty such arrays are alive at a time


class LinearSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's ``LinearSVC(loss="squared_hinge")``, solved to its optimum: the same weights, up to rounding.

    Two classes need one machine, more classes one per class against the rest. As in ``LinearSVC``, the intercept is the
    weight of a column of ones and is regularised like the other weights.

    >>> points = [[-2.0], [-1.0], [1.0], [3.0]]
    >>> machine = LinearSVM(C=10.0).fit(points, ["low", "low", "high", "high"])
    >>> machine.predict([[-0.5], [2.0]]).tolist()
    ['low', 'high']
    """

    def __init__(self, *, C: float = 1.0, tol: float = 1e-8, max_iter: int = 200, device: str = "auto") -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.device = device

    def fit(self, X: Any, y: Any) -> Self:
        """Compute the weights of every class."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        _check_penalties([self.C])
        self.classes_, truth = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"all labels are of one class, {self.classes_[0]}; a classifier needs at least two")
        points = with_ones(torch.tensor(X), resolve_device(self.device))
        signs = _signs(torch.from_numpy(truth).to(points.rows.device), len(self.classes_))
        (solution,) = solve_path(points, signs, [float(self.C)], tol=self.tol, max_iter=self.max_iter)
        _warn_unconverged(solution, self.max_iter)
        weights = points.in_columns(solution.weights).cpu().numpy()
        self.coef_, self.intercept_ = weights[:, :-1].copy(), weights[:, -1].copy()
        self.n_iter_ = int(solution.steps.max())
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed scores: n for two classes, n × classes for more."""
        check_is_fitted(self)
        scores = validate_data(self, X, dtype=np.float64, reset=False) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of the highest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]


@dataclass(frozen=True)
class CrossValidated:
    """Cross-validation results, one entry per run; scores in percent.

    ``nested_*``: C is chosen by cross-validation inside each training part, which gives an unbiased score.
    ``best_c_*``: C has the best mean over the same folds that are reported, as in many papers.
    """

    nested_accuracy: np.ndarray  # runs; the mean over the folds
    nested_macro_f1: np.ndarray  # runs; of the predictions of all folds together
    nested_cs: np.ndarray  # runs × folds; the chosen C
    nested_choices: np.ndarray  # runs × folds; the number of the chosen alternative, 0 if there is only one
    best_c_accuracy: np.ndarray  # runs
    best_cs: np.ndarray  # runs

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """The scores by name, one entry per run, as :func:`mvgrl.evaluation.summary` expects them."""
        return {name: getattr(self, name) for name in ("nested_accuracy", "nested_macro_f1", "best_c_accuracy")}


def cross_validate(
    embeddings: Any,
    labels: Any,
    *,
    folds: int = 10,
    inner_folds: int = 5,
    Cs: Sequence[float] = CS,
    runs: int = 1,
    seed: int = 0,
    device: torch.device | str | None = None,
) -> CrossValidated:
    """Cross-validate a linear SVM under both protocols, with stratified folds that are shuffled again for each run.

    Ties between values of C go to the smallest, as in ``GridSearchCV`` with an ascending grid. ``device=None`` is the
    device of the embeddings.

    >>> points = np.concatenate([np.arange(10.0), np.arange(20.0, 30.0)])[:, None]
    >>> found = cross_validate(points, [0] * 10 + [1] * 10, folds=5, inner_folds=3, Cs=(0.1, 1.0), runs=2)
    >>> found.nested_accuracy.tolist(), found.best_c_accuracy.tolist()
    ([100.0, 100.0], [100.0, 100.0])
    """
    return choose_and_validate(
        [embeddings], labels, folds=folds, inner_folds=inner_folds, Cs=Cs, runs=runs, seed=seed, device=device
    )


def choose_and_validate(
    alternatives: Iterable[Any],
    labels: Any,
    *,
    folds: int = 10,
    inner_folds: int = 5,
    Cs: Sequence[float] = CS,
    runs: int = 1,
    seed: int = 0,
    device: torch.device | str | None = None,
) -> CrossValidated:
    """Cross-validate a linear SVM whose embeddings are chosen among alternatives, together with C and in the same way.

    Ties go to the first of the alternatives, and then to the smallest C. Each alternative is needed only once, so an
    iterator can compute it when its turn comes.

    >>> useful = np.concatenate([np.arange(10.0), np.arange(20.0, 30.0)])[:, None]
    >>> labels = [0] * 10 + [1] * 10
    >>> choose_and_validate([0 * useful, useful], labels, folds=5, inner_folds=3).nested_choices.tolist()
    [[1, 1, 1, 1, 1]]
    """
    from sklearn.metrics import f1_score

    check_seed(seed)
    penalties = np.unique(_check_penalties(Cs))
    every, truth = [], np.empty(0, dtype=np.int64)
    for one in alternatives:
        codes = checked_embeddings(one, stacked=False)
        classes, truth, counts = _checked_labels(labels, len(codes))
        _check_folds(classes, counts, folds, inner_folds, runs)
        splits = [_splits(truth, folds, inner_folds, seed, run) for run in range(runs)]
        parts = [part for outer, _ in splits for part in outer] + [part for _, inner in splits for part in inner]
        points = with_ones(codes, codes.device if device is None else resolve_device(device))
        every.append(held_out_predictions(points, truth, len(classes), parts, penalties))
    # One row of predictions per alternative and penalty, the penalties of an alternative next to each other.
    predicted = [np.concatenate(column) for column in zip(*every, strict=True)]

    hits = np.stack([(guess == truth[held]).mean(axis=1) for (_, held), guess in zip(parts, predicted, strict=True)])
    outer = hits[: runs * folds].reshape(runs, folds, -1)
    inner = hits[runs * folds :].reshape(runs, folds, inner_folds, -1)
    choice = first_best(inner.mean(axis=2))  # runs × folds
    best = first_best(outer.mean(axis=1))  # runs
    macro_f1 = np.empty(runs)
    for run in range(runs):
        pooled = np.empty_like(truth)
        for fold in range(folds):
            at = run * folds + fold
            pooled[parts[at][1]] = predicted[at][choice[run, fold]]
        macro_f1[run] = f1_score(truth, pooled, average="macro")
    return CrossValidated(
        nested_accuracy=100 * np.take_along_axis(outer, choice[:, :, None], axis=2)[:, :, 0].mean(axis=1),
        nested_macro_f1=100 * macro_f1,
        nested_cs=penalties[choice % len(penalties)],
        nested_choices=choice // len(penalties),
        best_c_accuracy=100 * outer.mean(axis=1)[np.arange(runs), best],
        best_cs=penalties[best % len(penalties)],
    )


_Parts = list[tuple[np.ndarray, np.ndarray]]  # train indices, held-out indices


def _splits(truth: np.ndarray, folds: int, inner_folds: int, seed: int, run: int) -> tuple[_Parts, _Parts]:
    """Return the outer folds, and the inner folds of each outer fold in turn."""
    outer = list(shuffled_folds(folds, seed, run).split(truth, truth))
    within = shuffled_folds(inner_folds, seed, run)
    inner = [(train[a], train[b]) for train, _ in outer for a, b in within.split(train, truth[train])]
    return outer, inner


def held_out_predictions(
    points: Points, truth: np.ndarray, classes: int, parts: _Parts, penalties: np.ndarray
) -> list[np.ndarray]:
    """Predict the held-out points of every part, penalties × held-out points.

    All problems with the same C are solved as one batch.
    """
    rows = points.rows
    signs = _signs(torch.from_numpy(truth).to(rows.device), classes)  # machines × points
    machines = len(signs)
    size = max(1, _WORKING_BYTES // (8 * machines * len(rows)))
    predicted = []
    for first in range(0, len(parts), size):
        some = parts[first : first + size]
        trained = torch.zeros(len(some), 1, len(rows), dtype=rows.dtype, device=rows.device)
        for i, (train, _) in enumerate(some):
            trained[i, 0, torch.from_numpy(train).to(rows.device)] = 1.0
        problems = (trained * signs).flatten(0, 1)
        guesses = np.empty((len(penalties), len(some), len(rows)), dtype=truth.dtype)
        for k, solution in enumerate(solve_path(points, problems, penalties.tolist())):
            _warn_unconverged(solution)
            scores = (solution.weights @ rows.mT).unflatten(0, (len(some), machines))
            guesses[k] = (scores[:, 0] > 0 if machines == 1 else scores.argmax(1)).cpu().numpy()
        predicted += [guesses[:, i, held] for i, (_, held) in enumerate(some)]
    return predicted


def with_ones(codes: Tensor, device: torch.device) -> Points:
    """Append a column of ones; its weight is the intercept."""
    codes = codes.to(device, torch.float64)
    return Points(torch.cat([codes, codes.new_ones(len(codes), 1)], dim=1))


def _signs(truth: Tensor, classes: int) -> Tensor:
    """1 for the class, −1 for the rest, machines × points; two classes need one machine, for the second class."""
    positive = torch.arange(1 if classes == 2 else 0, classes, device=truth.device)
    return torch.where(truth == positive[:, None], 1.0, -1.0).double()


def first_best(scores: np.ndarray) -> np.ndarray:
    """Return the first best index along the last axis; means that differ only by rounding are equal."""
    return scores.round(12).argmax(axis=-1)


def _warn_unconverged(solution: Solution, max_iter: int = 200) -> None:
    unconverged = int((~solution.converged).sum())
    if unconverged:
        warnings.warn(
            f"{unconverged} of {len(solution.converged)} support vector machines did not converge in {max_iter} steps; "
            "scale the embeddings down or use a smaller C",
            ConvergenceWarning,
            stacklevel=3,
        )


def _check_penalties(Cs: Sequence[float]) -> np.ndarray:
    penalties = np.asarray(Cs, dtype=np.float64)
    if penalties.ndim != 1 or not len(penalties) or not (np.isfinite(penalties) & (penalties > 0)).all():
        raise SettingsError(f"C is {Cs if len(Cs) != 1 else Cs[0]}; give at least one value, each positive and finite")
    return penalties


def _check_folds(classes: np.ndarray, counts: np.ndarray, folds: int, inner_folds: int, runs: int) -> None:
    """Every class must be in every outer fold and in every inner fold."""
    for name, value, least in (("folds", folds, 2), ("inner_folds", inner_folds, 2), ("runs", runs, 1)):
        if value < least:
            raise SettingsError(f"{name} is {value}; it must be at least {least}")
    smallest = int(counts.argmin())
    name, count = classes[smallest], int(counts[smallest])
    if count < folds:
        raise InputError(
            f"class {name} has {count} members, fewer than the {folds} folds; use at most {count} folds"
            if count > 1
            else f"class {name} has 1 member, which cannot be split into folds; remove or merge the class"
        )
    left = count - -(-count // folds)
    if left < inner_folds:
        raise InputError(
            f"class {name} has {count} members, {left} of them outside the held-out fold, fewer than the "
            f"{inner_folds} inner folds; use at most {left} inner folds"
            if left > 1
            else f"class {name} has {count} members, too few to choose C inside the folds; remove or merge the class"
        )


def _checked_labels(labels: Any, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the classes, the class number of each row, and the class sizes."""
    names = checked_labels(labels, count)
    classes_of(names)  # at least two
    unknown = np.flatnonzero(~is_known(names))
    if len(unknown):
        raise InputError(f"labels: row {unknown[0]} has no label; add it, or remove the row from the embeddings")
    return np.unique(names, return_inverse=True, return_counts=True)

"""Link prediction: models that score pairs of nodes, fitted without the test edges, and their scores on these.

A logistic model of the products of two vectors learns from the train edges. The combined model weighs its score, the
cosine and the scores from the graph alone; it learns from the validation edges, which are missing from the graph that
was embedded as the test edges are. Edges that were embedded would make vectors look better than they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mvgrl.errors import InputError
from mvgrl.evaluation.link_scores import cosines, heuristics, products, ranking_scores, weighted_products
from mvgrl.evaluation.link_split import LinkSplit, draw_at_distance_two
from mvgrl.evaluation.threads import one_thread

LABELS = {
    "cosine": "cosine of our vectors",
    "logistic": "logistic, products",
    "combined": "combined, all of these",
    "adamic_adar": "Adamic–Adar",
    "common_neighbors": "common neighbours",
    "degree_product": "degree product",
}
STRENGTHS = tuple(10.0**power for power in range(-3, 3))  # of the logistic model, for products of mean square 1
_MOST_PAIRS = 20_000  # train edges, and as many other pairs, that the logistic model learns from
_FOLDS = 5
_NEAR = 10  # pairs at distance two per validation edge, which models for missing links are chosen with


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear score: Σ weight · column + constant."""

    weights: np.ndarray
    constant: float
    strength: float = 1.0  # the C it was fitted with


@dataclass(frozen=True, eq=False)
class PairScores:
    """The scores of pairs by every model but the combined one, in the order of LABELS."""

    edges: dict[str, np.ndarray]
    others: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class SplitResult:
    """The scores of one split, and what a model of the whole graph reuses."""

    test: dict[str, dict[str, float]]  # per model: auc, average_precision, hits
    val: dict[str, float]  # per model: average precision of validation edges among pairs at distance two
    strength: float
    scores: PairScores  # of the validation part


def score_split(split: LinkSplit, vectors: np.ndarray, *, seed: int = 0) -> SplitResult:
    """Fit every model without the test edges, and score it on them; ``vectors`` must be made from ``split.adjacency``.

    >>> from mvgrl.evaluation.link_split import split_edges
    >>> blocks = sp.csr_array(np.kron(np.eye(2), np.ones((12, 12))) - np.eye(24))
    >>> result = score_split(split_edges(blocks), np.repeat(np.eye(2), 12, axis=0))
    >>> result.test["cosine"]["auc"]
    1.0
    """
    if len(vectors) != split.adjacency.shape[0]:
        raise InputError(f"{len(vectors)} vectors for {split.adjacency.shape[0]} nodes; give one per node")
    model = fit_products(vectors, split.train, split.train_none, val=(split.val, split.val_none), seed=seed)

    def scored(edges: np.ndarray, others: np.ndarray) -> PairScores:
        return PairScores(*(pair_scores(split.adjacency, vectors, model, one) for one in (edges, others)))

    val, test = scored(split.val, split.val_none), scored(split.test, split.test_none)
    combined = fit_combined([val])
    found = {name: ranking_scores(test.edges[name], test.others[name]) for name in test.edges}
    found["combined"] = ranking_scores(combine(combined, test.edges), combine(combined, test.others))
    near = draw_at_distance_two(split.adjacency, _NEAR * len(split.val), np.random.default_rng(seed), split.val)
    chosen = _validated(val, pair_scores(split.adjacency, vectors, model, near), seed)
    return SplitResult({name: found[name] for name in LABELS}, chosen, model.strength, val)


def pair_scores(
    adjacency: sp.csr_array, vectors: np.ndarray, model: Linear, pairs: np.ndarray
) -> dict[str, np.ndarray]:
    """Score pairs by every model but the combined one."""
    return {
        "cosine": cosines(vectors, pairs),
        "logistic": weighted_products(vectors, pairs, model.weights, model.constant),
        **heuristics(adjacency, pairs),
    }


def fit_products(
    vectors: np.ndarray,
    edges: np.ndarray,
    others: np.ndarray,
    *,
    val: tuple[np.ndarray, np.ndarray] | None = None,
    strengths: Sequence[float] = STRENGTHS,
    seed: int = 0,
) -> Linear:
    """Fit logistic regression on elementwise products; C is the one with the best average precision on ``val``.

    Of more than 20,000 edges or other pairs, a random sample is used.
    """
    rng = np.random.default_rng(seed)
    chosen = [one if len(one) <= _MOST_PAIRS else rng.permutation(one)[:_MOST_PAIRS] for one in (edges, others)]
    columns = products(vectors, np.concatenate(chosen)).astype(np.float64)
    scale = float(np.sqrt(columns.var(axis=0).sum())) or 1.0
    truth = np.repeat([1, 0], [len(one) for one in chosen])
    models, precisions = [], []
    for strength in strengths:
        fitted = _logistic(columns / scale, truth, strength)
        model = Linear(fitted.weights / scale, fitted.constant, strength)
        if val is None or len(strengths) == 1:
            return model
        scores = [weighted_products(vectors, one, model.weights, model.constant) for one in val]
        models.append(model)
        precisions.append(ranking_scores(*scores)["average_precision"])
    return models[int(np.argmax(precisions))]  # the first of the best, so ties go to the stronger regularisation


def fit_combined(parts: Sequence[PairScores]) -> Linear:
    """Fit logistic regression on the scores of the other models, from the validation parts of one or more splits."""
    columns = np.concatenate([_columns(side) for part in parts for side in (part.edges, part.others)])
    lengths = [len(side["cosine"]) for part in parts for side in (part.edges, part.others)]
    return _standardised(columns, np.repeat([1, 0] * len(parts), lengths))


def combine(model: Linear, scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the scores of the combined model."""
    found: np.ndarray = _columns(scores) @ model.weights + model.constant
    return found


def _columns(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the inputs of the combined model: counts grow by orders of magnitude, so their logarithms are used."""
    counts = ("adamic_adar", "common_neighbors", "degree_product")
    return np.stack([np.log1p(values) if name in counts else values for name, values in scores.items()], axis=1)


def _standardised(columns: np.ndarray, truth: np.ndarray) -> Linear:
    """Fit on columns of mean 0 and variance 1, and return the weights for the columns as they are."""
    mean, scale = columns.mean(axis=0), columns.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    fitted = _logistic((columns - mean) / scale, truth, 1.0)
    weights = fitted.weights / scale
    return Linear(weights, fitted.constant - float(mean @ weights))


def _validated(scores: PairScores, near: Mapping[str, np.ndarray], seed: int) -> dict[str, float]:
    """Return each model's average precision for validation edges at distance two among other pairs at distance two.

    Random pairs are far apart, so they do not show how well a model ranks likely missing edges. Without such pairs or
    edges, the random pairs and all validation edges are used.
    """
    edges, others = dict(scores.edges), dict(near)
    edges["combined"], others["combined"] = _out_of_fold(scores, near, seed)
    close = scores.edges["common_neighbors"] > 0
    if close.any() and len(near["cosine"]):
        edges = {name: values[close] for name, values in edges.items()}
    else:
        others = scores.others | {"combined": combine(fit_combined([scores]), scores.others)}
    return {name: ranking_scores(edges[name], others[name])["average_precision"] for name in LABELS}


def _out_of_fold(scores: PairScores, near: Mapping[str, np.ndarray], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Score edges and near pairs by combined models that were fitted without them, on the other folds."""
    from sklearn.model_selection import StratifiedKFold

    columns, more = np.concatenate([_columns(scores.edges), _columns(scores.others)]), _columns(near)
    truth = np.repeat([1, 0], [len(scores.edges["cosine"]), len(scores.others["cosine"])])
    folds = min(_FOLDS, int(truth.sum()))
    found, found_near = np.zeros(len(truth)), np.zeros(len(more))
    if folds > 1:  # else there is one validation edge, and nothing to choose by
        parts = StratifiedKFold(folds, shuffle=True, random_state=seed).split(columns, truth)
        for number, (fitted, scored) in enumerate(parts):
            model = _standardised(columns[fitted], truth[fitted])
            found[scored] = columns[scored] @ model.weights + model.constant
            found_near[number::folds] = more[number::folds] @ model.weights + model.constant
    return found[truth == 1], found_near


def _logistic(columns: np.ndarray, truth: np.ndarray, strength: float) -> Linear:
    from sklearn.linear_model import LogisticRegression

    # One thread: the result does not depend on the number of cores.
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # weak regularisation; still a candidate
        model = LogisticRegression(C=strength, max_iter=300).fit(columns, truth)
    return Linear(model.coef_[0].astype(np.float64), float(model.intercept_[0]), strength)


def best_model(results: Sequence[SplitResult]) -> str:
    """Return the model with the highest mean average precision on the validation parts of the splits."""
    return max(LABELS, key=lambda name: float(np.mean([result.val[name] for result in results])))

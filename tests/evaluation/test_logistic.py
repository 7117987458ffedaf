"""Logistic regression: scikit-learn's optimum, tuned like a plain loop, without a look at the labels it predicts."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation import logistic, logistic_fit, logistic_predictions, logistic_probe, newton

TRAIN, VAL, TEST = np.arange(60), np.arange(60, 120), np.arange(120, 240)
GRID = (1e-2, 1.0, 1e2)  # enough where the number of strengths does not matter


def drawn(classes, columns, apart, seed=0):
    """Points around a centre per class, away from the origin; classes of unequal size."""
    random = np.random.default_rng(seed)
    labels = random.choice(classes, size=240, p=np.arange(1, classes + 1) / np.arange(1, classes + 1).sum())
    labels[:classes] = np.arange(classes)
    points = random.normal(size=(240, columns)) + apart * random.normal(size=(classes, columns))[labels]
    return 3 * points + 5, labels


@pytest.fixture(scope="module")
def problem():
    return drawn(classes=4, columns=20, apart=0.5)


@pytest.fixture(params=["scikit-learn", "batched"])
def solver(request, monkeypatch):
    """Solve as on the CPU, or with the batched solver that GPUs use."""
    if request.param == "batched":
        monkeypatch.setattr(logistic, "solve_with_sklearn", newton.solve)
        monkeypatch.setitem(logistic._CHUNK_BYTES, "cpu", 2**30)
    return request.param


def scaled(points, train=TRAIN):
    points = points - points[train].mean(0)
    return points / np.sqrt((points[train] ** 2).sum(1).mean())


def oracle(points, labels, C, **options):
    options = {"solver": "lbfgs", "tol": 1e-10, "max_iter": 100_000} | options
    return LogisticRegression(C=C, **options).fit(points[TRAIN], labels[TRAIN])


@cache
def known_optimum(classes, columns, apart, C):
    points, labels = drawn(classes, columns, apart)
    machine = oracle(scaled(points), labels, C)
    return machine.predict_proba(scaled(points)[TEST]), machine.predict(scaled(points)[TEST]), machine.classes_


@pytest.mark.parametrize(  # every pair of values
    ("classes", "columns", "apart"),
    [
        (2, 1, 0.0),
        (2, 5, 0.7),
        (2, 90, 0.7),
        (3, 1, 0.7),
        (3, 5, 0.0),
        (3, 90, 0.7),
        (5, 1, 0.0),
        (5, 5, 0.7),
        (5, 90, 0.0),
    ],
    ids=str,
)
def test_fit_is_scikit_learns_optimum(classes, columns, apart, solver):
    points, labels = drawn(classes, columns, apart)
    for C in (1e-3, 1.0, 30.0):
        fit = logistic_fit(points, labels, TRAIN, TEST, strengths=[C])
        probabilities, predictions, names = known_optimum(classes, columns, apart, C)
        np.testing.assert_allclose(fit.probabilities, probabilities, rtol=0, atol=1e-6)
        assert fit.predictions.tolist() == predictions.tolist()
        assert fit.classes.tolist() == names.tolist()


@pytest.mark.parametrize(("columns", "apart"), [(3, 0.0), (3, 30.0), (90, 0.5)], ids=["mixed", "far apart", "wide"])
def test_a_large_C_converges_for_separable_and_mixed_classes(columns, apart, solver):
    points, labels = drawn(3, columns, apart)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = logistic_fit(points, labels, TRAIN, TEST, strengths=[1e6]).probabilities
        # lbfgs stops before it reaches such a sharp optimum
        known = oracle(scaled(points), labels, 1e6, solver="newton-cholesky").predict_proba(scaled(points)[TEST])
    np.testing.assert_allclose(found, known, rtol=0, atol=1e-6)


def test_fit_converges_where_full_newton_steps_cycle(solver):
    random = np.random.default_rng(151)
    points, labels = random.standard_cauchy(size=(80, 35)), random.integers(4, size=80)
    everyone = np.arange(80)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = logistic_fit(points, labels, everyone, everyone, strengths=[1e5]).probabilities
    machine = LogisticRegression(C=1e5, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    known = machine.fit(scaled(points, everyone), labels).predict_proba(scaled(points, everyone))
    np.testing.assert_allclose(found, known, rtol=0, atol=1e-6)


def test_regressions_that_did_not_converge_are_counted_in_a_warning(problem, solver, monkeypatch):
    monkeypatch.setattr(newton if solver == "batched" else logistic, "_MAX_STEPS", 8)
    with pytest.warns(ConvergenceWarning, match=r"1 of 2 logistic regressions did not converge in 8 steps"):
        logistic_probe(*problem, TRAIN, TEST, val=VAL, strengths=[1e-9, 1e3])


@pytest.mark.parametrize("seed", range(3))
def test_the_chosen_strength_is_that_of_a_plain_loop(seed):
    points, labels = drawn(classes=4, columns=20, apart=0.4, seed=seed)
    best = (-1.0, None, None)
    for C in logistic.STRENGTHS:
        machine = oracle(scaled(points), labels, C, solver="newton-cholesky")
        score = machine.score(scaled(points)[VAL], labels[VAL])
        if score > best[0]:
            best = (score, C, machine.score(scaled(points)[TEST], labels[TEST]))
    assert float(logistic_fit(points, labels, TRAIN, TEST, val=VAL).strengths) == best[1]
    assert float(logistic_probe(points, labels, TRAIN, TEST, val=VAL)) == best[2]


def test_ties_go_to_the_smallest_C_in_any_order():
    points, labels = drawn(3, 5, apart=30.0)
    fit = logistic_fit(points, labels, TRAIN, TEST, val=VAL, strengths=[1e3, 10.0, 1e2])
    assert fit.predictions.tolist() == labels[TEST].tolist()
    assert float(fit.strengths) == 10.0


def test_entries_of_a_stack_do_not_affect_each_other(problem, solver):
    points, labels = problem
    tuned = {"val": VAL, "strengths": GRID}
    noise = 3 * np.random.default_rng(1).normal(size=(2, 2, *points.shape))
    stack = points + np.array([[0.0, 0.5], [4.0, 1.5]])[..., None, None] * noise
    fit = logistic_fit(stack, labels, TRAIN, TEST, **tuned)
    for place in np.ndindex(2, 2):
        alone = logistic_fit(stack[place], labels, TRAIN, TEST, **tuned)
        assert fit.strengths[place] == alone.strengths
        np.testing.assert_allclose(fit.probabilities[place], alone.probabilities, rtol=0, atol=1e-9)
    assert len(np.unique(fit.strengths)) > 1
    scores = logistic_probe(stack, labels, TRAIN, TEST, **tuned)
    assert scores.tolist() == (fit.predictions == labels[TEST]).mean(-1).tolist()
    assert logistic_predictions(stack, labels, TRAIN, TEST, **tuned).tolist() == fit.predictions.tolist()


def test_an_entry_that_takes_more_steps_also_converges(solver):
    easy, labels = drawn(3, 3, apart=0.0)
    far = easy + 100 * np.random.default_rng(0).normal(size=(3, 3))[labels]  # takes twice as many steps
    for stack in ([easy, far], [far, easy]):
        found = logistic_fit(np.stack(stack), labels, TRAIN, TEST, strengths=[1e4]).probabilities
        for one, points in zip(found, stack, strict=True):
            alone = logistic_fit(points, labels, TRAIN, TEST, strengths=[1e4]).probabilities
            np.testing.assert_allclose(one, alone, rtol=0, atol=1e-9)


def test_the_fit_does_not_depend_on_the_number_of_threads(problem):
    expected = logistic_fit(*problem, TRAIN, TEST, val=VAL)
    with threadpool_limits(4):
        found = logistic_fit(*problem, TRAIN, TEST, val=VAL)
    assert np.array_equal(found.probabilities, expected.probabilities)
    assert found.strengths == expected.strengths


def test_scale_and_origin_of_the_embeddings_do_not_matter(problem):
    points, labels = problem
    plain = logistic_fit(points, labels, TRAIN, TEST, val=VAL)
    moved = logistic_fit(1e-6 * points + 3, labels, TRAIN, TEST, val=VAL)
    assert moved.strengths == plain.strengths
    np.testing.assert_allclose(moved.probabilities, plain.probabilities, rtol=0, atol=1e-6)


def test_collapsed_embeddings_predict_the_class_frequencies(problem, solver):
    labels = problem[1]
    shares = np.bincount(labels[TRAIN]) / len(TRAIN)
    for row in (np.zeros(7), np.random.default_rng(0).normal(size=7)):
        fit = logistic_fit(np.tile(row, (240, 1)), labels, TRAIN, TEST, val=VAL)
        np.testing.assert_allclose(fit.probabilities, np.broadcast_to(shares, (len(TEST), 4)), rtol=0, atol=1e-9)


def test_uninformative_points_and_a_single_class_have_an_optimum(solver):
    corners = [[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]]
    fit = logistic_fit(corners, ["even", "even", "odd", "odd"], [0, 1, 2, 3], [0, 3], strengths=[100.0])
    np.testing.assert_allclose(fit.probabilities, 0.5, rtol=0, atol=1e-9)
    assert logistic_predictions(corners, ["one"] * 4, [0, 1], [2, 3], strengths=[1.0]).tolist() == ["one", "one"]


def test_arrays_tensors_masks_and_strings_give_the_same_score(problem):
    points, labels = problem[0].astype(np.float32), problem[1]
    train, val = np.isin(np.arange(240), TRAIN), np.isin(np.arange(240), VAL)
    expected = logistic_probe(points, labels, TRAIN, TEST, val=VAL, strengths=GRID)
    assert expected.shape == ()
    with torch.inference_mode():
        tensors = [torch.from_numpy(part) for part in (points, labels, train, ~(train | val))]
        assert logistic_probe(*tensors, val=torch.from_numpy(val), device="cpu", strengths=GRID) == expected
    texts = [f"class {i}" for i in labels]
    assert (
        logistic_probe(points.tolist(), texts, TRAIN.tolist(), TEST.tolist(), val=VAL.tolist(), strengths=GRID)
        == expected
    )
    for own in (np.array(texts), labels > 1, labels / 4):
        predicted = logistic_predictions(points, own, TRAIN, TEST, val=VAL, strengths=GRID)
        assert predicted.dtype.kind == own.dtype.kind
        assert np.mean(predicted == own[TEST]) == float(
            logistic_probe(points, own, TRAIN, TEST, val=VAL, strengths=GRID)
        )


@pytest.mark.parametrize("nothing", ["", None, np.nan, "another class"], ids=repr)
def test_the_labels_of_the_nodes_to_predict_are_not_used(problem, nothing):
    points, labels = problem
    texts = [f"class {i}" for i in labels]
    expected = logistic_fit(points, texts, TRAIN, TEST, val=VAL, strengths=GRID)
    texts[120:] = [nothing] * 120
    found = logistic_fit(points, texts, TRAIN, TEST, val=VAL, strengths=GRID)
    assert found.predictions.tolist() == expected.predictions.tolist()
    assert found.strengths == expected.strengths
    assert np.array_equal(found.probabilities, expected.probabilities)


def test_the_labels_of_the_val_nodes_only_choose_the_strength(problem):
    points, labels = problem
    for C in (0.01, 1.0):
        plain = logistic_fit(points, labels, TRAIN, TEST, strengths=[C])
        other = logistic_fit(
            points, np.where(np.isin(np.arange(240), VAL), 0, labels), TRAIN, TEST, strengths=[C], val=VAL
        )
        assert np.abs(other.probabilities - plain.probabilities).max() < 1e-12
        assert other.strengths == plain.strengths == C


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"val": []}, InputError, "val names no node; there is nothing to score"),
        ({"val": np.zeros(240, dtype=bool)}, InputError, "val names no node"),
        ({"val": None}, SettingsError, "7 strengths to choose from but no val; give val nodes or one strength"),
        ({"val": [240]}, InputError, "val names node 240, but nodes are numbered 0 to 239"),
        ({"train": []}, InputError, "train names no node; there is nothing to learn from"),
        ({"test": []}, InputError, "test names no node; there is nothing to score"),
        ({"strengths": [1.0, 0.0]}, SettingsError, r"strengths is \[1.0, 0.0\]; give a list of at least one C"),
        ({"strengths": [-1.0]}, SettingsError, "positive and finite"),
        ({"strengths": [np.inf]}, SettingsError, "positive and finite"),
        ({"strengths": []}, SettingsError, "at least one C"),
        ({"strengths": 1.0}, SettingsError, "give a list"),
        ({"strengths": ["a"]}, SettingsError, "give a list"),
        ({"labels": {7: np.nan}}, InputError, "train node 7 has no label"),
        ({"labels": {70: np.nan}}, InputError, "val node 70 has no label"),
        ({"labels": {70: 9}}, InputError, "val node 70 has class 9.*, of which there is no train node"),
        ({"labels": {130: 9}}, InputError, "test node 130 has class 9.*, of which there is no train node"),
        ({"embeddings": np.zeros(240)}, InputError, "nodes × columns"),
        ({"embeddings": np.full((240, 2), np.nan)}, InputError, "node 0, column 0 is nan"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_input_is_refused_with_its_place(problem, change, error, message):
    arguments = {"embeddings": problem[0], "labels": problem[1].astype(float), "train": TRAIN, "test": TEST, "val": VAL}
    for node, label in change.get("labels", {}).items():
        arguments["labels"][node] = label
    arguments |= {name: value for name, value in change.items() if name != "labels"}
    with pytest.raises(error, match=message):
        logistic_probe(**arguments)


def test_many_train_nodes_have_the_same_optimum(monkeypatch):
    points, labels = drawn(classes=3, columns=5, apart=0.5)
    usual = logistic_fit(points, labels, TRAIN, TEST, strengths=[1.0]).probabilities
    monkeypatch.setattr(logistic, "_MANY", 10)
    assert logistic_fit(points, labels, TRAIN, TEST, strengths=[1.0]).probabilities == pytest.approx(usual, abs=1e-9)


def test_large_problems_are_solved_well_enough_to_predict_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 600)
    codes = np.eye(5)[labels] @ rng.normal(size=(5, 8)) + rng.normal(size=(600, 8))
    parts = {"train": range(200), "val": range(200, 300), "nodes": range(300, 600)}
    exact = logistic_fit(codes, labels, **parts)
    monkeypatch.setattr("mvgrl.evaluation.logistic._LARGE", 100)
    found = logistic_fit(codes, labels, **parts)
    assert found.strengths == exact.strengths
    assert (found.predictions == exact.predictions).mean() > 0.99
    np.testing.assert_allclose(found.probabilities, exact.probabilities, atol=0.01)
    assert not np.array_equal(found.probabilities, exact.probabilities)

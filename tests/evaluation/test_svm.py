"""The linear SVM: scikit-learn's optimum, alone or in a batch, and cross-validation as GridSearchCV does it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation import svm_solver
from mvgrl.evaluation.svm import LinearSVM, choose_and_validate, cross_validate
from mvgrl.evaluation.svm_solver import Points, solve
from mvgrl.folds import shuffled_folds

CS = (1e-3, 1e-1, 1e1, 1e3)


def problem(points=60, columns=8, classes=2, seed=0, noise=0.15):
    return make_classification(
        points,
        columns,
        n_informative=max(3, columns // 2),
        n_redundant=1,
        n_classes=classes,
        n_clusters_per_class=1,
        flip_y=noise,
        random_state=seed,
    )


def minimum_on(X, y, C, active):
    """The minimum of the quadratic of an active set, by Gaussian elimination in extended precision."""
    X = np.column_stack([X, np.ones(len(X))]).astype(np.longdouble)[active]
    system = np.eye(len(X), dtype=np.longdouble) + 2 * np.longdouble(C) * (X @ X.T)
    table = np.column_stack([system, y[active]])
    for i in range(len(X)):
        table[i] /= table[i, i]
        others = np.arange(len(X)) != i
        table[others] -= table[others, i : i + 1] * table[i]
    return 2 * C * X.T @ table[:, -1]


@parametrize_with_checks([LinearSVM(device="cpu")])
def test_it_passes_scikit_learns_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("C", CS)
@pytest.mark.parametrize(
    ("shape", "dual"),
    [((60, 5, 2), False), ((60, 8, 4), False), ((200, 20, 3), False), ((30, 80, 2), True), ((30, 80, 3), True)],
    ids=str,
)
def test_weights_equal_those_of_linear_svc(shape, dual, C):
    X, y = problem(*shape)
    ours = LinearSVM(C=C).fit(X, y)
    theirs = LinearSVC(C=C, dual=dual, tol=1e-11, max_iter=100_000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its line search stops at rounding errors
        theirs.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert (ours.predict(X) == theirs.predict(X)).all()


@settings(max_examples=60, deadline=None)
@given(
    points=st.integers(2, 40),
    columns=st.integers(1, 50),
    exponent=st.integers(-4, 3),
    scales=st.integers(0, 2),
    copies=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_optimum_is_reached_at_any_scale(points, columns, exponent, scales, copies, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(points, columns)) * 10.0 ** rng.uniform(-scales, scales, columns) + rng.normal(size=columns)
    if copies:  # duplicate points and columns make every system singular without the regulariser
        X = np.column_stack([X, X])[rng.integers(0, points, points)]
    y = np.where(rng.permutation(points) < max(1, points // 2), 1, -1)
    C = 10.0**exponent
    machine = LinearSVM(C=C).fit(X, y)
    slack = 1 - y * machine.decision_function(X)
    exact = minimum_on(X, y, C, slack > 0)
    exact_slack = 1 - y * (X @ exact[:-1] + exact[-1])
    # The optimum is the minimum of its own active set only; points on the margin may be in it or not.
    assert ((exact_slack > 0) == (slack > 0))[np.abs(exact_slack) > 1e-7].all()
    np.testing.assert_allclose(slack, exact_slack.astype(float), atol=1e-6)
    weights = np.append(machine.coef_, machine.intercept_)
    assert np.linalg.norm((weights - exact).astype(float)) <= 1e-6 * np.linalg.norm(weights) + 1e-9
    assert machine.n_iter_ < 100


def test_a_point_on_the_margin_does_not_prevent_convergence():
    # The gradient w − 2(1 − 2w) − (1 − w) vanishes at w = ½, where the first point's slack does too.
    points = Points(torch.tensor([[2.0], [-1.0]], dtype=torch.float64))
    found = solve(points, torch.tensor([[1.0, -1.0]], dtype=torch.float64), C=0.5)
    assert found.converged.all()
    assert found.weights.item() == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_converges_where_full_newton_steps_would_cycle(seed, scale):
    X, y = problem(200, 80, seed=seed, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        machine = LinearSVM(C=1e3).fit(scale * X, y)
    sign = 2 * y - 1
    slack = 1 - sign * machine.decision_function(scale * X)
    exact = minimum_on(scale * X, sign, 1e3, slack > 0)
    exact_slack = 1 - sign * (scale * X @ exact[:-1] + exact[-1])
    np.testing.assert_allclose(slack, exact_slack.astype(float), rtol=1e-6, atol=1e-5)
    if scale == 1:  # at the larger scale, one column being a sum of others, rounding decides how they share weight
        np.testing.assert_allclose(machine.coef_[0], exact[:-1].astype(float), atol=1e-6)
    assert machine.n_iter_ < 100


def test_both_linear_systems_give_the_same_weights(monkeypatch):
    X, y = problem(300, 20, 2, noise=0.3)
    rows, signs = torch.from_numpy(X), torch.from_numpy(2.0 * y - 1)[None]
    both = solve(Points(rows), signs, 1.0)
    monkeypatch.setattr(svm_solver, "_LARGEST_GRAM", 0)
    by_columns = solve(Points(rows), signs, 1.0)
    torch.testing.assert_close(both.weights, by_columns.weights, rtol=1e-9, atol=1e-12)


def test_problems_of_a_batch_do_not_affect_each_other(monkeypatch):
    X, y = problem(90, 12, 3)
    points = Points(torch.from_numpy(X))
    rng = np.random.default_rng(0)
    signs = torch.from_numpy(np.where(y == np.arange(3)[:, None], 1.0, -1.0)).repeat(7, 1)
    signs *= torch.from_numpy(rng.random(signs.shape) < rng.uniform(0.2, 1, (21, 1)))
    together = solve(points, signs, 10.0)
    for i, alone in enumerate(signs):
        kept = alone != 0
        own = Points(points.rows[kept])
        apart = own.in_columns(solve(own, alone[None, kept], 10.0).weights)[0]
        torch.testing.assert_close(together.weights[i], apart, rtol=1e-8, atol=1e-10)
    monkeypatch.setitem(svm_solver._CHUNK_BYTES, "cpu", 1)  # one problem at a time
    torch.testing.assert_close(solve(points, signs, 10.0).weights, together.weights, rtol=1e-10, atol=1e-12)


def test_a_different_start_reaches_the_same_optimum():
    X, y = problem(80, 10)
    points, signs = Points(torch.from_numpy(X)), torch.from_numpy(2.0 * y - 1)[None]
    start = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 10)) * 100)
    torch.testing.assert_close(solve(points, signs, 1.0, start).weights, solve(points, signs, 1.0).weights)


def test_the_number_of_threads_is_restored():
    before = torch.get_num_threads()
    LinearSVM().fit(*problem())
    assert torch.get_num_threads() == before


def test_it_works_in_a_pipeline_under_grid_search():
    X, y = problem(120, 6, 3)
    names = np.array(["a", "b", "c"])[y]
    ours = GridSearchCV(make_pipeline(StandardScaler(), LinearSVM()), {"linearsvm__C": CS}, cv=4).fit(X, names)
    theirs = GridSearchCV(
        make_pipeline(StandardScaler(), LinearSVC(tol=1e-8, max_iter=10_000)), {"linearsvc__C": CS}, cv=4
    ).fit(X, names)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_too_few_steps_give_a_warning():
    with pytest.warns(ConvergenceWarning, match="1 of 1 support vector machines did not converge in 1 steps"):
        LinearSVM(max_iter=1).fit(*problem())


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("columns", [6, 100], ids=["few columns", "more columns than points"])
def test_nested_and_best_c_equal_grid_searches(classes, columns):
    X, y = problem(80, columns, classes, noise=0.3)
    names = np.array(["p", "q", "r", "s"])[y]
    found = cross_validate(X, names, folds=4, inner_folds=3, Cs=CS, runs=2, seed=5)
    for run in range(2):
        machine = LinearSVC(tol=1e-8, max_iter=100_000, dual=columns > 6, random_state=0)
        accuracies, pooled = [], names.copy()
        for fold, (train, test) in enumerate(shuffled_folds(4, 5, run).split(X, names)):
            search = GridSearchCV(machine, {"C": CS}, cv=shuffled_folds(3, 5, run)).fit(X[train], names[train])
            assert found.nested_cs[run, fold] == search.best_params_["C"]
            accuracies.append(search.score(X[test], names[test]))
            pooled[test] = search.predict(X[test])
        assert found.nested_accuracy[run] == pytest.approx(100 * np.mean(accuracies))
        assert found.nested_macro_f1[run] == pytest.approx(100 * f1_score(names, pooled, average="macro"))
        means = [cross_val_score(machine.set_params(C=C), X, names, cv=shuffled_folds(4, 5, run)).mean() for C in CS]
        assert found.best_c_accuracy[run] == pytest.approx(100 * max(means))
        assert found.best_cs[run] == CS[int(np.argmax(means))]


def test_alternatives_are_chosen_inside_the_training_folds_with_c():
    X, y = problem(80, 6, 2, noise=0.5, seed=4)
    parts = [X[:, :2], X[:, 2:4], X[:, 4:]]
    found = choose_and_validate(iter(parts), y, folds=4, inner_folds=3, Cs=CS, seed=5)
    accuracies, everywhere = [], []
    for fold, (train, test) in enumerate(shuffled_folds(4, 5, 0).split(X, y)):
        means, hits = [], []
        for one in parts:
            for C in CS:
                machine = LinearSVC(C=C, tol=1e-8, max_iter=100_000, dual=False)
                cv = shuffled_folds(3, 5, 0)
                means.append(cross_val_score(machine, one[train], y[train], cv=cv).mean().round(12))
                hits.append(machine.fit(one[train], y[train]).score(one[test], y[test]))
        chosen = int(np.argmax(means))
        assert found.nested_choices[0, fold] == chosen // len(CS)
        assert found.nested_cs[0, fold] == CS[chosen % len(CS)]
        accuracies.append(hits[chosen])
        everywhere.append(hits)
    assert len(set(found.nested_choices[0])) > 1
    assert found.nested_accuracy[0] == pytest.approx(100 * np.mean(accuracies))
    assert found.best_c_accuracy[0] == pytest.approx(100 * np.mean(everywhere, axis=0).max())


def test_a_run_does_not_depend_on_the_other_runs(monkeypatch):
    X, y = problem(80, 6, 3, noise=0.4)
    many = cross_validate(X, y, folds=4, inner_folds=3, Cs=CS, runs=3)
    one = cross_validate(X, y, folds=4, inner_folds=3, Cs=CS, runs=1)
    assert len(set(many.nested_accuracy)) > 1  # each run has different folds
    for name, scores in one.scores.items():
        assert scores == many.scores[name][:1]
    monkeypatch.setattr("mvgrl.evaluation.svm._WORKING_BYTES", 1)  # one part at a time
    parts = cross_validate(X, y, folds=4, inner_folds=3, Cs=CS[::-1], runs=3)
    for name in ("nested_accuracy", "nested_macro_f1", "nested_cs", "best_c_accuracy", "best_cs"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(many, name))


def test_ties_go_to_the_smallest_c():
    X = np.repeat([[-100.0], [100.0]], 20, axis=0)
    found = cross_validate(X, np.repeat([0, 1], 20), Cs=(1e3, 1.0, 0.1))
    assert (found.nested_cs == 0.1).all()
    assert found.best_cs.tolist() == [0.1]
    assert found.nested_accuracy.tolist() == [100.0]


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ({"a": 30, "rare": 7}, {}, "class rare has 7 members, fewer than the 10 folds; use at most 7 folds"),
        ({"a": 30, "one": 1}, {}, "class one has 1 member, which cannot be split into folds"),
        (
            {"a": 30, "b": 4},
            {"folds": 2},
            "class b has 4 members, 2 of them outside the held-out fold, fewer than the 5 inner folds; use at most",
        ),
        ({"a": 30, "b": 2}, {"folds": 2}, "class b has 2 members, too few to choose C inside the folds"),
        ({"a": 30}, {}, "only the class a"),
    ],
)
def test_a_class_too_small_for_the_folds_is_refused_by_name(counts, options, message):
    labels = np.repeat(list(counts), list(counts.values()))
    with pytest.raises(InputError, match=message):
        cross_validate(np.random.default_rng(0).normal(size=(len(labels), 2)), labels, **options)


def test_invalid_input_is_refused():
    X, y = problem(60, 8)
    broken = X.copy()
    broken[7, 2] = np.nan
    with pytest.raises(InputError, match="node 7, column 2 is nan"):
        cross_validate(broken, y)
    with pytest.raises(InputError, match="shape"):
        cross_validate(X, y[:-1])
    with pytest.raises(InputError, match="row 3 has no label"):
        cross_validate(X, [None if i == 3 else str(label) for i, label in enumerate(y)])
    with pytest.raises(SettingsError, match="C is -1"):
        LinearSVM(C=-1).fit(X, y)
    with pytest.raises(SettingsError, match="positive and finite"):
        cross_validate(X, y, Cs=())
    with pytest.raises(SettingsError, match="inner_folds is 1"):
        cross_validate(X, y, inner_folds=1)

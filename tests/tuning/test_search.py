"""A search for settings: trials are scored, kept and repeated exactly; the best becomes a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from mvgrl.errors import InputError, MVGRLError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.tuning import Problem, search
from mvgrl.tuning.search import Scored, score_here
from mvgrl.tuning.space import HIDDEN

pytest.importorskip("optuna", reason="needs the extra tune")
GROUPS = np.repeat(["a", "b", "c"], 20)


def clubs() -> Graph:
    graph = nx.planted_partition_graph(3, 20, 0.4, 0.03, seed=1)
    return Graph.from_scipy(nx.to_scipy_sparse_array(graph))


def quick(labels: np.ndarray | None = None, **fixed: Any) -> Problem:
    return Problem(clubs(), labels, {"epochs": 3, "hidden": 8, **fixed})


def by_layers(problem: Problem, batch: Sequence[Mapping[str, Any]]) -> list[Scored]:
    """A score that prefers two layers and a learning rate near 0.003."""
    return [(50 * one["layers"] - abs(np.log(one["learning_rate"] / 0.003)), 0.1, "") for one in batch]


def test_the_first_trial_has_the_default_settings() -> None:
    found = search(Problem(clubs()), 1, score=by_layers)
    assert found.trials[0].tuned == {
        **{"views": ["adjacency", "ppr:alpha=0.2"], "layers": 1, "hidden": 512, "learning_rate": 0.001}
    }


def test_a_search_approaches_the_best_settings() -> None:
    found = search(Problem(clubs()), 40, score=by_layers)
    assert found.best.tuned["layers"] == 2
    assert found.best.score > 99.5
    assert {trial.tuned["hidden"] for trial in found.trials} == set(HIDDEN)


def test_settings_that_are_given_are_not_changed() -> None:
    found = search(quick(views=["adjacency", "heat"]), 6, score=by_layers)
    assert all(set(trial.tuned) == {"layers", "learning_rate"} for trial in found.trials)
    assert str(found.settings.views[1]) == "heat"
    assert found.settings.hidden == 8


def test_an_interrupted_search_continues_with_the_same_trials(tmp_path: Path) -> None:
    def interrupted(problem: Problem, batch: Sequence[Mapping[str, Any]]) -> list[Scored]:
        scored.append(batch)
        if len(scored) == 5:
            raise KeyboardInterrupt
        return by_layers(problem, batch)

    scored: list[Any] = []
    file = tmp_path / "trials.jsonl"
    for together in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            search(quick(), 18, file=file, together=together, score=interrupted)
        file.write_text(file.read_text() + '{"half a line')  # of a crash
        again = search(quick(), 18, file=file, together=together, score=by_layers)
        assert again.trials == search(quick(), 18, together=together, score=by_layers).trials
        scored.clear()


def test_finished_trials_are_not_repeated_and_other_searches_are_left_alone(tmp_path: Path) -> None:
    def never(problem: Problem, batch: Sequence[Mapping[str, Any]]) -> list[Scored]:
        raise AssertionError("nothing is left to do")

    file = tmp_path / "trials.jsonl"
    first = search(quick(), 4, file=file, score=by_layers)
    search(quick(layers=1), 2, file=file, score=lambda problem, batch: [(1.0, 0.1, "") for _ in batch])
    assert search(quick(), 4, file=file, score=never).trials == first.trials
    with pytest.raises(AssertionError):
        search(quick(), 5, file=file, score=never)


def test_labels_and_hidden_edges_score_vectors() -> None:
    by_labels, by_edges = quick(GROUPS), quick()
    assert (by_labels.criterion, by_edges.criterion) == ("labels", "hidden-edges")
    assert by_labels.score({}) > 80
    assert by_edges.score({}) > 60
    shuffled = np.random.default_rng(0).permutation(GROUPS)
    assert quick(shuffled).score({}) < 70
    assert by_labels.score({}) == by_labels.score({})


def test_only_known_labels_are_used() -> None:
    some = GROUPS.copy()
    some[::2] = ""
    rare = np.where(np.arange(60) == 0, "rare", some)
    assert quick(rare).score({}) == quick(np.where(rare == "rare", "", rare)).score({})


def test_a_trial_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    class Diverges(Problem):
        def score(self, tuned: Mapping[str, Any]) -> float:
            if tuned["layers"] == 2:
                raise MVGRLError("the loss became nan")
            return 50.0

    found = search(Diverges(clubs(), None, {"hidden": 8}), 12, score=score_here, file=tmp_path / "trials.jsonl")
    assert {trial.failed for trial in found.trials} == {"", "the loss became nan"}
    assert found.best.number == 0
    with pytest.raises(MVGRLError, match="every trial failed"):
        _ = search(Diverges(clubs(), None, {"hidden": 8}), 1, score=lambda p, b: [(None, 0.0, "no")]).best


@pytest.mark.parametrize(
    ("labels", "message"), [(np.repeat("a", 60), "too few"), (np.where(np.arange(60) < 8, GROUPS, ""), "too few")]
)
def test_too_few_labels_are_refused(labels: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        quick(labels)


def test_many_graphs_need_labels() -> None:
    graphs = Graph.join([clubs(), clubs()])
    with pytest.raises(InputError, match="give labels"):
        Problem(graphs)


def test_no_trials_are_refused() -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        search(quick(), 0, score=by_layers)

"""Comparisons on a graph: planned, run once, resumed, and summarised with a paired test."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pytest
import torch

from mvgrl.datasets import Dataset
from mvgrl.errors import InputError, MVGRLError, SettingsError
from mvgrl.evaluation.logistic import logistic_probe
from mvgrl.evaluation.random_probe import random_10_accuracy
from mvgrl.evaluation.splits import random_splits
from mvgrl.experiments.compare import compare
from mvgrl.experiments.contest import STRIDE, contest, own_dataset
from mvgrl.experiments.contest_process import KILLED, TimedContext, separate_results
from mvgrl.experiments.ledger import Ledger
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.methods import METHODS, Method, Outcome
from mvgrl.views import ViewCache

CALLS: list[tuple[str, tuple[int, ...]]] = []


class Noisy(Method):
    """The classes with noise of the seed."""

    name, label, noise = "noisy", "noisy classes", 0.5

    def outcomes(self, dataset: Dataset, settings: Any, output: Any, seeds: Sequence[int], context: Any) -> Any:
        CALLS.append((self.name, tuple(seeds)))
        known = np.maximum(dataset.target, 0) if dataset.classes else np.arange(dataset.graph.nodes) % 2
        noise = [np.random.default_rng([seed, 1]).normal(size=(len(known), 3)) for seed in seeds]
        return [Outcome((np.eye(3)[known] + self.noise * one).astype(np.float32), epochs=7) for one in noise]


class Noisier(Noisy):
    """The same with more noise."""

    name, label, noise = "noisier", "noisier classes", 3.0


class Fixed(Noisy):
    """Not seeded."""

    name, label, seeded = "fixed", "fixed classes", False


class Greedy(Noisy):
    """Runs out of memory."""

    name, label = "greedy", "greedy"

    def outcomes(self, *given: Any) -> Any:
        CALLS.append(("greedy", ()))
        raise MemoryError


class Picky(Noisy):
    """Needs something that is not installed."""

    name, label = "picky", "picky"

    def outcomes(self, *given: Any) -> Any:
        CALLS.append(("picky", ()))
        raise InputError("picky needs a package; install it")


@dataclass(frozen=True)
class Taught(Method):
    """Predicts the classes of the train nodes for everyone, so that it depends on the split."""

    name: ClassVar[str] = "taught"
    label: ClassVar[str] = "taught"
    supervised: ClassVar[bool] = True
    source: ClassVar[str] = "a test"
    epochs: int = 100

    def outcomes(self, dataset: Dataset, settings: Any, output: Any, seeds: Sequence[int], context: Any) -> Any:
        assert dataset.splits is not None
        CALLS.append(("taught", tuple(dataset.splits["train"].tolist())))
        predictions = np.full(len(dataset.target), 1)
        predictions[0] = self.epochs
        return [Outcome(predictions=predictions) for _ in seeds]


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in (Noisy(), Noisier(), Fixed(), Greedy(), Picky(), Taught()):
        monkeypatch.setitem(METHODS, method.name, method)
    CALLS.clear()


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return Ledger(tmp_path / "compare.jsonl")


def club(labels: np.ndarray | None = None, **changes: Any) -> Dataset:
    """A ring of 90 nodes in three classes, with the last ten unlabelled."""
    ends = np.arange(90)
    graph = Graph.from_edges(ends, (ends + 1) % 90, **changes)
    names = np.array(["a", "b", "c"])[ends % 3]
    names[80:] = ""
    return own_dataset(NamedGraph(graph, ends), names if labels is None else labels, name="ring.csv")


def run(dataset: Dataset, ledger: Ledger, methods: list[str], **options: Any) -> list[Any]:
    more = {key: options.pop(key) for key in ("retry_failed", "tell") if key in options}
    return compare(contest(dataset, methods, device="cpu", **options), ledger, separate=False, **more)


def test_scores_are_those_of_the_probe_on_labelled_nodes(ledger):
    dataset = club()
    (row,) = run(dataset, ledger, ["noisy"], splits=3)
    vectors = METHODS["noisy"].outcomes(dataset, None, None, [0], None)[0].vectors  # type: ignore[arg-type]
    known = dataset.target >= 0
    expected = random_10_accuracy(
        torch.from_numpy(vectors[known]), dataset.target[known], range(3), np.array([], dtype=int)
    )
    assert row.numbers["random_10"].mean == pytest.approx(expected.mean())
    assert row.numbers["random_10"].std == pytest.approx(expected.std())
    assert (row.runs, row.memory, row.failed) == (3, None, "")


def test_own_splits_are_trained_on_and_scored(ledger):
    dataset = club()
    splits = [{"train": np.arange(0, 9 + i), "val": np.arange(30, 40), "test": np.arange(50, 80)} for i in range(3)]
    rows = {row.contender.id: row for row in run(dataset, ledger, ["noisy", "taught"], splits=splits)}
    trained = [train for name, train in CALLS if name == "taught"]
    assert trained == [tuple(split["train"]) for split in splits]
    assert CALLS.count(("noisy", (0,))) == 1  # the splits share a training
    vectors = METHODS["noisy"].outcomes(dataset, None, None, [0], None)[0].vectors  # type: ignore[arg-type]
    expected = [
        100 * logistic_probe(vectors, dataset.target.astype(str), one["train"], one["test"], val=one["val"])
        for one in splits
    ]
    assert rows["noisy"].numbers["logistic"].mean == pytest.approx(np.mean(expected))
    assert rows["taught"].numbers["logistic"].mean == pytest.approx(100 / 3)
    assert contest(dataset, ["noisy"], splits=splits, device="cpu").parts == (10, 30)
    CALLS.clear()
    run(dataset, ledger, ["noisy", "taught"], splits=splits)
    assert CALLS == []
    run(dataset, ledger, ["noisy"], splits=splits[::-1])
    assert CALLS == [("noisy", (0,))]


def test_unlabelled_nodes_are_in_no_split():
    dataset = club()
    split = random_splits(dataset.labels, count=1)[0]
    assert max(nodes.max() for nodes in split.values()) < 80
    assert sum(map(len, split.values())) == 80


def test_the_best_is_first_and_a_clear_difference_is_no_tie(ledger):
    good, bad = run(club(), ledger, ["noisier", "noisy"], splits=6)
    assert (good.contender.id, bad.contender.id) == ("noisy", "noisier")
    best, other = good.numbers["random_10"], bad.numbers["random_10"]
    assert (best.best, best.tied, best.p) == (True, False, None)
    assert (other.best, other.tied) == (False, False)
    assert other.p < 0.05 < best.mean - other.mean


def test_equal_methods_are_tied(ledger, monkeypatch):
    monkeypatch.setattr(Noisier, "noise", Noisy.noise)
    first, second = run(club(), ledger, ["noisy", "noisier"], splits=4)
    assert first.numbers["random_10"].best
    assert (second.numbers["random_10"].tied, second.numbers["random_10"].p) == (True, 1.0)


def test_what_is_in_the_ledger_is_not_run_again_and_more_can_be_added(ledger):
    before = run(club(), ledger, ["noisy"], splits=2)
    assert len(CALLS) == 1
    assert run(club(), ledger, ["noisy"], splits=2) == before
    assert len(CALLS) == 1
    run(club(), ledger, ["noisy", "fixed"], splits=3, seeds=2)
    assert CALLS[1:] == [("noisy", (0,)), ("noisy", (1,)), ("fixed", (0,))]  # the third split, the second training
    numbers = [line.seed for line in ledger if line.variant == "noisy"]
    assert sorted(numbers) == [0, 1, 2, STRIDE, STRIDE + 1, STRIDE + 2]


def test_a_changed_graph_or_label_or_parameter_is_run_again(ledger):
    run(club(), ledger, ["noisy", "taught"], splits=2)
    count = len(CALLS)
    run(club(weights=np.full(90, 2.0)), ledger, ["noisy"], splits=2)
    labels = np.array(["a", "b", "c"])[np.arange(90) % 3]
    run(club(labels), ledger, ["noisy"], splits=2)
    assert len(CALLS) == count + 2
    run(club(), ledger, ["taught"], splits=2, epochs=5)
    assert len(CALLS) == count + 4


def test_supervised_methods_are_trained_on_every_split(ledger):
    (row,) = run(club(), ledger, ["taught"], splits=3)
    trained = [calls for name, calls in CALLS if name == "taught"]
    assert trained == [tuple(split["train"].tolist()) for split in random_splits(club().labels, count=3)]
    assert row.runs == 3


def test_a_failed_method_is_a_row_with_its_reason(ledger):
    told: list[str] = []
    good, memory, needs = run(club(), ledger, ["greedy", "picky", "noisy"], splits=2, tell=told.append)
    assert good.contender.id == "noisy"
    assert (memory.failed, needs.failed) == ("out of memory", "picky needs a package; install it")
    assert not memory.numbers
    assert "3 methods; this takes about" in told[0]
    assert any("greedy: failed: out of memory (" in line for line in told)
    CALLS.clear()
    run(club(), ledger, ["greedy", "picky", "noisy"], splits=2)
    assert CALLS == [("picky", ())]  # it fails at once, so it is tried again
    with pytest.raises(MVGRLError, match="every method failed; greedy: out of memory"):
        run(club(), ledger, ["greedy"], splits=2, retry_failed=True)
    assert CALLS[-1] == ("greedy", ())


class Stopped(Noisy):
    """Interrupted by the user in its second training."""

    name, label = "stopped", "stopped"

    def outcomes(self, dataset: Dataset, settings: Any, output: Any, seeds: Sequence[int], context: Any) -> Any:
        if 1 in seeds and not any(name == "again" for name, _ in CALLS):
            raise KeyboardInterrupt
        return super().outcomes(dataset, settings, output, seeds, context)


def test_an_interrupted_comparison_continues_where_it_stopped(ledger, monkeypatch):
    monkeypatch.setitem(METHODS, "stopped", Stopped())
    with pytest.raises(KeyboardInterrupt):
        run(club(), ledger, ["noisy", "stopped"], splits=2, seeds=2)
    assert CALLS == [("noisy", (0,)), ("noisy", (1,)), ("stopped", (0,))]
    CALLS[:] = [("again", ())]
    rows = run(club(), ledger, ["noisy", "stopped"], splits=2, seeds=2)
    assert CALLS[1:] == [("stopped", (1,))]
    assert [row.runs for row in rows] == [4, 4]


def test_without_labels_hidden_edges_are_predicted(ledger):
    named = NamedGraph(Graph.from_edges(*np.array(nx.karate_club_graph().edges).T), np.arange(34))
    (row,) = run(own_dataset(named), ledger, ["spectral"], splits=2)
    assert set(row.numbers) == {"auc", "average_precision", "stability"}
    assert 0 < row.numbers["auc"].mean <= 1
    assert row.numbers["stability"].std is None  # the splits share the pair of clusterings
    lines = list(ledger)
    assert len(lines) == 2
    assert lines[0].scores["stability"] == lines[1].scores["stability"]  # of the same pair of clusterings
    with pytest.raises(SettingsError, match="'taught' learns from labels"):
        contest(own_dataset(named), ["taught"])


def test_many_graphs_are_scored_by_folds(ledger):
    graphs = [Graph.from_edges(np.arange(5), (np.arange(5) + 1) % 5) for _ in range(10)]
    graphs += [Graph.from_edges([0, 0, 0, 0], [1, 2, 3, 4]) for _ in range(11)]
    named = NamedGraph(Graph.join(graphs), np.arange(105), np.arange(21))
    labels = np.array(["ring"] * 10 + ["star"] * 10 + [""])
    dataset = own_dataset(named, labels)
    assert (dataset.graph.count, dataset.graph.nodes, len(dataset.target)) == (20, 100, 20)
    (row,) = run(dataset, ledger, ["histogram"], splits=1)
    assert row.numbers["nested"].mean == 100.0
    with pytest.raises(SettingsError, match="'deepwalk' is not for many graphs"):
        contest(dataset, ["deepwalk"])
    with pytest.raises(InputError, match="many graphs and no labels"):
        contest(own_dataset(named))


def test_labels_that_are_numbers_are_refused():
    named = NamedGraph(Graph.from_edges(np.arange(20), (np.arange(20) + 1) % 20), np.arange(20))
    with pytest.raises(InputError, match=r"numbers, not classes.*regression"):
        own_dataset(named, np.linspace(0, 1, 20))


def test_settings_are_checked_before_anything_runs():
    with pytest.raises(SettingsError, match="unknown method 'specral'; did you mean 'spectral'"):
        contest(club(), ["specral"])
    with pytest.raises(SettingsError, match="splits is 0"):
        contest(club(), splits=0)
    with pytest.raises(SettingsError, match="no public split"):
        contest(club(), splits="public")


def test_the_public_split_has_one_run_per_training(ledger):
    split = random_splits(club().labels, count=1)[0]
    dataset = replace(club(), splits=split)
    rows = run(dataset, ledger, ["noisy", "fixed"], splits="public", seeds=3)
    counts = {row.contender.id: row.runs for row in rows}
    assert counts == {"noisy": 3, "fixed": 1}
    assert [row.numbers["logistic"].p is None for row in rows] == [True, False]


def test_the_usual_contenders_depend_on_the_size_and_task():
    names = [one.id for one in contest(club()).contenders]
    assert {"raw", "propagated-beside", "netmf", "deepwalk", "mvgrl", "default"} <= set(names)
    large = own_dataset(NamedGraph(Graph.from_edges([0], [1], nodes=30_000), np.arange(30_000)), np.arange(30_000) % 2)
    assert "spectral" in [one.id for one in contest(large, device="cpu").contenders]


def test_reused_values_count_as_if_they_were_computed_again():
    context = TimedContext(Ledger(os.devnull), torch.device("cpu"), print, ViewCache())

    def slow() -> int:
        started = time.perf_counter()
        while time.perf_counter() - started < 0.02:
            pass
        return 1

    context.shared("trained", "a", slow)
    assert context.reused == 0
    context.shared("trained", "a", slow)
    assert context.reused >= 0.02


def test_a_process_that_is_killed_is_a_reason(monkeypatch):
    plan = contest(club(), ["raw", "spectral"], splits=1, device="cpu")
    raw, spectral = plan.contenders
    killed = replace(raw, method=_Suicide())
    found = list(separate_results(plan, [(spectral, [[0]]), (killed, [[0], [1]])]))
    assert [one.contender for one in found] == ["spectral", "raw"]
    assert found[0].memory >= 0
    assert len(found[0].scores) == 1
    assert found[1].failed.startswith(KILLED)
    assert found[1].final


class _Suicide(Method):
    """Ends its process as the kernel does when memory runs out; importable by another process."""

    name, label = "suicide", "suicide"

    def outcomes(self, *given: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

"""Methods: registered by file, and the outcome of each on a dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mvgrl.methods
from mvgrl.datasets import Dataset
from mvgrl.evaluation import propagated, untrained
from mvgrl.graphs import Graph
from mvgrl.methods import METHODS, Method, kernel_graphlets, kernel_multiscale
from mvgrl.settings import Output, literal
from mvgrl.training import fit

PATH = Graph.from_edges([0, 1, 2], [1, 2, 3], features=np.array([[1.0, 0], [0, 1], [2, 2], [3, 0]]))
MANY = Graph.join([PATH, Graph.from_edges([0], [1], features=np.array([[1.0, 1], [0, 5]])), PATH])
SETTINGS = {
    "node": literal(dict(hidden=4, epochs=2, normalise="none")),
    "graph": literal(dict(task="graph", hidden=4, layers=1, epochs=2, normalise="none")),
}


def dataset(task: str) -> Dataset:
    graph = PATH if task == "node" else MANY
    split = {"train": np.array([0, 1]), "val": np.array([2]), "test": np.array([3])} if task == "node" else None
    return Dataset("any", graph, np.arange(graph.nodes if task == "node" else 3) % 2, task, split, ("a", "b"), "")


def short(name: str) -> Method:
    """Return a method with two epochs or steps and a few samples, if it has a number of its own."""
    method, fewer = METHODS[name], dict(epochs=2, label_steps=2, graph_steps=2, samples=8, passes=2)
    return replace(method, **{key: value for key, value in fewer.items() if key in method.parameters})


def test_every_file_in_the_folder_holds_methods_or_what_they_share() -> None:
    texts = {path.stem: path.read_text() for path in Path(mvgrl.methods.__file__).parent.glob("*.py")}
    modules = {type(method).__module__.rpartition(".")[2] for method in METHODS.values()}
    for name in set(texts) - modules - {"__init__"}:
        assert any(f"from mvgrl.methods.{name} import" in text for text in texts.values()), name
    for name, method in METHODS.items():
        assert method.name == name
        assert method.label
        assert bool(method.parameters) <= bool(method.source)  # hyper-parameters have a source
    assert len({method.label for method in METHODS.values()}) == len(METHODS)


@pytest.mark.parametrize(("name", "task"), [(name, task) for name, one in METHODS.items() for task in one.tasks])
def test_an_outcome_has_a_vector_per_node_or_graph(
    name: str, task: str, context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (kernel_graphlets, kernel_multiscale):  # without a process of their own, which takes seconds to start
        monkeypatch.setattr(module, "within", lambda minutes, function, *given: function(*given))
    method = short(name)
    data = dataset(task)
    if method.supervised and task == "graph":  # enough graphs of each class for ten folds
        data = replace(data, graph=Graph.join([PATH, MANY] * 5), target=np.arange(20) % 2)
    found = method.outcomes(data, SETTINGS[task], Output(), [3, 4], context)
    assert len(found) == (2 if method.seeded else 1)
    for outcome in found:
        points = outcome.predictions if method.supervised else outcome.points()
        assert points.shape[0] == len(data.target)
        assert np.isfinite(points).all()
        assert outcome.epochs == (2 if method.trains else 0)


@pytest.mark.parametrize("task", ["node", "graph"])
def test_outcomes_equal_those_of_the_functions(task: str, context: Any) -> None:
    data, settings = dataset(task), SETTINGS[task]
    trained = [fit(data.graph, settings, seed=seed, device="cpu").vectors() for seed in (3, 4)]
    found = METHODS["mvgrl"].outcomes(data, settings, Output(), [3, 4], context)
    for outcome, expected in zip(found, trained, strict=True):
        np.testing.assert_array_equal(outcome.vectors, expected)
    (start,) = METHODS["untrained"].outcomes(data, settings, Output(), [3], context)
    np.testing.assert_array_equal(start.vectors, untrained(data.graph, settings, seed=3, device="cpu"))
    (plain,) = METHODS["propagated"].outcomes(data, settings, Output(), [3, 4], context)
    np.testing.assert_array_equal(plain.vectors, propagated(data.graph, settings, device="cpu"))


def test_raw_features_are_the_features_summed_per_graph(context: Any) -> None:
    (nodes,) = METHODS["raw"].outcomes(dataset("node"), SETTINGS["node"], Output(), [0], context)
    np.testing.assert_allclose(nodes.vectors, PATH.features)
    (graphs,) = METHODS["raw"].outcomes(dataset("graph"), SETTINGS["graph"], Output(), [0], context)
    np.testing.assert_allclose(graphs.vectors, [[6, 3], [1, 6], [6, 3]])


def test_runs_on_graphs_share_their_inputs(context: Any) -> None:
    data, settings = dataset("graph"), SETTINGS["graph"]
    for name in ("mvgrl", "untrained", "propagated"):
        METHODS[name].outcomes(data, settings, Output(), [0, 1], context)
    assert context.made.count("inputs") == 1
    METHODS["mvgrl"].outcomes(data, replace(settings, hidden=8), Output(), [0], context)
    assert context.made.count("inputs") == 2


def test_a_cpu_trains_one_seed_at_a_time() -> None:
    cpu = torch.device("cpu")
    assert METHODS["mvgrl"].seeds_together(dataset("node"), SETTINGS["node"], cpu) == 1
    assert METHODS["propagated"].seeds_together(dataset("node"), SETTINGS["node"], cpu) == 10


def test_the_histogram_counts_labels_and_degrees_per_graph(context: Any) -> None:
    graph = Graph.join(
        [Graph.from_edges([0, 0], [1, 2], node_labels=[5, 7, 7]), Graph.from_edges([0], [1], node_labels=[7, 7])]
    )
    data = replace(dataset("graph"), graph=graph, target=np.array([0, 1]))
    (found,) = METHODS["histogram"].outcomes(data, SETTINGS["graph"], Output(), [0], context)
    np.testing.assert_array_equal(found.vectors, [[0, 2, 1, 1, 2], [0, 2, 0, 0, 2]])  # degrees 0 to 2, labels 5 and 7
    star = Graph.from_edges(np.zeros(150, int), np.arange(1, 151))
    plain = replace(data, graph=Graph.join([star, Graph.from_edges([0], [1])]))
    (found,) = METHODS["histogram"].outcomes(plain, SETTINGS["graph"], Output(), [0], context)
    assert found.vectors.shape == (2, 101)  # degrees alone, those above 100 in the last column
    assert found.vectors[0, [1, 100]].tolist() == [150, 1]


@pytest.mark.parametrize("name", ["raw", "propagated-1", "propagated-beside", "propagated"])
def test_controls_use_positions_where_the_settings_do(name: str, context: Any) -> None:
    settings = replace(SETTINGS["node"], features="position")
    (found,) = METHODS[name].outcomes(dataset("node"), settings, Output(preset="paper"), [0], context)
    assert found.points().shape[1] > 0
    assert len(np.unique(found.points().round(4), axis=0)) > 1

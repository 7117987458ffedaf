"""Vectors of any method: made, saved, loaded, and given back for the very same graph only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import mvgrl
from mvgrl.errors import InputError, SettingsError
from mvgrl.method_vectors import method_named
from mvgrl.methods import METHODS, Method, Outcome

pytestmark = pytest.mark.filterwarnings("ignore::mvgrl.errors.GraphWarning")


@dataclass(frozen=True)
class Drawn(Method):
    """Random vectors, as a system of its own."""

    name: ClassVar[str] = "drawn"
    label: ClassVar[str] = "drawn vectors"
    source: ClassVar[str] = "a test"
    epochs: int = 100
    size: int = 5

    def outcomes(self, dataset: Any, settings: Any, output: Any, seeds: Sequence[int], context: Any) -> list[Outcome]:
        rows = dataset.graph.nodes if dataset.task == "node" else dataset.graph.count
        assert (dataset.target == -1).all()  # labels are not used
        return [Outcome(np.random.default_rng(s).normal(size=(rows, self.size)), epochs=self.epochs) for s in seeds]


@dataclass(frozen=True)
class Predicting(Drawn):
    """Predicts classes."""

    name: ClassVar[str] = "predicting"
    supervised: ClassVar[bool] = True


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in (Drawn(), Predicting()):
        monkeypatch.setitem(METHODS, method.name, method)


CLUB = nx.karate_club_graph()


def test_vectors_are_those_of_the_method_for_the_seed():
    embedder = mvgrl.NodeEmbedder(method="drawn", random_state=3, device="cpu").fit(CLUB)
    np.testing.assert_array_equal(embedder.embedding_, np.random.default_rng(3).normal(size=(34, 5)))
    assert embedder.ids_.tolist() == list(range(34))
    assert embedder.choices_["method"] == "method drawn (drawn vectors, epochs=100, size=5)"
    assert embedder.vectors().shape == (34, 5)
    assert len(embedder.get_feature_names_out()) == 5
    assert embedder.neighbors(0, k=2).shape == (2, 4)
    assert "drawn" in embedder._repr_html_inner()


def test_a_method_object_keeps_its_parameters_through_clone():
    embedder = clone(mvgrl.NodeEmbedder(method=Drawn(size=2), device="cpu"))
    assert embedder.fit_transform(CLUB).shape == (34, 2)


def test_a_saved_method_returns_its_vectors_for_the_same_graph_only(tmp_path):
    embedder = mvgrl.NodeEmbedder(method=Drawn(size=2), device="cpu").fit(CLUB)
    embedder.save(tmp_path / "model", scores={"accuracy": 81.5})
    loaded = mvgrl.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(CLUB), embedder.embedding_)
    assert loaded.method == Drawn(size=2)
    assert loaded.choices_ == embedder.choices_
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"config.json", "model.safetensors", "README.md"}
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| size | 2 |" in card
    assert "| accuracy | 81.5 |" in card
    renamed = nx.relabel_nodes(CLUB, {0: 99})
    fewer = CLUB.copy()
    fewer.remove_edge(0, 1)
    for other in (renamed, fewer):
        with pytest.raises(InputError, match="'drawn' were made for, and this method cannot embed other graphs"):
            loaded.transform(other)
    with pytest.raises(InputError, match="give the graph"):
        loaded.vectors()
    embedder.save(tmp_path / "model")  # a model is replaced


def test_many_graphs_have_a_vector_each():
    graphs = [nx.cycle_graph(size) for size in range(3, 9)]
    embedder = mvgrl.GraphEmbedder(method="histogram", device="cpu").fit(graphs)
    assert embedder.embedding_.shape == (6, 3)
    assert embedder.transform(graphs).shape == (6, 3)


def test_mvgrl_is_the_paper_and_default_is_the_default():
    few = dict(hidden=8, epochs=2, device="cpu")
    paper = mvgrl.NodeEmbedder(preset="paper", **few).fit(CLUB)
    named = mvgrl.NodeEmbedder(method="mvgrl", **few).fit(CLUB)
    usual, default = mvgrl.NodeEmbedder(**few).fit(CLUB), mvgrl.NodeEmbedder(method="default", **few).fit(CLUB)
    np.testing.assert_array_equal(named.embedding_, paper.embedding_)
    np.testing.assert_array_equal(usual.embedding_, default.embedding_)
    assert usual.embedding_.shape != paper.embedding_.shape


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(method="netfm"), "unknown method 'netfm'; did you mean 'netmf'"),
        (dict(method="histogram"), "'histogram' makes no vectors of nodes"),
        (dict(method="predicting"), "'predicting' learns from labels and predicts classes"),
        (dict(method=7), "method is 7; it must be the name of a method"),
        (dict(method="netmf", dim=3), "dim is 3, but the vectors of 'netmf' are left as they are"),
        (dict(method="drawn", hidden=3), "hidden is 3, but 'drawn' is a method with its own parameters"),
    ],
)
def test_mistakes_are_refused(options, words):
    with pytest.raises(SettingsError, match=words):
        mvgrl.NodeEmbedder(device="cpu", **options).fit(CLUB)


def test_epochs_are_passed_to_a_method_that_has_them():
    embedder = mvgrl.NodeEmbedder(method="drawn", epochs=7, device="cpu").fit(CLUB)
    assert embedder.trained_.epochs == 7
    assert "epochs=7" in embedder.choices_["method"]


def test_a_damaged_folder_is_rejected(tmp_path):
    mvgrl.NodeEmbedder(method="drawn", device="cpu").fit(CLUB).save(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())

    def with_(**changes: Any) -> None:
        (tmp_path / "model" / "config.json").write_text(json.dumps(config | changes))
        with pytest.raises(InputError, match="does not contain complete vectors"):
            mvgrl.load(tmp_path / "model")

    with_(rows=35)
    with_(method="unheard-of")
    with_(parameters={"size": 2, "colour": "red"})
    with_(about=3)
    with_(dim=10**12)
    with_(epochs="many")
    Path(tmp_path / "model" / "config.json").write_text(json.dumps(config))
    Path(tmp_path / "model" / "model.safetensors").write_bytes(b"1234")
    with pytest.raises(InputError, match="complete vectors"):
        mvgrl.load(tmp_path / "model")


def test_vectors_that_are_not_finite_are_refused(monkeypatch):
    monkeypatch.setattr(Drawn, "outcomes", lambda *given: [Outcome(np.full((34, 2), np.nan))])
    with pytest.raises(InputError, match="not finite"):
        mvgrl.NodeEmbedder(method="drawn", device="cpu").fit(CLUB)


def test_the_method_of_an_object_is_itself():
    assert method_named("default") is None
    assert method_named(METHODS["netmf"], "node") is METHODS["netmf"]

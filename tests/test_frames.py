"""Every result has its ids: the table of an embedder, and the containers of scikit-learn."""

from __future__ import annotations

import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mvgrl
from mvgrl import GraphEmbedder, NodeEmbedder
from mvgrl.errors import InputError, SettingsError

QUICK = dict(hidden=8, epochs=2, dim=4, device="cpu", features="degree-one-hot")
OLD = nx.relabel_nodes(nx.les_miserables_graph(), str.lower)
NEW = nx.Graph(reversed(list(OLD.edges)))  # the same characters in another order
GRAPHS = [nx.Graph([("a", "b"), ("b", "c")], name="first"), nx.Graph([("a", "b"), ("b", "d")], name="second")]


@pytest.fixture(scope="module")
def embedder() -> NodeEmbedder:
    return NodeEmbedder(**QUICK).fit(OLD)


def test_vectors_of_a_new_graph_have_the_ids_of_the_new_graph(embedder: NodeEmbedder) -> None:
    assert list(NEW) != list(OLD)
    state = dict(vars(embedder))
    expected = embedder.transform(NEW)
    for found in (embedder.vectors(NEW), embedder.vectors(NEW, table="pandas")):
        assert isinstance(found, pd.DataFrame)
        assert found.index.name == "id"
        assert found.index.tolist() == list(NEW)
        assert found.columns.tolist() == ["e0", "e1", "e2", "e3"]
        np.testing.assert_array_equal(found.to_numpy(), expected)
    assert vars(embedder) == state
    assert embedder.ids_.tolist() == list(OLD)


def test_tables_of_polars_and_arrow_have_a_column_of_ids(embedder: NodeEmbedder) -> None:
    expected = embedder.transform(NEW)
    for kind, table in (("polars", pl.DataFrame), ("arrow", pa.Table)):
        found = embedder.vectors(NEW, table=kind)
        assert isinstance(found, table)
        columns = pa.table(found)
        assert columns.column_names == ["id", "e0", "e1", "e2", "e3"]
        assert columns["id"].to_pylist() == list(NEW)
        np.testing.assert_array_equal(np.column_stack([columns[name] for name in columns.column_names[1:]]), expected)
    with pytest.raises(SettingsError, match="did you mean 'polars'"):
        embedder.vectors(NEW, table="polar")


def test_vectors_without_a_graph_are_those_of_the_training_graph(embedder: NodeEmbedder, tmp_path: Path) -> None:
    found = embedder.vectors()
    assert found.index.tolist() == list(OLD)
    np.testing.assert_array_equal(found.to_numpy(), embedder.embedding_)
    with pytest.raises(InputError, match="give both"):
        embedder.vectors(features=np.eye(77))
    embedder.save(tmp_path / "model")
    with pytest.raises(InputError, match="give the graph"):
        mvgrl.load(tmp_path / "model", device="cpu").vectors()


def test_nodes_of_several_graphs_are_told_apart_by_their_graph(embedder: NodeEmbedder) -> None:
    expected = [("first", "a"), ("first", "b"), ("first", "c"), ("second", "a"), ("second", "b"), ("second", "d")]
    found = embedder.vectors(GRAPHS)
    assert found.index.names == ["graph", "id"]
    assert found.index.tolist() == expected
    table = embedder.vectors(GRAPHS, table="polars")
    assert table.columns[:2] == ["graph", "id"]
    assert table.select("graph", "id").rows() == expected
    framed = clone(embedder).set_output(transform="pandas").fit(OLD).transform(GRAPHS)
    assert framed.index.tolist() == expected


def test_vectors_of_graphs_have_the_ids_of_the_graphs() -> None:
    embedder = GraphEmbedder(**QUICK).fit(GRAPHS)
    assert embedder.vectors(GRAPHS[::-1]).index.tolist() == ["second", "first"]
    frame = embedder.set_output(transform="pandas").fit_transform(GRAPHS)
    assert frame.index.tolist() == ["first", "second"]
    assert frame.columns.tolist() == embedder.get_feature_names_out().tolist()


def test_set_output_gives_a_frame_indexed_by_id_before_and_after_load(tmp_path: Path) -> None:
    embedder = clone(NodeEmbedder(**QUICK).set_output(transform="pandas"))  # clones keep it
    edges = pd.DataFrame(list(OLD.edges), columns=["source", "target"])
    with pytest.warns(mvgrl.errors.GraphWarning, match="made undirected"):
        fitted = embedder.fit_transform(edges)
    assert fitted.index.tolist() == embedder.ids_.tolist()
    assert set(fitted.index) == set(OLD)
    embedder.save(tmp_path / "model")
    loaded = mvgrl.load(tmp_path / "model", device="cpu")
    assert isinstance(loaded.transform(NEW), np.ndarray)
    for one in (embedder, loaded.set_output(transform="pandas")):
        found = one.transform(NEW)
        assert found.index.tolist() == list(NEW)
        assert found.columns.tolist() == one.get_feature_names_out().tolist() == ["e0", "e1", "e2", "e3"]
    found = loaded.set_output(transform="polars").transform(NEW)
    assert isinstance(found, pl.DataFrame)
    assert found.columns == ["e0", "e1", "e2", "e3"]  # no ids: the next step of a pipeline would learn from them
    assert isinstance(loaded.set_output(transform="default").transform(NEW), np.ndarray)
    assert loaded.set_output().transform(NEW).shape == (77, 4)
    with pytest.raises(SettingsError, match="did you mean 'pandas'"):
        loaded.set_output(transform="panda")
    with config_context(transform_output="pandas"):
        assert isinstance(NodeEmbedder(**QUICK).fit_transform(OLD), pd.DataFrame)


def test_feature_names_follow_the_output_options(embedder: NodeEmbedder) -> None:
    changed = NodeEmbedder(**QUICK).fit(OLD).set_params(dim=2)
    assert changed.get_feature_names_out().tolist() == ["e0", "e1"]
    changed.set_params(preset="paper", dim=None)
    assert len(changed.get_feature_names_out()) == changed.transform(OLD).shape[1] == 8


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_pipelines_keep_the_container(container: str) -> None:
    graphs = [nx.cycle_graph(n) for n in range(5, 11)] + [nx.star_graph(n) for n in range(5, 11)]
    pipeline = make_pipeline(GraphEmbedder(**QUICK), StandardScaler(), LogisticRegression())
    pipeline.set_output(transform=container).fit(graphs, [0] * 6 + [1] * 6)
    scaled = pipeline[:-1].transform(graphs)
    assert type(scaled).__module__.startswith(container)
    assert pipeline[:-1].get_feature_names_out().tolist() == ["e0", "e1", "e2", "e3"]
    if container == "pandas":
        assert scaled.index.tolist() == list(range(12))


def test_a_missing_package_is_named(embedder: NodeEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)  # importing it is an ImportError
    with pytest.raises(InputError, match="needs polars; pip install polars, or choose another: pandas, polars, arrow"):
        embedder.vectors(table="polars")
    assert embedder.vectors(table="arrow").num_rows == 77

"""Which columns of a node table become features, in Python, and what a trained model makes of later tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import mvgrl
from mvgrl import NodeEmbedder
from mvgrl.automatic import resolve
from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.read import read
from mvgrl.graphs.tables import from_tables

COUNT = 24
EDGES = pd.DataFrame({"source": range(COUNT), "target": [(i + 1) % COUNT for i in range(COUNT)]})
WORDS = ["cat", "dog", "tree", "river", "stone", "cloud"]


def people(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": range(COUNT),
            "age": np.where(rng.random(COUNT) < 0.2, np.nan, rng.integers(20, 70, COUNT)),
            "income": rng.integers(10_000, 900_000, COUNT),
            "city": rng.choice(["Rome", "Oslo"], COUNT),
            "bio": [" ".join(rng.choice(WORDS, 9)) for _ in range(COUNT)],
            "degree": rng.integers(0, 9, COUNT),
            "label": rng.integers(0, 2, COUNT),
        }
    )


def columns_of(**options):
    named = from_tables(pa.Table.from_pandas(EDGES), pa.Table.from_pandas(people()), **options)
    return [] if named.columns is None else list(named.columns.columns)


def test_every_other_column_is_a_feature_by_default():
    assert columns_of() == ["age", "income", "city", "bio", "degree"]
    assert columns_of(label_column="city") == ["age", "income", "bio", "degree", "label"]


def test_columns_can_be_chosen_ignored_and_declared_as_text():
    assert columns_of(features=["city", "age"]) == columns_of(features="city, age") == ["age", "city"]
    assert columns_of(ignore=["city", "label"]) == ["age", "income", "bio", "degree"]
    assert columns_of(features="age", text=["bio"]) == ["age", "bio"]
    assert columns_of(features=["label"]) == ["label"]  # then it is not the label
    named = from_tables(pa.Table.from_pandas(EDGES), pa.Table.from_pandas(people()), text="city")
    assert "city, bio (text" in named.columns.summary


def test_another_kind_of_features_leaves_the_columns_alone():
    assert columns_of(features="position") == []
    assert columns_of(features="given", ignore=["degree"]) == ["age", "income", "city", "bio"]


def test_a_kind_that_is_also_a_column_is_ambiguous_and_both_ways_out_work():
    with pytest.raises(SettingsError, match="'degree' is both a kind of features and a column of nodes") as caught:
        columns_of(features="degree")
    assert "--features degree," in str(caught.value)
    assert "--ignore degree" in str(caught.value)
    assert columns_of(features="degree,") == ["degree"]
    assert columns_of(features="degree", ignore=["degree"]) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": "age,ctiy,incme"}, ["nodes has no column 'ctiy', 'incme'", "'city'", "degree-one-hot"]),
        ({"ignore": ["aeg"], "text": ["boi"]}, ["'aeg', 'boi'", "'age'"]),
        ({"features": "age", "ignore": ["age"]}, ["'age'", "both"]),
        ({"features": "id"}, ["'id'", "ids"]),
        ({"features": "city", "label_column": "city"}, ["'city'", "labels"]),
        ({"features": [3]}, ["[3]"]),
        ({"features": 3}, ["3"]),
    ],
)
def test_a_wrong_choice_is_rejected(options, words):
    with pytest.raises((InputError, SettingsError)) as caught:
        columns_of(**options)
    assert all(word in str(caught.value) for word in words), caught.value


def test_columns_need_a_table_of_nodes(tmp_path):
    with pytest.raises(InputError, match="'age' needs a table of nodes"):
        from_tables(pa.Table.from_pandas(EDGES), features="age")
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(np.ones((3, 3))))
    with pytest.raises(InputError, match=r"not a table, so ignore \(age\) does not apply"):
        read(tmp_path / "graph.npz", ignore=["age"])


def test_files_give_the_same_features_as_tables(tmp_path):
    EDGES.to_csv(tmp_path / "edges.csv", index=False)
    people().to_csv(tmp_path / "nodes.csv", index=False)
    people().to_parquet(tmp_path / "nodes.parquet", index=False)
    expected = to_named((EDGES, people())).graph
    for nodes in ("nodes.csv", "nodes.parquet"):
        found = read(tmp_path / "edges.csv", nodes=tmp_path / nodes).graph
        assert (found.features != expected.features).nnz == 0
        assert found.notes == expected.notes
    chosen = read(tmp_path / "edges.csv", nodes=tmp_path / "nodes.csv", features="age", text=["bio"], ignore=["city"])
    assert list(chosen.columns.columns) == ["age", "bio"]


def test_scaling_that_is_chosen_keeps_text_beside_large_numbers():
    resolved = resolve(to_named((EDGES, people())).graph)
    assert resolved.settings.normalise == "row"
    numbers = resolve(to_named((EDGES, people().drop(columns=["city", "bio"]))).graph)
    assert numbers.settings.normalise == "standard"


@pytest.fixture(scope="module")
def embedder():
    return NodeEmbedder(hidden=8, epochs=2, device="cpu").fit((EDGES, people()))


def test_transform_encodes_new_nodes_as_in_training(embedder, tmp_path):
    one = embedder.transform((EDGES, people()))
    assert np.array_equal(one, embedder.embedding_)
    later = people(1)
    first = later.copy()
    first.loc[1:, "bio"] = "stone"  # the row of node 0 does not depend on the other rows of its table
    encoder = embedder.trained_.feature_encoder.columns_
    rows = [to_named((EDGES, table), encoder=encoder).graph.features[[0]] for table in (later, first)]
    assert (rows[0] != rows[1]).nnz == 0
    embedder.save(tmp_path / "model")
    loaded = mvgrl.load(tmp_path / "model", device="cpu")
    assert np.array_equal(loaded.transform((EDGES, later)), embedder.transform((EDGES, later)))
    with pytest.raises(InputError, match="no column 'age', 'bio', which the model was trained with; it has 'income'"):
        loaded.transform((EDGES, later.drop(columns=["age", "bio"])))


def test_features_that_replace_those_of_a_table_are_not_its_columns():
    named = to_named((EDGES, people()), features=np.ones((COUNT, 3)))
    assert named.columns is None
    assert named.graph.feature_names is None

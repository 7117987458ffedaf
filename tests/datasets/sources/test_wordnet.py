"""WordNet: the published counts, its texts as features, a small table of the same layout, and damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from mvgrl.datasets import load

SYNSETS = {
    "id": ["n1", "v1", "n2"],
    "lexicographer": ["noun.Tops", "verb.motion", "noun.Tops"],
    "words": ["entity", "move", "thing"],
    "gloss": ["that which exists", "go from here to there", "a thing"],
}
RELATIONS = {"source": ["n1", "n2", "n1", "v1"], "target": ["n2", "n1", "v1", "v1"], "relation": ["~", "@", "+", "+"]}


def write(root: Path, synsets: dict[str, Any] | None = None, relations: dict[str, Any] | None = None) -> Path:
    folder = root / "wordnet"
    folder.mkdir(exist_ok=True)
    for name, table in (("synsets", {**SYNSETS, **(synsets or {})}), ("relations", {**RELATIONS, **(relations or {})})):
        kept = {column: values for column, values in table.items() if values is not None}
        pq.write_table(pa.table(kept), folder / f"{name}.parquet")
    return folder


def test_wordnet_has_the_published_counts(original):
    data = original("wordnet")
    assert (data.graph.nodes, data.graph.edges, data.graph.features) == (117791, 184083, None)
    assert len(data.classes) == 45
    assert "noun.animal" in data.classes
    assert len(data.texts) == 117791
    text = original("wordnet-text")
    assert text.graph.features.shape == (117791, 4096)
    assert text.graph.fingerprint == data.graph.fingerprint
    assert np.array_equal(text.target, data.target)


def test_nodes_are_rows_and_classes_are_lexicographers(tmp_path):
    write(tmp_path)
    data = load("wordnet", tmp_path)
    assert data.graph.adjacency.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert (data.classes, data.target.tolist()) == (("noun.Tops", "verb.motion"), [0, 1, 0])
    assert data.texts.tolist() == SYNSETS["gloss"]
    assert (data.graph.features, data.splits) == (None, None)


def test_the_words_of_the_glosses_are_features(tmp_path):
    write(tmp_path)
    features = load("wordnet-text", tmp_path).graph.features
    assert sp.issparse(features)
    assert features.dtype == np.float32
    assert np.diff(features.indptr).tolist() == [3, 5, 1]  # a single letter is not a word
    assert np.allclose(np.sqrt(features.multiply(features).sum(axis=1)), 1.0)


@pytest.mark.parametrize(
    ("synsets", "relations", "problem"),
    [
        ({"gloss": None}, {}, "no column 'gloss'"),
        ({"gloss": ["a", None, "b"]}, {}, "'gloss' is not text in every row"),
        ({"lexicographer": [1, 2, 3]}, {}, "'lexicographer' is not text"),
        ({"id": ["n1", "n1", "n2"]}, {}, "an id twice"),
        ({}, {"target": ["n2", "n1", "v1", "x9"]}, "relations.parquet, row 3: the target 'x9'"),
        ({}, {"source": None}, "no column 'source'"),
    ],
)
def test_damaged_tables_are_refused(tmp_path, input_error, synsets, relations, problem):
    write(tmp_path, synsets, relations)
    input_error(lambda: load("wordnet", tmp_path), problem, "restore it, from")


def test_truncated_and_missing_files_are_refused(tmp_path, input_error):
    folder = write(tmp_path)
    path = folder / "relations.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    input_error(lambda: load("wordnet", tmp_path), path, "truncated or damaged")
    path.unlink()
    input_error(lambda: load("wordnet-text", tmp_path), path, "is missing", "restore it, from")

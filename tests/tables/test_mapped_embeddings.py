"""Embeddings that stay on disk are those that are read into memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mvgrl.errors import InputError
from mvgrl.tables.embeddings import Embeddings, read_embeddings, write_embeddings

RNG = np.random.default_rng(0)
VECTORS = RNG.standard_normal((50, 3)).astype(np.float32)
TABLES = {
    "integers": Embeddings(np.arange(50) * 3, VECTORS),
    "text": Embeddings(np.array([f"n{i}" for i in range(50)]), VECTORS),
    "graphs": Embeddings(np.tile(np.arange(25), 2), VECTORS, np.repeat([1, 2], 25)),
    "sides": Embeddings(np.tile(np.arange(25), 2), VECTORS, sides=np.repeat(["user", "item"], 25)),
    "columns": Embeddings(np.arange(50), VECTORS, columns=("age", "city")),
}


def check_same(path, **options):
    found, expected = read_embeddings(path, memory=0, **options), read_embeddings(path, **options)
    assert found.on_disk
    assert not expected.on_disk
    assert found.vectors.dtype == expected.vectors.dtype
    for name in ("ids", "vectors", "graph_ids", "sides", "columns"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    some = found.select(np.array([7, 3]))
    assert not some.on_disk
    assert np.array_equal(some.vectors, expected.vectors[[7, 3]])


@pytest.mark.parametrize("extension", ["parquet", "npy"])
@pytest.mark.parametrize("name", TABLES)
def test_vectors_on_disk_are_those_in_memory(name, extension, tmp_path):
    path = tmp_path / f"vectors.{extension}"
    write_embeddings(path, TABLES[name])
    before = sorted(tmp_path.iterdir())
    check_same(path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("id_name", ["Id", "key", None])
def test_a_column_per_dimension_stays_on_disk(id_name, tmp_path):
    table = pd.DataFrame({"a": VECTORS[:, 0], "b": VECTORS[:, 1].astype(float), "label": ["x"] * 50})
    if id_name is not None:
        table.insert(1, id_name, [f"n{i}" for i in range(50)])
    table.to_parquet(tmp_path / "vectors.parquet")
    check_same(tmp_path / "vectors.parquet", id_column="key" if id_name == "key" else None)


@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.float16])
def test_other_types_of_numbers_are_converted(dtype, tmp_path):
    np.save(tmp_path / "vectors.npy", (10 * VECTORS).astype(dtype))
    check_same(tmp_path / "vectors.npy")


def test_small_files_are_read_into_memory(tmp_path):
    write_embeddings(tmp_path / "vectors.parquet", TABLES["integers"])
    assert not read_embeddings(tmp_path / "vectors.parquet", memory=10**6).on_disk


@pytest.mark.parametrize("extension", ["parquet", "npy"])
def test_numbers_that_are_not_finite_are_refused(extension, tmp_path):
    path = tmp_path / f"vectors.{extension}"
    vectors = VECTORS.copy()
    vectors[33, 1] = np.nan
    if extension == "npy":
        np.save(path, vectors)
    else:
        pd.DataFrame({"id": range(50), "embedding": list(vectors)}).to_parquet(path)
    with pytest.raises(InputError, match="row 33"):
        read_embeddings(path, memory=0)


def test_rows_of_different_lengths_are_refused(tmp_path, monkeypatch):
    rows = [[1.0, 2.0]] * 20_000 + [[1.0]]
    pd.DataFrame({"id": range(len(rows)), "embedding": rows}).to_parquet(tmp_path / "vectors.parquet")
    with pytest.raises(InputError, match="every row needs the same number of values"):
        read_embeddings(tmp_path / "vectors.parquet", memory=0)

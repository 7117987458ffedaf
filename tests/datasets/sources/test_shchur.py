"""Amazon Photo and DBLP: the published counts, a small file of the same layout, and damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl.datasets import load

ADJACENCY = np.array([[1, 2, 0], [0, 0, 1], [0, 1, 0]], dtype=np.float32)  # a self-loop, a weight, one direction
FEATURES = np.array([[0.5, 0], [0, 2], [0, 0]], dtype=np.float32)


def parts(name: str, matrix: np.ndarray) -> dict[str, Any]:
    stored = sp.csr_array(matrix)
    arrays = {part: getattr(stored, part) for part in ("data", "indices", "indptr", "shape")}
    return {f"{name}_{part}": np.asarray(values) for part, values in arrays.items()}


def write(root: Path, **changes: Any) -> Path:
    """Write three nodes as DBLP; a change to None omits an array."""
    path = root / "gnn-benchmark" / "citation_dblp.npz"
    path.parent.mkdir(exist_ok=True)
    arrays = parts("adj", ADJACENCY) | parts("attr", FEATURES) | {"labels": np.array([1, 0, 1])} | changes
    np.savez(path, **{name: values for name, values in arrays.items() if values is not None})
    return path


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "classes"),
    [("amazon-photo", 7650, 119081, 745, 8), ("dblp", 17716, 52867, 1639, 4)],
)
def test_the_graphs_have_the_published_counts(original, name, nodes, edges, features, classes):
    data = original(name)
    assert (data.graph.nodes, data.graph.edges, data.graph.features.shape[1]) == (nodes, edges, features)
    assert sp.issparse(data.graph.features)
    assert np.unique(data.graph.adjacency.data).tolist() == [1.0]
    assert np.unique(data.target).tolist() == list(range(classes))
    assert (data.task, data.splits, data.texts) == ("node", None, None)


def test_edges_are_undirected_unweighted_and_without_self_loops(tmp_path):
    write(tmp_path)
    data = load("dblp", tmp_path)
    assert data.graph.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert data.graph.features.toarray().tolist() == FEATURES.tolist()
    assert (data.target.tolist(), data.classes) == ([1, 0, 1], ("0", "1"))


def test_pickled_names_are_never_read(tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    write(tmp_path, node_names=np.array([Trap()] * 3, dtype=object))
    assert load("dblp", tmp_path).graph.edges == 2
    write(tmp_path, labels=np.array([Trap()] * 3, dtype=object))
    with pytest.raises(Exception, match="object"):
        load("dblp", tmp_path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"labels": None}, "no array 'labels'"),
        ({"attr_indptr": None}, "no array 'attr_indptr'"),
        ({"labels": np.array([0, 1])}, "labels"),
        ({"labels": np.array([0, 1, -1])}, "negative"),
        ({"labels": np.array([0.0, 1.0, 1.5])}, "float64"),
        ({"adj_indices": np.array([0, 1, 2, 9])}, "indices has 9"),
        ({"adj_shape": np.array([3, 2])}, "indices has 2"),
        ({"attr_shape": np.array([2, 2])}, "indptr"),
        ({"attr_data": np.array([np.nan, 1.0])}, "nan"),
    ],
)
def test_damaged_arrays_are_refused(tmp_path, input_error, changes, problem):
    path = write(tmp_path, **changes)
    input_error(lambda: load("dblp", tmp_path), path, problem, "restore it, from")


def test_a_truncated_file_is_refused(tmp_path, input_error):
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    input_error(lambda: load("dblp", tmp_path), "gnn-benchmark is damaged", "restore its files, from")

"""Planetoid's datasets: the published counts, agreement with other readers, and damaged or hostile files."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import pytest

from mvgrl.datasets import load
from mvgrl.errors import InputError
from mvgrl.graphs import Graph, planetoid_pickle


def test_planetoid_agrees_with_pytorch_geometrics_reader(data_root, original, tmp_path):
    from torch_geometric.datasets import Planetoid

    shutil.copytree(data_root / "planetoid" / "CiteSeer" / "raw", tmp_path / "CiteSeer" / "raw")
    theirs, ours = Planetoid(str(tmp_path), "CiteSeer")[0], original("citeseer")
    assert Graph.from_pyg(theirs).fingerprint == ours.graph.fingerprint
    assert np.array_equal(ours.graph.features.toarray(), theirs.x.numpy())
    assert np.array_equal(ours.target, theirs.y.numpy())
    for part in ("train", "val", "test"):
        assert np.array_equal(ours.splits[part], theirs[f"{part}_mask"].nonzero().flatten().numpy())


def test_citeseers_nodes_without_features_are_in_no_part_of_the_split(original):
    data = original("citeseer")
    left_out = np.setdiff1d(np.arange(2312, 3327), data.splits["test"])
    assert len(left_out) == 15
    assert data.graph.features[left_out].nnz == 0


class Intruder:
    def __reduce__(self):
        return print, ("a pickle must not run this",)


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_that_calls_a_function_is_refused_before_it_runs(tmp_path, capsys, protocol):
    folder = tmp_path / "planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    (folder / "ind.cora.allx").write_bytes(pickle.dumps([Intruder()], protocol=protocol))
    with pytest.raises(InputError, match=r"ind.cora.allx is not a Planetoid file.*print"):
        load("cora", tmp_path)
    assert capsys.readouterr().out == ""


@pytest.fixture
def cora_copy(tmp_path, data_root):
    folder = tmp_path / "planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    for path in (data_root / "planetoid" / "Cora" / "raw").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("part", ["x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"])
def test_a_damaged_or_missing_file_is_named(tmp_path, cora_copy, refused, part):
    path = cora_copy / f"ind.cora.{part}"
    valid = path.read_bytes()
    if part == "x":  # its rows are the first of allx
        path.unlink()
        assert load("cora", tmp_path).graph.edges == 5278
        return
    for damaged in (
        valid[: len(valid) // 2],
        b"",
        b"garbage",
        b"\x00" * 50,
        pickle.dumps([1, 2]),
        pickle.dumps(None, 2),
    ):
        path.write_bytes(damaged)
        refused("cora", tmp_path, f"ind.cora.{part}")
    path.unlink()
    refused("cora", tmp_path, f"ind.cora.{part} is missing")
    path.mkdir()
    with pytest.raises(InputError, match=f"ind.cora.{part} cannot be read"):
        load("cora", tmp_path)


@pytest.mark.parametrize(
    ("part", "other", "message"),
    [
        ("tx", "x", "test.index: its 1000 nodes .* do not match the 140 of tx|ind.cora.ty has 1000 rows.* 140"),
        ("ally", "y", "ind.cora.ally has 140 rows, but .* 1708"),
        ("ty", "y", "ind.cora.ty has 140 rows, but .* 1000"),
        ("graph", "allx", "ind.cora.graph is not a Planetoid file: it must list the neighbours"),
        ("allx", "graph", "ind.cora.allx is not a Planetoid file: it contains a defaultdict"),
        ("y", "graph", "ind.cora.y is not a Planetoid file: it contains no table of classes"),
    ],
)
def test_inconsistent_files_are_refused(tmp_path, cora_copy, refused, part, other, message):
    shutil.copy(cora_copy / f"ind.cora.{other}", cora_copy / f"ind.cora.{part}")
    refused("cora", tmp_path, message)


def test_files_of_another_dataset_are_refused(tmp_path, cora_copy, data_root, refused):
    for part, message in (("tx", "ind.cora.tx has 3703 columns, but allx has 1433"), ("ty", "ind.cora.ty has")):
        valid = (cora_copy / f"ind.cora.{part}").read_bytes()
        other = data_root / "planetoid" / "CiteSeer" / "raw" / f"ind.citeseer.{part}"
        (cora_copy / f"ind.cora.{part}").write_bytes(other.read_bytes())
        refused("cora", tmp_path, message)
        (cora_copy / f"ind.cora.{part}").write_bytes(valid)
    graph = pickle.dumps({0: [1], 1: [0, 99_999]}, protocol=2)
    (cora_copy / "ind.cora.graph").write_bytes(graph)
    refused("cora", tmp_path, "ind.cora.graph: .*refers to node 99999")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x", "line 3: 'x'"),
        ("99999999999", "line 3: '99999999999'"),
        ("9" * 5000, "line 3: '999"),
        ("17", "line 3: '17' .* start at 1708"),
        ("-1", "line 3"),
        (None, "its 999 nodes"),
        ("first", "line 3: node 2692 is also on line 1"),
    ],
)
def test_a_wrong_line_of_the_test_index_is_named(tmp_path, cora_copy, refused, line, message):
    path = cora_copy / "ind.cora.test.index"
    lines = path.read_text().split()
    assert lines[0] == "2692"
    lines[2:3] = [] if line is None else [lines[0] if line == "first" else line]
    path.write_text("\n".join(lines))
    refused("cora", tmp_path, f"ind.cora.test.index(, |: ){message}")


def test_an_index_out_of_range_in_a_stored_table_is_refused(tmp_path, cora_copy, refused):
    path = cora_copy / "ind.cora.allx"
    stored = planetoid_pickle.to_array(planetoid_pickle.read_pickle(path.read_bytes()).state["indices"])
    place = path.read_bytes().find(stored.tobytes()[:400])
    assert place > 0
    with path.open("r+b") as file:
        file.seek(place)
        file.write(np.int32(10**9).tobytes())
    refused("cora", tmp_path, "ind.cora.allx is not a Planetoid file")

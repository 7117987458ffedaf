"""Importing tables gives the graph that reading them in memory gives, whatever the memory is."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.graphs.test_stored import equal

from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs import import_edges, import_features, import_ids, importing
from mvgrl.graphs.importing import import_tables
from mvgrl.graphs.read import read
from mvgrl.graphs.stored import StoredGraph
from mvgrl.tables import files, id_map, streams


@pytest.fixture
def small_parts(monkeypatch):
    """Read a few rows at a time, and sort a few edges at a time."""
    monkeypatch.setattr(streams, "_BLOCK", 256)
    monkeypatch.setattr(streams, "_AT_A_TIME", 5)
    monkeypatch.setattr(files, "_MOST_ROWS", 5)
    monkeypatch.setattr(import_ids, "_AT_A_TIME", 8)
    monkeypatch.setattr(import_edges, "_BINS", 16)
    monkeypatch.setattr(id_map, "_FIRST", 4)
    monkeypatch.setattr(import_features, "BYTES_PER_ROW", 0)

    def limit(size):
        monkeypatch.setattr(importing, "_work_memory", lambda memory: size)

    return limit


def check_same(edges, folder, **options):
    found = import_tables(edges, folder / "graph", **options)
    expected = read(edges, **options)
    assert equal(found.load(), expected)
    assert found.load().notes == expected.notes
    assert (expected.columns is None) == (found.encoder is None)
    if expected.columns is not None:
        (state, weights), (same, also) = expected.columns.to_state(), found.encoder.to_state()
        assert state == same
        assert np.array_equal(weights, also)
    assert not [path for path in folder.iterdir() if ".mvgrl-" in path.name]
    return found


IDS = {
    "integers": lambda i: 3 * i - 7,
    "numbered": lambda i: i,
    "floats": lambda i: float(i),
    "fractions": lambda i: i + 0.5,
    "text": lambda i: f"n{i}" + "é" * (i % 4),
    "zeros": lambda i: f"{i:03}",
}
COLUMNS = {
    "number": lambda i: i * 0.1,
    "gaps": lambda i: None if i % 5 == 0 else i / 3,
    "int": lambda i: i % 7,
    "bool": lambda i: i % 2 == 0,
    "date": lambda i: f"20{i % 30:02}-01-{1 + i % 28:02}",
    "city": lambda i: ("Oslo", "Rome", None, "Bonn")[i % 4],
    "name": lambda i: f"person{i}",
    "bio": lambda i: " ".join(f"w{(i * j) % 11}" for j in range(6)),
    "messy": lambda i: "n/a" if i == 3 else str(i),
    "empty": lambda i: None,
    "label": lambda i: ("cat", "dog", None)[i % 3],
    "list": lambda i: [i * 0.5, 1.0, i * i],
}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_an_imported_graph_is_the_graph_in_memory(tmp_path, small_parts, data):
    draw = data.draw
    count, edges = draw(st.integers(2, 40)), draw(st.integers(1, 60))
    kind, parquet = draw(st.sampled_from(sorted(IDS))), draw(st.booleans())
    ends = st.lists(st.integers(0, count - 1), min_size=edges, max_size=edges)
    table = pd.DataFrame({"source": draw(ends), "target": draw(ends)}).map(IDS[kind])
    if draw(st.booleans()):
        weights = st.sampled_from([0.0, 1.0, 0.1, 0.2, 0.7, 1e-9, 3.0])
        table["weight"] = draw(st.lists(weights, min_size=edges, max_size=edges))
    nodes = None
    if draw(st.booleans()):
        names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), max_size=5, unique=True))
        order = draw(st.permutations(range(count)))
        nodes = pd.DataFrame({"id": [IDS[kind](i) for i in order]})
        for name in names:
            if parquet or name != "list":
                nodes[name] = [COLUMNS[name](i) for i in order]
    small_parts(draw(st.sampled_from([2500 if parquet else 20000, 10**7])))
    paths = []
    for name, one in (("edges", table), ("nodes", nodes)):
        path = tmp_path / f"{name}.{'parquet' if parquet else 'csv'}"
        if one is not None:
            one.to_parquet(path, index=False) if parquet else one.to_csv(path, index=False)
        paths.append(None if one is None else path)
    try:
        expected = None
        read(paths[0], nodes=paths[1])
    except InputError as error:
        expected = str(error)
    if expected is None:
        check_same(paths[0], tmp_path, nodes=paths[1])
    else:
        with pytest.raises(InputError):
            import_tables(paths[0], tmp_path / "graph", nodes=paths[1])


def test_sums_of_many_duplicates_are_the_same_to_the_bit(tmp_path, small_parts):
    small_parts(10**4)
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 12, (400, 2))
    ends[::3, 0] = 5  # a row that is long enough for an unstable sort
    table = pd.DataFrame({"source": ends[:, 0], "target": ends[:, 1], "weight": rng.random(400)})
    table.to_parquet(tmp_path / "edges.parquet")
    found = check_same(tmp_path / "edges.parquet", tmp_path)
    assert found.weights.dtype == np.float64


def test_ids_in_several_shares_and_edges_in_several_ranges_are_used(tmp_path, small_parts, monkeypatch):
    """Whether the other tests cover what they are meant to."""
    small_parts(2500)
    table = pd.DataFrame({"source": np.arange(60), "target": np.arange(60)[::-1]})
    table.to_parquet(tmp_path / "edges.parquet")
    stages, found, ranges = set(), [], import_edges._ranges
    monkeypatch.setattr(import_edges, "_ranges", lambda *given: found.append(ranges(*given)) or found[-1])
    import_tables(tmp_path / "edges.parquet", tmp_path / "graph", report=lambda what, *_: stages.add(what))
    assert any("part 2 of" in what for what in stages)
    assert len(found[0][0]) > 2


def write(folder, **tables):
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)


@pytest.mark.parametrize(
    ("edges", "nodes"),
    [
        ("source,target\n1,2\n1,9\n", "id,x\n1,1\n2,1\n"),  # a node that is not there
        ("source,target\n1,2\n", "id,x\n1,1\n2,1\n1,3\n"),  # an id twice
        ("source,target,weight\n1,2,-1\n", None),
        ("source,target,weight\n1,2,\n", None),
        ("source,target,weight\n1,2,1e308\n2,1,3\n1,3,1e308\n", None),
        ("source,target\n1,\n", None),
        ("source,target\n", None),
        ("source,target\n1,2\n", "id,x\n"),
        ("source,target\n1,2\n", "name,x\n1,2\n2,3\n"),
        ("a,b,c\nx,y,z\n", None),
        ("source,target\n1,2\n", "id,x,x is missing\n1,,3\n2,4,5\n"),
    ],
)
def test_an_error_is_that_of_reading_in_memory(edges, nodes, tmp_path, small_parts):
    small_parts(10**6)
    write(tmp_path, edges=edges, **({} if nodes is None else {"nodes": nodes}))
    given = dict(nodes=None if nodes is None else tmp_path / "nodes.csv")
    with pytest.raises(InputError) as expected:
        read(tmp_path / "edges.csv", **given)
    with pytest.raises(InputError) as found:
        import_tables(tmp_path / "edges.csv", tmp_path / "graph", **given)
    assert str(found.value) == str(expected.value)
    assert {path.name for path in tmp_path.iterdir()} <= {"edges.csv", "nodes.csv"}


@pytest.mark.parametrize(
    "options",
    [
        dict(label_column="city"),
        dict(features="age,city"),
        dict(ignore=["city"]),
        dict(text=["city"]),
        dict(features="degree"),
        dict(id_column="key", features="age"),
        dict(source_column="b", target_column="a"),
        dict(weight_column="w"),
    ],
)
def test_options_mean_the_same_as_in_memory(options, tmp_path, small_parts):
    small_parts(10**6)
    write(
        tmp_path,
        edges="source,target,a,b,w\n1,2,3,1,7\n2,3,1,2,5\n3,1,2,2,1\n",
        nodes="id,key,age,city\n1,3,7,Rome\n2,2,9,Oslo\n3,1,4,Rome\n",
    )
    check_same(tmp_path / "edges.csv", tmp_path, nodes=tmp_path / "nodes.csv", **options)


@pytest.mark.parametrize(
    "values", [[1, None, 3], [True, None, False], [True, False, True], ["a", None, "b"], [1, 2, 3]]
)
def test_classes_have_the_types_of_reading_in_memory(values, tmp_path, small_parts):
    small_parts(10**6)
    pd.DataFrame({"source": [0, 1], "target": [1, 2]}).to_parquet(tmp_path / "edges.parquet")
    labels = pd.array(values) if values[0] != "a" else values
    pd.DataFrame({"id": [0, 1, 2], "label": labels}).to_parquet(tmp_path / "nodes.parquet")
    check_same(tmp_path / "edges.parquet", tmp_path, nodes=tmp_path / "nodes.parquet")


def test_columns_named_like_two_sides_are_noted(tmp_path, small_parts):
    small_parts(10**6)
    write(tmp_path, edges="user,item,when\n1,2,a\n2,1,b\n2,3,c\n")
    found = check_same(tmp_path / "edges.csv", tmp_path)
    assert any("2 ids are in both 'user' and 'item'" in note for note in found.notes)


def test_several_graphs_are_refused(tmp_path):
    write(tmp_path, edges="source,target,graph\n1,2,a\n")
    with pytest.raises(InputError, match="column 'graph', but only a single graph can be imported"):
        import_tables(tmp_path / "edges.csv", tmp_path / "graph")


def test_columns_are_encoded_as_in_another_graph(tmp_path, small_parts):
    small_parts(10**6)
    write(
        tmp_path,
        edges="source,target\n1,2\n2,3\n",
        nodes="id,age,city\n1,10,Rome\n2,20,Oslo\n3,30,Rome\n",
        later="id,city,age,x\n1,Bonn,15,1\n2,,,1\n3,Oslo,99,1\n",
    )
    encoder = import_tables(tmp_path / "edges.csv", tmp_path / "one", nodes=tmp_path / "nodes.csv").encoder
    found = check_same(tmp_path / "edges.csv", tmp_path, nodes=tmp_path / "later.csv", encoder=encoder)
    assert found.feature_names == ("age", "city=Rome", "city=Oslo")
    assert sum("not seen in training" in note for note in found.notes) == 1


def test_too_little_memory_is_refused_with_what_would_do(tmp_path):
    write(tmp_path, edges="source,target\n1,2\n")
    with pytest.raises(SettingsError, match="use at least"):
        import_tables(tmp_path / "edges.csv", tmp_path / "graph", memory=2**20)


KILLED = """
import os, signal, sys
from mvgrl.graphs.importing import import_tables
def report(what, done, total):
    if what == "joining both directions":
        os.kill(os.getpid(), signal.SIGKILL)
import_tables(sys.argv[1] + "/edges.csv", sys.argv[1] + "/graph", nodes=sys.argv[1] + "/nodes.csv", report=report)
"""


def test_a_killed_import_leaves_the_old_graph_and_its_files_are_removed(tmp_path):
    write(tmp_path, edges="source,target\n1,2\n2,3\n", nodes="id,x\n1,1\n2,2\n3,4\n")
    before = import_tables(tmp_path / "edges.csv", tmp_path / "graph").fingerprint
    names = {path.name for path in tmp_path.iterdir()}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert StoredGraph.open(tmp_path / "graph", check=True).fingerprint == before
    assert {path.name for path in tmp_path.iterdir()} > names
    import_tables(tmp_path / "edges.csv", tmp_path / "other")
    assert {path.name for path in tmp_path.iterdir()} == names | {"other"}


@pytest.mark.parametrize("stage", ["reading edges", "sorting edges", "writing features", "computing checksums"])
def test_an_interrupted_import_leaves_nothing(stage, tmp_path):
    write(tmp_path, edges="source,target\n1,2\n2,3\n", nodes="id,x\n1,1\n2,2\n3,4\n")

    def report(what, done, total):
        if what == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_tables(tmp_path / "edges.csv", tmp_path / "graph", nodes=tmp_path / "nodes.csv", report=report)
    assert {path.name for path in tmp_path.iterdir()} == {"edges.csv", "nodes.csv"}


def test_the_manifest_says_how_the_graph_was_made(tmp_path, small_parts):
    small_parts(10**6)
    write(tmp_path, edges="source,target\n1,2\n2,3\n", nodes="id,x,about\n1,1,a b c\n2,2,d e f\n3,4,g h i\n")
    import_tables(tmp_path / "edges.csv", tmp_path / "graph", nodes=tmp_path / "nodes.csv")
    manifest = json.loads(Path(tmp_path, "graph", "graph.json").read_text())
    assert (manifest["nodes"], manifest["edges"], manifest["features"]) == (3, 2, "sparse")
    assert manifest["notes"][0].startswith("directed edges made undirected")
    assert set(manifest["files"]) == {path.name for path in (tmp_path / "graph").iterdir()} - {"graph.json"}

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl.graphs import Graph
from mvgrl.views import PPR, Adjacency, Heat, View, ViewCache, cache


@pytest.fixture
def computed(monkeypatch):
    """The views that were computed rather than read from the cache."""
    calls = []
    for kind in (PPR, Heat, Adjacency):
        compute = kind.__call__

        def record(self, graph, compute=compute):
            calls.append(self)
            return compute(self, graph)

        monkeypatch.setattr(kind, "__call__", record)
    return calls


@pytest.fixture(params=["memory", "folder"])
def store(request, tmp_path):
    return ViewCache(tmp_path / "deep" / "views") if request.param == "folder" else ViewCache()


def same(a, b) -> bool:
    return type(a) is type(b) and a.dtype == b.dtype and bool((sp.csr_array(a) != sp.csr_array(b)).nnz == 0)


@pytest.mark.parametrize("view", [PPR(), PPR(top_k=3), Adjacency()], ids=str)
def test_a_view_is_computed_once(view, store, computed, random_graph) -> None:
    graph = random_graph(0)
    first, second = store.get(view, graph), store.get(view, graph)
    assert len(computed) == 1
    assert same(first, second)
    assert same(first, view(graph))


def test_equal_graphs_share_a_view_whatever_their_features(store, computed) -> None:
    store.get(PPR(), Graph.from_edges([0, 1], [1, 2]))
    store.get(PPR(), Graph.from_edges([1, 0], [2, 1], features=np.ones((3, 2))))
    assert len(computed) == 1


def test_different_graphs_have_different_views(store, computed, random_graph) -> None:
    # The same counts of nodes and edges, but other edges; other weights; two graphs instead of one; one more node.
    base = Graph.from_edges([0, 2], [1, 3])
    others = [
        Graph.from_edges([0, 1], [2, 3]),
        Graph.from_edges([0, 2], [1, 3], [2.0, 2.0]),
        Graph.from_edges([0, 2], [1, 3], offsets=[0, 2, 4]),
        Graph.from_edges([0, 2], [1, 3], nodes=5),
    ]
    store.get(PPR(), base)
    for graph in others:
        assert same(store.get(PPR(), graph), PPR()(graph))
    assert len(computed) == 1 + 2 * len(others)


def test_different_parameters_have_different_matrices(store, random_graph) -> None:
    graph = random_graph(1)
    views = [PPR(), PPR(alpha=0.3), PPR(top_k=2), PPR(threshold=0.2), PPR(top_k=2, epsilon=1e-4), Heat(), Heat(t=1)]
    for _ in range(2):
        for view in views:
            assert same(store.get(view, graph), view(graph))


def test_cached_arrays_are_read_only(store, random_graph) -> None:
    with pytest.raises(ValueError, match="read-only"):
        store.get(PPR(), random_graph(0))[0, 0] = 7
    with pytest.raises(ValueError, match="read-only"):
        store.get(Adjacency(), random_graph(0)).data[0] = 7


def damage_cut(path):
    path.write_bytes(path.read_bytes()[:100])


def damage_flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def damage_empty(path):
    path.write_bytes(b"")


def damage_foreign(path):
    np.savez(path, key=np.array("something else"), dense=np.zeros((12, 12)))


def damage_missing(path):
    with np.load(path) as stored:
        key = stored["key"]
    np.savez(path, key=key)


def damage_shape(path):
    with np.load(path) as stored:
        key = stored["key"]
    np.savez(path, key=key, dense=np.zeros((3, 3)))


def damage_structure(path):
    with np.load(path) as stored:
        key = stored["key"]
    np.savez(path, key=key, data=np.ones(1), indices=np.array([99]), indptr=np.array([0] * 12 + [1]))


def damage_values(path):
    change(path, lambda arrays: arrays["dense"].__setitem__((0, 0), 0.123))


def damage_type(path):
    change(path, lambda arrays: arrays.update(dense=arrays["dense"].astype(np.float32)))


def damage_object(path):
    change(path, lambda arrays: arrays.update(dense=arrays["dense"].astype(object)))


def damage_nan(path):
    change(path, lambda arrays: arrays["dense"].fill(np.nan), checksum=True)


def damage_text(path):
    change(path, lambda arrays: arrays.update(dense=arrays["dense"].astype(str)), checksum=True)


def damage_more_arrays(path):
    change(path, lambda arrays: arrays.update(more=np.zeros(3)), checksum=True)


def damage_checksum(path):
    change(path, lambda arrays: arrays.update(checksum=np.zeros(32, np.uint8)))


def damage_no_checksum(path):
    change(path, lambda arrays: arrays.pop("checksum"))


def damage_declared(path):
    """The file says that its array has 10¹⁰ entries."""
    with np.load(path) as stored:
        key, checksum = stored["key"], stored["checksum"]
    np.savez(path, key=key, checksum=checksum)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 100000), }"
    header = header.ljust(117) + b"\n"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("dense.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(80))


def damage_brackets(path):
    header = b"(" * 9000 + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("key", "checksum", "dense"):
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


def change(path, edit, *, checksum=False):
    """Rewrite a file with other arrays; with a matching checksum, as an attacker would."""
    with np.load(path) as stored:
        arrays = dict(stored)
    edit(arrays)
    if checksum:
        held = {name: array for name, array in arrays.items() if name not in ("key", "checksum")}
        arrays["checksum"] = np.frombuffer(cache._checksum(str(arrays["key"]), held), np.uint8)
    np.savez(path, **arrays)


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


DAMAGES = [value for name, value in list(globals().items()) if name.startswith("damage_")]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_recomputed_and_replaced(damage, tmp_path, computed, random_graph, caplog) -> None:
    graph, store = random_graph(2), ViewCache(tmp_path)
    expected = np.array(store.get(PPR(), graph))
    damage(store.path(PPR(), graph))
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(store.get(PPR(), graph), expected)
    assert "recomputing it" in caplog.text
    assert len(computed) == 2
    np.testing.assert_array_equal(store.get(PPR(), graph), expected)
    assert len(computed) == 2


VALUES = {
    "another value": lambda arrays: arrays["data"].__setitem__(0, 0.123),
    "swapped values": lambda arrays: arrays.update(data=arrays["data"][::-1].copy()),
}
STRUCTURE = {
    "a column out of range": lambda arrays: arrays["indices"].__setitem__(0, 99),
    "negative columns": lambda arrays: arrays.update(indices=-arrays["indices"] - 1),
    "columns that are floats": lambda arrays: arrays.update(indices=arrays["indices"].astype(float)),
    "too few entries": lambda arrays: arrays.update(data=arrays["data"][:-1], indices=arrays["indices"][:-1]),
    "more entries than n²": lambda arrays: arrays.update(data=np.ones(1000), indices=np.zeros(1000, int)),
    "too few rows": lambda arrays: arrays.update(indptr=arrays["indptr"][:-1]),
    "rows beyond the end": lambda arrays: arrays.update(indptr=arrays["indptr"] * 10**6),
    "values that are not finite": lambda arrays: arrays.update(data=arrays["data"] * np.inf),
    "values in a table": lambda arrays: arrays.update(data=arrays["data"][:, None]),
}


@pytest.mark.parametrize(
    ("what", "checksum"),
    [*((one, False) for one in VALUES), *((one, sure) for one in STRUCTURE for sure in (False, True))],
)
def test_a_rewritten_sparse_file_is_recomputed(what, checksum, tmp_path, computed, random_graph, caplog) -> None:
    graph, store, view = random_graph(2), ViewCache(tmp_path), PPR(top_k=3)
    expected = store.get(view, graph)
    change(store.path(view, graph), (VALUES | STRUCTURE)[what], checksum=checksum)
    with caplog.at_level(logging.WARNING):
        assert same(store.get(view, graph), expected)
    assert "recomputing it" in caplog.text
    assert len(computed) == 2


@pytest.mark.parametrize("place", ["file", "below a file", "loop", "nul"])
def test_a_cache_that_cannot_be_used_is_done_without(place, tmp_path, random_graph, caplog) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    folder = {"file": tmp_path / "file", "below a file": tmp_path / "file" / "views", "loop": tmp_path / "loop"}
    store, graph = ViewCache(folder.get(place, Path("/dev/null"))), random_graph(2)
    with caplog.at_level(logging.WARNING):
        for view in (PPR(), Heat(), PPR()):
            assert same(store.get(view, graph), view(graph))
    assert len(caplog.records) == 1
    assert "computing views without it" in caplog.text
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("kind", [PermissionError, OSError, NotImplementedError])
def test_without_a_lock_the_view_is_computed(kind, tmp_path, random_graph, monkeypatch, caplog) -> None:
    import filelock

    def refuse(*_, **__):
        raise kind("no locks here")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    store, graph = ViewCache(tmp_path), random_graph(2)
    with caplog.at_level(logging.WARNING):
        assert same(store.get(PPR(), graph), PPR()(graph))
        store.get(Heat(), graph)
    assert len(caplog.records) == 1
    assert "no locks here" in caplog.text


READ_ONLY = """
import logging, os, sys
import filelock
from mvgrl.graphs import Graph
from mvgrl.views import PPR, Heat, ViewCache
graph = Graph.from_edges([0, 1, 2], [1, 2, 3])
# Others may not be allowed to import what these need.
ViewCache(sys.argv[1]).get(PPR(), graph), PPR()(graph), Heat()(graph)
if os.geteuid() == 0:  # permissions do not apply to root
    os.setgid(65534)
    os.setuid(65534)
logging.basicConfig(format="%(message)s", level=logging.DEBUG)
store = ViewCache(sys.argv[1])
for view in (PPR(), Heat(), Heat(t=2)):
    assert (store.get(view, graph) == view(graph)).all()
"""


def test_a_read_only_folder_is_read_and_not_written() -> None:
    with tempfile.TemporaryDirectory() as made:  # others may not enter the folders of pytest
        folder = Path(made, "views")
        ViewCache(folder).get(PPR(), Graph.from_edges([0, 1, 2], [1, 2, 3]))
        Path(made).chmod(0o755)
        folder.chmod(0o555)
        command = [sys.executable, "-c", READ_ONLY, str(folder)]
        notes = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        folder.chmod(0o755)
        assert notes.count("read a view from") == 1
        assert notes.count("computing views without it") == 1
        assert len(list(folder.iterdir())) == 1


def test_a_pipe_in_the_folder_does_not_block(tmp_path, random_graph, caplog) -> None:
    store, graph = ViewCache(tmp_path), random_graph(2)
    os.mkfifo(store.path(PPR(), graph))
    with caplog.at_level(logging.WARNING):
        assert same(store.get(PPR(), graph), PPR()(graph))
    assert "is not a file" in caplog.text


def test_nothing_is_ever_unpickled(tmp_path, random_graph) -> None:
    graph, store = random_graph(2), ViewCache(tmp_path)
    store.get(PPR(), graph)
    trace = tmp_path / "trace"
    with np.load(store.path(PPR(), graph)) as stored:
        key = stored["key"]
    np.savez(store.path(PPR(), graph), key=key, dense=np.array([Trap(trace)], dtype=object))
    np.testing.assert_array_equal(store.get(PPR(), graph), PPR()(graph))
    assert not trace.exists()


def test_a_file_renamed_to_another_graphs_name_is_ignored(tmp_path, random_graph) -> None:
    store, one, other = ViewCache(tmp_path), random_graph(3), random_graph(4)
    store.get(PPR(), one)
    store.path(PPR(), one).rename(store.path(PPR(), other))
    np.testing.assert_array_equal(store.get(PPR(), other), PPR()(other))


def test_files_hold_plain_arrays_and_no_other_files_remain(tmp_path, random_graph) -> None:
    store, graph = ViewCache(tmp_path), random_graph(5)
    for view in (PPR(), PPR(top_k=2)):
        store.get(view, graph)
        with np.load(store.path(view, graph), allow_pickle=False) as stored:
            assert all(stored[name].dtype != object for name in stored.files)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".npz", ".npz"]


def test_a_failed_write_leaves_no_file_and_gives_one_warning(tmp_path, random_graph, monkeypatch, caplog) -> None:
    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(cache.np, "savez", fail)
    store, graph = ViewCache(tmp_path), random_graph(6)
    with caplog.at_level(logging.WARNING):
        for view in (PPR(), Heat()):
            assert same(store.get(view, graph), view(graph))
    assert list(tmp_path.iterdir()) == []
    assert len(caplog.records) == 1
    assert "cannot be written: disk full" in caplog.text
    assert "computing views without it" in caplog.text


def test_files_of_another_format_version_are_ignored(tmp_path, computed, random_graph, monkeypatch) -> None:
    store, graph = ViewCache(tmp_path), random_graph(7)
    store.get(PPR(), graph)
    monkeypatch.setattr(cache, "FORMAT", cache.FORMAT + 1)
    store.get(PPR(), graph)
    assert len(computed) == 2


def test_memory_is_bounded_and_evicts_the_least_recently_used(computed, random_graph) -> None:
    graphs = [random_graph(i, nodes=10) for i in range(3)]
    store = ViewCache(memory=2 * 10 * 10 * 8)
    store.get(PPR(), graphs[0])
    store.get(PPR(), graphs[1])
    store.get(PPR(), graphs[0])
    store.get(PPR(), graphs[2])  # evicts graph 1
    assert len(computed) == 3
    store.get(PPR(), graphs[0])
    assert len(computed) == 3
    store.get(PPR(), graphs[1])
    assert len(computed) == 4


def test_a_folder_with_memory_reads_each_file_once(tmp_path, computed, random_graph) -> None:
    graph, store = random_graph(2), ViewCache(tmp_path, memory=2**20)
    first = store.get(PPR(), graph)
    store.path(PPR(), graph).unlink()
    assert store.get(PPR(), graph) is first
    assert len(computed) == 1
    assert not first.flags.writeable
    assert ViewCache(tmp_path).get(PPR(), graph) is not first


def test_a_second_reader_waits_for_a_view_that_is_being_computed(tmp_path, random_graph) -> None:
    graph, started, proceed, calls = random_graph(2), threading.Event(), threading.Event(), []

    @dataclass(frozen=True)
    class Slow(View):
        name: ClassVar[str] = "slow"

        def __call__(self, graph):
            calls.append(graph)
            started.set()
            assert proceed.wait(30)
            return np.eye(graph.nodes)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ViewCache(tmp_path).get, Slow(), graph)
        assert started.wait(30)
        second = pool.submit(ViewCache(tmp_path).get, Slow(), graph)
        with pytest.raises(TimeoutError):
            second.result(timeout=0.2)  # it is not computed yet
        proceed.set()
        assert same(first.result(30), second.result(30))
    assert len(calls) == 1
    assert [file.suffix for file in tmp_path.iterdir()] == [".npz"]


def test_a_killed_process_does_not_block_the_others(tmp_path, random_graph) -> None:
    store, graph = ViewCache(tmp_path), random_graph(2)
    path = store.path(PPR(), graph)
    hold = (
        "import filelock, sys\n"
        "with filelock.FileLock(sys.argv[1]):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(path.with_name(f".{path.stem}.mvgrl-lock"))]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder,
        ThreadPoolExecutor(1) as pool,
    ):
        try:
            assert holder.stdout.readline() == "held\n"
            waiting = pool.submit(store.get, PPR(), graph)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.2)
        finally:
            holder.kill()
        assert same(waiting.result(30), PPR()(graph))
    assert list(tmp_path.iterdir()) == [path]

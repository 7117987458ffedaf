"""Shared by the tests of the command line: a temporary folder, sample graphs, and running a command line."""

from __future__ import annotations

import json
import os
import pty
import shlex
import socket
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (so that its threads are limited too)
from threadpoolctl import threadpool_limits

from mvgrl.cli import main

SMALL = "--hidden 4 --epochs 3 --device cpu"


@dataclass(frozen=True)
class Outcome:
    """The exit code and output of a command line."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        (line,) = self.out.splitlines()
        return json.loads(line)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Use one thread: on small matrices and a busy machine, more threads are slower."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder, isolated from the user: no data folder, no cache, no colours."""
    for variable in ("MVGRL_DATA", "NO_COLOR", "FORCE_COLOR", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    home = tmp_path / "here"
    home.mkdir()
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def in_a_terminal():
    """Run Python code in a process whose output is a terminal; return what it prints there."""

    def run_(code):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
        process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=theirs, env=environment)
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 2**16):
                seen += chunk
        except OSError:  # Linux raises this when the other end is closed
            pass
        os.close(ours)
        assert process.wait() == 0, seen.decode()
        return seen.decode()

    return run_


@pytest.fixture
def run(capsys):
    """Run a command line in this process; it must return the given exit code."""

    def run_(line, code=0):
        capsys.readouterr()
        outcome = Outcome(main(shlex.split(line)), *capsys.readouterr())
        assert outcome.code == code, outcome
        return outcome

    return run_


@pytest.fixture
def refused(run, folder):
    """Run a command line that must be rejected: one line on stderr with all of the words, and no file changed."""

    def refused_(line, *words, code=2):
        before = contents(folder.parent)
        outcome = run(line, code)
        assert outcome.out == ""
        assert outcome.err.startswith("mvgrl: "), outcome.err
        assert outcome.err.count("\n") == 1, outcome.err
        assert outcome.err.endswith("\n")
        for word in words:
            assert str(word) in outcome.err, outcome.err
        assert contents(folder.parent) == before
        return outcome.err

    return refused_


def contents(folder: Path):
    """The content of every file below a folder, including hidden ones; None for folders. Caches are ignored."""
    paths = [
        path for path in folder.rglob("*") if not {"cache", "matplotlib"} <= {*path.parts} and path.name != "cache"
    ]
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


@pytest.fixture
def graph(folder):
    """Two rings of six with a bridge, in edges.csv; two features and a topic per node, in nodes.csv."""
    edges = [(f"n{6 * ring + i}", f"n{6 * ring + (i + 1) % 6}") for ring in range(2) for i in range(6)]
    rows = [f"{source},{target}" for source, target in [*edges, ("n0", "n6")]]
    Path("edges.csv").write_text("\n".join(["source,target", *rows]) + "\n")
    rows = [f"n{i},{i % 3},{i / 7},{'cats' if i < 6 else 'dogs'}" for i in range(12)]
    Path("nodes.csv").write_text("\n".join(["id,x,y,topic", *rows]) + "\n")
    return "edges.csv --nodes nodes.csv --label-column topic"


@pytest.fixture
def many_graphs(folder):
    """Six rings of three to eight nodes, in rings.csv."""
    rows = [f"{i},{(i + 1) % size},ring{size}" for size in range(3, 9) for i in range(size)]
    Path("rings.csv").write_text("\n".join(["source,target,graph", *rows]) + "\n")
    return "rings.csv"


@pytest.fixture
def small():
    """Flags for a very short training."""
    return SMALL


@pytest.fixture
def no_network(monkeypatch):
    """Let the URL of every dataset point to a local port without a server."""
    from mvgrl.datasets import DATASETS

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for name, info in [(name, info) for name, info in DATASETS.items() if info.url is not None]:
        monkeypatch.setitem(DATASETS, name, replace(info, url=f"http://127.0.0.1:{port}/{name}"))


@pytest.fixture
def cora(folder):
    """A stand-in for Cora in LINQS format: 1,500 papers with words and citations that depend on their topics."""
    from mvgrl.datasets.sources.linqs import CORA_CLASSES as TOPICS

    place = folder.parent / "data" / "linqs-cora"
    place.mkdir(parents=True)
    rng = np.random.default_rng(0)
    words = rng.random((1500, 24)) < 0.1
    words[np.arange(1500), np.arange(1500) % 7] |= rng.random(1500) < 0.4  # a word that is typical of the topic
    papers = [
        "\t".join([str(1000 + paper), *map(str, row), TOPICS[paper % 7]]) for paper, row in enumerate(words.astype(int))
    ]
    cited = rng.integers(0, 1500, 3000)
    citing = (cited + np.where(rng.random(3000) < 0.7, 7, 1) * rng.integers(1, 20, 3000)) % 1500
    cites = [f"{1000 + one}\t{1000 + other}" for one, other in zip(cited, citing, strict=True)]
    (place / "cora.content").write_text("\n".join(papers) + "\n")
    (place / "cora.cites").write_text("\n".join(cites) + "\n")
    return place.parent

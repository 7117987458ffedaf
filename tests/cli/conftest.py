"""What the tests of the shell share: a folder of their own to run in, and a run's exit code, words and result."""

from __future__ import annotations

import json
import logging
import shlex
import socket
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (its library is to be limited too)
from threadpoolctl import threadpool_limits

from mvgrl.cli import main

SMALL = "--hidden 4 --epochs 3 --device cpu"


@dataclass(frozen=True)
class Outcome:
    """What a run left behind, apart from its files."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        (line,) = self.out.splitlines()
        return json.loads(line)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """On a busy machine, threads that solve an exact view together mostly wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to run in, with nothing of this machine's user: no data folder, no cache, no colours."""
    for variable in ("MVGRL_DATA", "NO_COLOR", "FORCE_COLOR", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    home = tmp_path / "here"
    home.mkdir()
    monkeypatch.chdir(home)
    return home


@pytest.fixture(autouse=True)
def _logging_as_before():
    """A verb sets up the logging of its process, which here has other tests to run."""
    loggers = [logging.getLogger(name) for name in ("mvgrl", "mvgrl.graphs.graph")]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    yield
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture
def run(capsys):
    """A command line, run in this process; it has to end with the exit code given."""

    def run_(line, code=0):
        capsys.readouterr()
        outcome = Outcome(main(shlex.split(line)), *capsys.readouterr())
        assert outcome.code == code, outcome
        return outcome

    return run_


@pytest.fixture
def refused(run, folder):
    """The one line of a refusal, with all of the words in it; no file has come, gone or changed."""

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
    """Every file below a folder, hidden ones too, with its bytes; folders have none. Matplotlib keeps its own cache."""
    paths = [
        path for path in folder.rglob("*") if not {"cache", "matplotlib"} <= {*path.parts} and path.name != "cache"
    ]
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


@pytest.fixture
def graph(folder):
    """Two rings of six with a bridge, in edges.csv; two features and a topic a node, in nodes.csv."""
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
    """Flags for a training that takes no time."""
    return SMALL


@pytest.fixture
def no_network(monkeypatch):
    """Every address of a dataset leads to a port of this machine at which nobody listens."""
    from mvgrl.datasets import DATASETS

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for name, info in DATASETS.items():
        monkeypatch.setitem(DATASETS, name, replace(info, url=f"http://127.0.0.1:{port}/{name}"))


@pytest.fixture
def cora(folder):
    """A stand-in for Cora in LINQS format: 1,500 papers whose words and citations hint at their topics."""
    from mvgrl.datasets.sources.linqs import CORA_CLASSES as TOPICS

    place = folder.parent / "data" / "linqs-cora"
    place.mkdir(parents=True)
    rng = np.random.default_rng(0)
    words = rng.random((1500, 24)) < 0.1
    words[np.arange(1500), np.arange(1500) % 7] |= rng.random(1500) < 0.4  # a word that is of the topic
    papers = [
        "\t".join([str(1000 + paper), *map(str, row), TOPICS[paper % 7]]) for paper, row in enumerate(words.astype(int))
    ]
    cited = rng.integers(0, 1500, 3000)
    citing = (cited + np.where(rng.random(3000) < 0.7, 7, 1) * rng.integers(1, 20, 3000)) % 1500
    cites = [f"{1000 + one}\t{1000 + other}" for one, other in zip(cited, citing, strict=True)]
    (place / "cora.content").write_text("\n".join(papers) + "\n")
    (place / "cora.cites").write_text("\n".join(cites) + "\n")
    return place.parent

"""Shared by all tests: benchmark files and small ones like them, one thread, and common fixtures."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from pathlib import Path

# One folder of compiled code for all processes that the tests start, those of a cluster too; read by numba's import.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent / "__pycache__" / "numba"))
# On matrices this small, more threads are slower, especially beside other tests; read when the libraries are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numba
import numpy as np
import pytest
import torch
from hypothesis import settings

from mvgrl.errors import InputError

# Both calls are needed: the OpenMP layer of numba sets the number of threads of torch in every parallel loop.
torch.set_num_threads(1)
numba.set_num_threads(1)

# No deadlines: the machines may be busy, and the first call of a kernel compiles it.
settings.register_profile("mvgrl", deadline=None)
settings.load_profile("mvgrl")

# One process starts with these, and the others take over what it does not reach: so there is one Ray cluster, and its
# tests wait while the others compute.
FIRST = ("tests/cluster/",)

TOPICS = ("Theory", "Reinforcement_Learning", "Genetic_Algorithms")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests that wait for other processes; keep the order otherwise."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


@pytest.fixture(autouse=True)
def _logging_as_before():
    """Restore the logging configuration, which every verb changes for its process."""
    loggers = [logging.getLogger(name) for name in ("mvgrl", "mvgrl.graphs.graph")]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    yield
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the raw benchmark files, which is read-only."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    named = os.environ.get("MVGRL_DATA")
    for folder in (beside, Path(named) if named else None):
        if folder is not None and folder.is_dir():
            return folder
    pytest.skip("no benchmark files: set MVGRL_DATA to a folder with planetoid/, tu/ and linqs-cora/")


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small data in the formats of Cora and MUTAG: 1,600 papers of six words, 40 rings and stars."""
    root = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    cora = root / "linqs-cora"
    cora.mkdir(parents=True)
    subjects = rng.integers(3, size=1600)
    words = (np.arange(6) // 2 == subjects[:, None]) ^ (rng.random((1600, 6)) < 0.2)
    lines = (f"{i}\t" + "\t".join(map(str, words[i].astype(int))) + f"\t{TOPICS[subjects[i]]}" for i in range(1600))
    (cora / "cora.content").write_text("\n".join(lines) + "\n")
    (cora / "cora.cites").write_text("".join(f"{i}\t{(i + 3) % 1600}\n" for i in range(1600)))
    mutag = root / "tu" / "MUTAG" / "raw"
    mutag.mkdir(parents=True)
    sizes = rng.integers(4, 9, size=40)
    starts = np.cumsum(sizes) - sizes + 1
    edges = [
        (start + i, start + (i + 1) % size if graph % 2 else start)
        for graph, (start, size) in enumerate(zip(starts, sizes, strict=True))
        for i in range(size)
        if graph % 2 or i
    ]
    for name, rows in {
        "A": [f"{a}, {b}\n{b}, {a}" for a, b in edges],
        "graph_indicator": np.repeat(np.arange(1, 41), sizes),
        "graph_labels": np.arange(40) % 2,
        "node_labels": np.arange(sizes.sum()) % 3,
    }.items():
        (mutag / f"MUTAG_{name}.txt").write_text("\n".join(map(str, rows)) + "\n")
    return root


@pytest.fixture
def files_up_to():
    """A context manager that limits the size of files in bytes, like a full disk."""
    resource = pytest.importorskip("resource", reason="file size limits are not supported on this platform")

    @contextmanager
    def limited(size: int):
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)

    return limited


@pytest.fixture
def input_error():
    """Call a function that must raise an InputError: one line, with all the words and no chained exception."""

    def input_error_(call, *words) -> str:
        with pytest.raises(InputError) as caught:
            call()
        message = str(caught.value)
        assert all(str(word) in message for word in words), message
        assert "\n" not in message
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        return message

    return input_error_

"""Shared by all tests: the folder of benchmark files, one thread, and common fixtures."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from pathlib import Path

# One folder of compiled code for all processes that the tests start, those of a cluster too; read by numba's import.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent / "__pycache__" / "numba"))

import numba
import pytest
import torch
from hypothesis import settings

from mvgrl.errors import InputError

# On matrices this small, more threads are slower, especially on a busy machine. Both calls are needed: the OpenMP layer
# of numba sets the number of threads of torch in every parallel loop.
torch.set_num_threads(1)
numba.set_num_threads(1)

# No deadlines: the machines may be busy, and the first call of a kernel compiles it.
settings.register_profile("mvgrl", deadline=None)
settings.load_profile("mvgrl")


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

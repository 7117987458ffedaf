"""Standard streams that are closed or cannot be written to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


@contextmanager
def safe_streams() -> Iterator[None]:
    """Let messages that cannot be written to stderr be lost, instead of stopping the work they are about."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: without this, the next file that is opened would receive what libraries print
            os.open(os.devnull, os.O_RDWR)
    before = sys.stderr
    sys.stderr = BestEffort(before)
    try:
        yield
    finally:
        sys.stderr = before


def discard(stream: TextIO | None) -> None:
    """Send the rest of a stream to nowhere, so that Python does not fail to flush it when it exits."""
    with suppress(OSError, ValueError, AttributeError):  # None, closed, or without a file descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        os.close(nowhere)


class BestEffort:
    """A text stream that discards what it cannot write."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text if possible."""
        try:
            return 0 if self._stream is None else self._stream.write(text)
        except OSError:
            discard(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush the stream if possible."""
        try:
            if self._stream is not None:
                self._stream.flush()
        except OSError:
            discard(self._stream)

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

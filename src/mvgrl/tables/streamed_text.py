"""Text files of any size as a stream: decompressed and with single spaces while they are read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from mvgrl.tables.paths import COMPRESSIONS
from mvgrl.tables.text import Text, arrow_source, single_spaces

_CHUNK = 2**22


@dataclass(frozen=True)
class StreamedText(Text):
    """A text file that is never in memory as a whole."""

    spaces: bool = False  # whether runs of spaces are to become single spaces

    @property
    def codec(self) -> str | None:
        """How the file is compressed."""
        return None if self.path is None else COMPRESSIONS.get(self.path.suffix.lower())

    def open(self) -> BinaryIO:
        """Open the content as bytes."""
        assert self.path is not None
        plain: BinaryIO = self.path.open("rb")
        if self.codec is not None:
            plain = cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(plain, mode="r"), self.codec))
        return cast(BinaryIO, io.BufferedReader(_Chunks(_even_lines(plain)), _CHUNK)) if self.spaces else plain

    def arrow(self) -> Any:
        """Return the content as Arrow reads it."""
        assert self.path is not None
        if self.spaces:
            return pa.PythonFile(self.open(), mode="r")
        source = arrow_source(self.path)
        return source if self.codec is None else pa.CompressedInputStream(_native(source), self.codec)

    def with_single_spaces(self) -> StreamedText:
        """Return the text with a single space for each run of spaces and tabs, and with none at the ends of lines."""
        return StreamedText(self.name, self.path, spaces=True)


def stream_text(path: Path) -> StreamedText:
    """Return the text of a file, plain or compressed."""
    return StreamedText(str(path), path)


def _native(source: Any) -> Any:
    return pa.OSFile(str(source)) if isinstance(source, Path) else source


def _even_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content in pieces that end with a line, with single spaces."""
    rest = b""
    with file:
        while chunk := file.read(_CHUNK):
            end = (rest + chunk).rfind(b"\n") + 1
            whole, rest = (rest + chunk)[:end], (rest + chunk)[end:]
            if whole:
                yield single_spaces(whole)
        if rest:
            yield single_spaces(rest)


class _Chunks(io.RawIOBase):
    """The bytes of an iterator as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            found = next(self._chunks, None)
            if found is None:
                return 0
            self._rest = found
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

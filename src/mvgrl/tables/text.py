"""The bytes of a text file: plain, compressed, or from standard input."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import pyarrow as pa

from mvgrl.errors import InputError, shown
from mvgrl.runtime import machine_memory
from mvgrl.tables.budget import as_size, check_unpacked_size
from mvgrl.tables.paths import COMPRESSIONS

_CHUNK = 2**24
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class Text:
    """A text file that can be read several times; ``data`` is its content where that is not simply the file's."""

    name: str
    path: Path | None = None
    data: bytes | None = None

    def open(self) -> BinaryIO:
        """Open the content as bytes."""
        if self.data is not None:
            return io.BytesIO(self.data)
        assert self.path is not None
        return self.path.open("rb")

    def decoded(self, errors: str = "strict") -> TextIO:
        """Open the content as text, without a byte order mark and with line ends as they are."""
        return io.TextIOWrapper(self.open(), encoding="utf-8-sig", errors=errors, newline="")

    def arrow(self) -> Any:
        """Return the content as Arrow reads it."""
        if self.data is not None:
            return pa.BufferReader(self.data)
        assert self.path is not None
        return arrow_source(self.path)

    def with_single_spaces(self) -> Text:
        """Return the text with a single space for each run of spaces and tabs, and with none at the ends of lines.

        >>> Text("", data=b"  1   2 \\n3\\t4\\n").with_single_spaces().data
        b'1 2\\n3 4\\n'
        """
        with self.open() as file:
            data = file.read()
        return Text(self.name, self.path, single_spaces(data))


def single_spaces(data: bytes) -> bytes:
    """Replace runs of spaces and tabs in entire lines by single spaces, except within quotes."""
    if b'"' in data:
        data = re.sub(rb'"[^"\r\n]*"|[ \t]+', lambda found: found[0] if found[0][:1] == b'"' else b" ", data)
    else:  # many times faster
        data = data.replace(b"\t", b" ")
        while b"  " in data:
            data = data.replace(b"  ", b" ")
    for end in (b"\n", b"\r"):
        data = data.replace(b" " + end, end).replace(end + b" ", end)
    return data.strip(b" ")


def arrow_source(path: Path) -> Any:
    """Return what Arrow can read: the path, or an open file if the name is not valid UTF-8.

    >>> arrow_source(Path("edges.csv")).name
    'edges.csv'
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return pa.PythonFile(path.open("rb"), mode="r")
    return path


def open_text(path: Path) -> Text:
    """Return the text of a file; one with an extension such as .gz is decompressed, within the budget of its size."""
    codec = COMPRESSIONS.get(path.suffix.lower())
    if codec is None:
        return Text(str(path), path)
    with path.open("rb") as file:
        chunks, size = [], 0
        for chunk in _decompressed(file, codec, str(path)):
            size += len(chunk)
            check_unpacked_size(path, size)
            chunks.append(chunk)
    return Text(str(path), path, _not_empty(b"".join(chunks), str(path)))


def standard_input() -> Text:
    """Read standard input to its end; compressed text is recognised by its first bytes."""
    name, limit = "standard input", machine_memory() // 4
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(limit + 1)
    codec = next((codec for magic, codec in _MAGIC.items() if data.startswith(magic)), None)
    if codec is not None:
        chunks, size = [], 0
        for chunk in _decompressed(io.BytesIO(data), codec, name):
            chunks.append(chunk)
            if (size := size + len(chunk)) > limit:
                break
        data = b"".join(chunks)
    if len(data) > limit:
        raise InputError(f"{name} has more than {as_size(limit)}; save it to a file, or use another machine")
    return Text(name, data=_not_empty(data, name))


def _not_empty(data: bytes, name: str) -> bytes:
    if not data:
        raise InputError(f"{name} is empty; write it again")
    return data


def _decompressed(file: BinaryIO, codec: str, name: str) -> Iterator[bytes]:
    try:
        with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), codec) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except (pa.ArrowException, OSError, EOFError) as error:
        raise not_compressed(name, codec, error) from None


def not_compressed(name: str, codec: str, error: Exception) -> InputError:
    """Return the error for a compressed file that cannot be read."""
    reason = shown(str(error).partition("\n")[0])[1:-1]
    return InputError(f"{name} is not a {codec} file, or is truncated or damaged ({reason}); write it again")

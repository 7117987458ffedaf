"""How much memory a Parquet file takes, from its metadata and page headers alone.

A run of a billion equal values takes a few bytes in a file. Arrow reads these numbers too, but ends the process on some
damaged metadata, and it does not tell the size of a dictionary page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_WIDTHS = (1, 4, 8, 8, 4, 8, 4, 4)  # bytes per value: boolean, int32, int64, int96, float, double, text, fixed length
_TEXT, _FIXED = 6, 7
_STRUCT, _LIST, _SET, _MAP = 12, 9, 10, 11
_DEEPEST = 32
# The fields to read, by their numbers in parquet.thrift.
_COLUMN = dict.fromkeys((1, 3, 5, 7, 9, 11))  # type, path, values, compressed size, first data page, dictionary page
_FILE = {3: None, 4: {1: {3: _COLUMN}, 3: None}}  # rows; row groups: column chunks, rows
_PAGE = {2: None, 3: None, 5: {1: None}, 7: {}, 8: {1: None}}  # sizes; data page: values; dictionary page; data page v2


@dataclass
class Sizes:
    """The memory for all values except repeated texts, and a limit for the length of a text that may be repeated."""

    total: int = 0
    longest: int = 0


def declared_sizes(path: Path) -> Sizes:
    """Return the sizes that a Parquet file declares; raise ``ValueError`` if its metadata is damaged."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - 8))
        tail = file.read()
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != b"PAR1" or length > end - 12:
            raise ValueError("there is no footer at its end, it may be truncated")
        file.seek(end - 8 - length)
        metadata = _Thrift(file.read(length)).struct(_FILE)
        sizes = Sizes(8 * max(0, _number(metadata, 3)))
        for group in metadata.get(4, ()):
            rows = _number(group, 3)
            for chunk in group.get(1, ()):
                _add_column(file, chunk.get(3, {}), rows, sizes)
    return sizes


def _add_column(file: BinaryIO, column: dict[int, Any], rows: int, sizes: Sizes) -> None:
    kind = _number(column, 1)
    if not 0 <= kind < len(_WIDTHS):
        raise ValueError("a column has an unknown type")
    values = max(rows, _number(column, 5))
    if kind in (_TEXT, _FIXED) or len(column.get(3, ())) > 1:  # text or lists
        in_pages = 0
        for page in _pages(file, column):
            in_pages += max(_number(page.get(5, {}), 1), _number(page.get(8, {}), 1))
            sizes.total += _number(page, 2)
            if 7 in page:
                sizes.longest = max(sizes.longest, _number(page, 2))
        values = max(values, in_pages)
    sizes.total += values * _WIDTHS[kind]


def _pages(file: BinaryIO, column: dict[int, Any]) -> Iterator[dict[int, Any]]:
    """Yield the headers of the pages of a column."""
    place = _number(column, 9)
    if 0 < _number(column, 11) < place:
        place = _number(column, 11)
    end = place + _number(column, 7)
    if place < 0:
        raise ValueError("a column has a negative place")
    while place < end:
        file.seek(place)
        header = _Thrift(file.read(2**13))
        page = header.struct(_PAGE)
        if min(_number(page, 2), _number(page, 3)) < 0:
            raise ValueError("a page has a negative size")
        yield page
        place += header.place + _number(page, 3)


def _number(struct: dict[int, Any], key: int) -> int:
    value = struct.get(key, 0)
    if not isinstance(value, int):
        raise ValueError("a number is missing in its metadata")
    return value


class _Thrift:
    """Reads the fields that are asked for from a struct in Thrift's compact protocol, and skips all others."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def struct(self, wanted: dict[int, Any] | None, depth: int = 0) -> dict[int, Any]:
        """Read a struct; ``wanted`` has the numbers of its fields, with those of a nested struct."""
        found: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._zigzag()
            kind = header & 15
            inner = wanted.get(number) if wanted is not None else None
            value = kind == 1 if kind in (1, 2) else self._value(kind, inner, depth)
            if wanted is not None and number in wanted:
                found[number] = value
        return found

    def _value(self, kind: int, wanted: dict[int, Any] | None, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("its metadata is nested too deeply")
        if kind in (1, 2, 3):  # in a list, a boolean takes a byte
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(wanted, depth + 1)
        if kind in (_LIST, _SET):
            header = self._byte()
            count = header >> 4 if header >> 4 < 15 else self._varint()
            return [self._value(header & 15, wanted, depth + 1) for _ in range(self._checked(count))]
        if kind == _MAP:
            kinds = self._byte() if (count := self._checked(self._varint())) else 0
            for _ in range(count):
                self._value(kinds >> 4, None, depth + 1)
                self._value(kinds & 15, None, depth + 1)
            return None
        if kind not in (7, 8):
            raise ValueError("its metadata has an unknown type")
        length = self._checked(8 if kind == 7 else self._varint())  # of a double, or of bytes
        self.place += length
        return None

    def _checked(self, count: int) -> int:
        if count > len(self.data) - self.place:  # every item takes at least a byte
            raise ValueError("its metadata is truncated")
        return count

    def _byte(self) -> int:
        if self.place >= len(self.data):
            raise ValueError("its metadata is truncated")
        self.place += 1
        return self.data[self.place - 1]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("its metadata has a number beyond 64 bits")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

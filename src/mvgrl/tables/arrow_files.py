"""Read Feather and Arrow IPC files; what they would unpack to is checked before it is unpacked."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError, shown
from mvgrl.tables.budget import check_unpacked_size

_MAGIC = b"ARROW1\0\0"  # of a file; a stream has none
_DICTIONARY, _RECORDS = 2, 3  # kinds of messages
_ROW = 8  # bytes to assume per value: a column of nulls or of runs has no buffer of its length


def read_arrow(path: Path) -> Any:
    """Read a Feather file, or an Arrow file or stream."""
    with path.open("rb") as file:
        data = file.read()
    try:
        if data.startswith(b"FEA1"):
            raise ValueError("it has version 1 of the format, which is not supported")
        stream = pa.py_buffer(data)
        if data.startswith(_MAGIC):  # a file is a stream with a footer, which could refer to other messages than it has
            if not data.endswith(_MAGIC.rstrip(b"\0")):
                raise ValueError("there is no footer at its end, it may be truncated")
            stream = stream.slice(len(_MAGIC))
        check_unpacked_size(path, _declared_size(stream))
        with pa.ipc.open_stream(stream) as reader:
            table = reader.read_all()
        table.validate(full=True)  # before anything is decoded: files may contain anything
        check_unpacked_size(path, sum(_decoded_size(column) for column in table.columns))
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        reason = shown(str(error).strip().partition("\n")[0])[1:-1]
        raise InputError(
            f"{path} is not a Feather or Arrow file, or is truncated or damaged ({reason}); write it again"
        ) from None
    return table


def _declared_size(stream: Any) -> int:
    """Return the bytes that the buffers of all messages take when they are decompressed."""
    total = 0
    for message in pa.ipc.MessageReader.open_stream(stream):
        metadata, body = message.metadata.to_pybytes(), message.body
        root = _Table(metadata, struct.unpack_from("<I", metadata)[0])
        kind, header = root.number(1, "<B"), root.table(2)
        if header is None or kind not in (_DICTIONARY, _RECORDS):
            continue
        batch = header.table(1) if kind == _DICTIONARY else header
        if batch is not None:
            total += _batch_size(batch, body)
    return total


def _batch_size(batch: _Table, body: Any) -> int:
    compressed = batch.table(3) is not None
    rows = max([batch.number(0, "<q"), *(length for length, _ in batch.pairs(1))])
    total = _ROW * max(0, rows)
    for place, length in batch.pairs(2):
        size = length
        if compressed and length >= 8 and 0 <= place <= body.size - 8:
            size = max(length - 8, struct.unpack("<q", body.slice(place, 8).to_pybytes())[0])
        total += max(0, size)
    return total


def _decoded_size(column: Any) -> int:
    """Return the bytes of a column after its dictionaries, runs and views are decoded."""
    types, dtype = pa.types, column.type
    if types.is_dictionary(dtype) and (types.is_string(dtype.value_type) or types.is_large_string(dtype.value_type)):
        lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
        return _ROW * len(column) + sum(pc.sum(some.cast(pa.int64())).as_py() or 0 for some in lengths)
    if types.is_string_view(dtype):
        return _ROW * len(column) + sum(len(text or "") for chunk in column.chunks for text in chunk.to_pylist())
    if types.is_run_end_encoded(dtype) and not types.is_primitive(dtype.value_type):
        longest = max((chunk.values.nbytes for chunk in column.chunks), default=0)
        return (_ROW + longest) * len(column)
    return _ROW * len(column)


class _Table:
    """A table of a flatbuffer; a field that is missing is None or 0."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place
        self.fields = place - struct.unpack_from("<i", data, place)[0]

    def _field(self, number: int) -> int | None:
        size = struct.unpack_from("<H", self.data, self.fields)[0]
        if 4 + 2 * number >= size:
            return None
        offset = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * number)[0]
        return self.place + offset if offset else None

    def number(self, number: int, kind: str) -> int:
        field = self._field(number)
        return 0 if field is None else int(struct.unpack_from(kind, self.data, field)[0])

    def _follow(self, number: int) -> int | None:
        field = self._field(number)
        return None if field is None else field + struct.unpack_from("<I", self.data, field)[0]

    def table(self, number: int) -> _Table | None:
        place = self._follow(number)
        return None if place is None else _Table(self.data, place)

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """Return a vector of structs of two 64-bit integers."""
        place = self._follow(number)
        if place is None:
            return []
        count = struct.unpack_from("<I", self.data, place)[0]
        if 16 * count > len(self.data):
            raise ValueError("its metadata is truncated")
        return [struct.unpack_from("<qq", self.data, place + 4 + 16 * i) for i in range(count)]

"""Damage safetensors and Parquet files so that the files themselves stay valid: other types, shapes and names."""

from __future__ import annotations

import datetime
import io
import json
import random
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.attacks.arrays import odd_array
from tests.attacks.documents import change_value, json_text

_TYPES = {"F32": "f4", "F64": "f8", "I64": "i8", "I32": "i4", "U8": "u1", "BOOL": "?", "F16": "f2", "I16": "i2"}


def read_safetensors(data: bytes) -> tuple[dict[str, Any], bytes]:
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def write_safetensors(header: bytes, payload: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + payload


def change_tensors(rng: random.Random, data: bytes) -> bytes:
    """Rewrite one or more tensors consistently: values, type, shape or name; the file itself stays valid."""
    header, payload = read_safetensors(data)
    about = header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(payload[start:end], _TYPES[entry["dtype"]]).reshape(entry["shape"])
    codes = {np.dtype(kind): code for code, kind in _TYPES.items()}
    for _ in range(rng.choice((1, 1, 1, 3))):
        name = rng.choice(list(arrays))
        change = rng.choice(("array", "array", "array", "rename", "drop", "copy"))
        made = odd_array(rng, arrays[name])
        if change == "array" and made.dtype in codes:
            arrays[name] = made
        elif change == "rename":
            arrays[f"{name}{rng.choice(('x', '/x', '/0', '0'))}"] = arrays.pop(name)
        elif change == "drop" and len(arrays) > 1:
            del arrays[name]
        elif change == "copy":
            arrays[rng.choice((*arrays, "optimizer/99/step", "optimizer/x", "best/x", "model/x"))] = arrays[name]
    out, at = b"", {}
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).tobytes()
        entry = dict(
            dtype=codes[array.dtype], shape=list(array.shape), data_offsets=[len(out), len(out) + len(content)]
        )
        at[name], out = entry, out + content
    return write_safetensors(json.dumps({**at, **({"__metadata__": about} if about else {})}).encode(), out)


def change_header(rng: random.Random, data: bytes) -> bytes:
    header, payload = read_safetensors(data)
    return write_safetensors(json_text(rng, change_value(rng, header)), payload)


def change_metadata(rng: random.Random, data: bytes) -> bytes:
    """Change what a checkpoint says about its run."""
    header, payload = read_safetensors(data)
    about = json.loads(header["__metadata__"]["mvgrl"])
    header["__metadata__"]["mvgrl"] = json_text(rng, change_value(rng, about)).decode()
    return write_safetensors(json.dumps(header).encode(), payload)


def odd_column(rng: random.Random, rows: int) -> Any:
    moment = datetime.datetime(2020, 1, 1)
    values: tuple[tuple[Any, Any], ...] = (
        ([1, 2], pa.list_(pa.int64())), ([[1]], pa.list_(pa.list_(pa.int8()))), ({"a": 1}, pa.struct({"a": pa.int8()})),
        (moment, pa.timestamp("ns")), (moment.date(), pa.date32()), (moment.time(), pa.time64("us")),
        (b"\xff", pa.binary()),
        (Decimal("1.5"), pa.decimal128(5, 2)), (None, pa.null()), (2**64 - 1, pa.uint64()), (True, pa.bool_()),
        ([("k", 1)], pa.map_(pa.string(), pa.int8())), (np.float16(1), pa.float16()), (b"abcd", pa.binary(4)),
        (moment - moment, pa.duration("s")), ("x", pa.large_string()), ([1.0, None], pa.list_(pa.float32(), 2)),
        (float("nan"), pa.float64()), (1e39, pa.float64()), (-1, pa.int8()), ("é\0", pa.string()),
        ("A" * 5000, pa.string()),
    )  # fmt: skip
    value, kind = rng.choice(values)
    column = pa.array([value if rng.random() < 0.8 else None for _ in range(rows)], kind)
    simple = pa.types.is_string(kind) or pa.types.is_integer(kind)
    return column.dictionary_encode() if simple and rng.random() < 0.3 else column


def change_table(rng: random.Random, data: bytes) -> bytes:
    table = pq.read_table(io.BytesIO(data))
    names = list(table.column_names)
    one, rows = rng.randrange(len(names)), table.num_rows
    change = rng.choice(("column", "column", "column", "rename", "drop", "empty", "add", "cut", "repeat"))
    if change == "column":
        table = table.set_column(one, names[one], odd_column(rng, rows))
    elif change == "rename":
        names[one] = rng.choice(
            (*names, "", "weight", "graph", "id", "label", "embedding", "__index_level_0__", "a\0", "A" * 900)
        )
        table = table.rename_columns(names)
    elif change == "drop":
        table = table.drop_columns([names[one]])
    elif change == "add":
        name = rng.choice(("graph", "label", "weight", "x9", "id", "split", "class", "embedding"))
        table = table.append_column(name, odd_column(rng, rows))
    elif change == "repeat":
        table = pa.concat_tables([table, table])
    else:
        table = table.slice(0, 0 if change == "empty" else 1)
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()

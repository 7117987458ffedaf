"""Feather and Arrow files: what they hold is read, and what they would unpack to is checked first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

from mvgrl.errors import InputError
from mvgrl.tables import budget
from mvgrl.tables.arrow_files import read_arrow

TABLE = pa.table(
    {
        "source": ["a", "b"],
        "target": pa.array(["b", "c"]).dictionary_encode(),
        "x": [[1.0], [2.0]],
        "weight": [1, None],
    }
)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_files_and_streams_are_read(tmp_path, compression):
    feather.write_feather(TABLE, tmp_path / "t.feather", compression=compression)
    assert read_arrow(tmp_path / "t.feather").equals(TABLE)
    with pa.ipc.new_stream(tmp_path / "t.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
        writer.write_table(TABLE)
    assert read_arrow(tmp_path / "t.arrow").equals(pa.concat_tables([TABLE, TABLE]))


BOMBS = {
    "zeros": pa.array(np.zeros(2**21, np.int64)),
    "nulls": pa.nulls(2**22),
    "a repeated text": pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**4, np.int32)), pa.array(["x" * 2**14])),
    "a run": pa.RunEndEncodedArray.from_arrays(pa.array([2**30], pa.int32()), pa.array([5])),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_small_file_that_would_unpack_to_much_is_not_unpacked(tmp_path, input_error, monkeypatch, kind):
    monkeypatch.setattr(budget, "ALWAYS_ALLOWED", 2**22)
    path = tmp_path / "bomb.arrow"
    table = pa.table({"source": BOMBS[kind]})
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    assert path.stat().st_size < 2**15
    input_error(lambda: read_arrow(path), path, "would unpack from")


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_every_damaged_byte_is_survived(tmp_path, compression):
    path = tmp_path / "t.feather"
    feather.write_feather(TABLE, path, compression=compression)
    complete = path.read_bytes()
    for place in range(0, len(complete), 2):
        path.write_bytes(complete[:place] + bytes([complete[place] ^ (1 << place % 8)]) + complete[place + 1 :])
        try:
            read_arrow(path)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017


def test_truncated_files_are_rejected(tmp_path, input_error):
    path = tmp_path / "t.feather"
    feather.write_feather(TABLE, path)
    complete = path.read_bytes()
    for length in (4, 200, len(complete) // 2, len(complete) - 1):
        path.write_bytes(complete[:length])
        input_error(lambda: read_arrow(path), path, "truncated", "write it again")
    path.write_bytes(b"FEA1")
    input_error(lambda: read_arrow(path), path, "version 1")

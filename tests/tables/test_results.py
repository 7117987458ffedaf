"""Tables of results: CSV, TSV and Parquet, written atomically."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from mvgrl.errors import MachineError
from mvgrl.tables.results import check_table_output, write_table

COLUMNS = {"id": np.array(["a,b", 'say "hi"', "c"]), "cluster": np.array([0, 1, 0]), "x": np.array([0.5, 1e-9, -2.0])}


def test_text_is_quoted(tmp_path):
    write_table(tmp_path / "t.csv", COLUMNS)
    assert (tmp_path / "t.csv").read_text() == 'id,cluster,x\n"a,b",0,0.5\n"say ""hi""",1,1e-9\n"c",0,-2\n'
    write_table(tmp_path / "t.tsv", COLUMNS)
    assert (tmp_path / "t.tsv").read_text().splitlines()[3] == '"c"\t0\t-2'


def test_parquet_keeps_types(tmp_path):
    write_table(tmp_path / "t.parquet", COLUMNS)
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {name: list(one) for name, one in COLUMNS.items()}


def test_a_full_disk_leaves_the_old_table(tmp_path, files_up_to):
    write_table(tmp_path / "t.csv", COLUMNS)
    before = (tmp_path / "t.csv").read_bytes()
    with files_up_to(1000), pytest.raises(MachineError):
        write_table(tmp_path / "t.csv", {"id": np.arange(10_000)})
    assert (tmp_path / "t.csv").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_outputs_are_checked_first(tmp_path, input_error):
    input_error(lambda: check_table_output(tmp_path, "clusters.csv"), "is a folder", "clusters.csv")
    Path(tmp_path, "v.csv").touch()
    input_error(lambda: check_table_output(tmp_path / "v.csv", "x.csv", [tmp_path / "v.csv"]), "also an input")

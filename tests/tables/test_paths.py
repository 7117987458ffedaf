"""Input and output paths: every problem is reported before any work starts."""

from __future__ import annotations

from mvgrl.tables.paths import TABLE_EXTENSIONS, check_input_file, check_output_file


def test_extension_is_returned_in_lower_case(tmp_path):
    (tmp_path / "a.CSV").write_text("x")
    assert check_input_file(tmp_path / "a.CSV", TABLE_EXTENSIONS) == ".csv"


def test_missing_empty_and_unsupported_inputs_are_rejected(tmp_path, input_error):
    def check(name, *words, also=""):
        input_error(lambda: check_input_file(tmp_path / name, TABLE_EXTENSIONS, also), tmp_path / name, *words)

    check("edges.csv", "does not exist", "check the path")
    check("missing/edges.csv", "does not exist", "check the path")
    (tmp_path / "edge.csv").touch()
    check("edges.csv", "does not exist", "did you mean edge.csv?")
    check("edge.csv", "is empty", "write it again")
    (tmp_path / "edges.xlsx").write_text("x")
    check("edges.xlsx", "unsupported file type", ".csv, .tsv, .parquet", ".gz", "or a folder", also="or a folder")
    (tmp_path / "folder.csv").mkdir()
    check("folder.csv", "is a folder", "give a file: .csv, .tsv, .parquet")


def test_outputs_that_cannot_be_written_are_rejected(tmp_path, input_error):
    def check(name, *words):
        path = tmp_path / name
        input_error(lambda: check_output_file(path, (".png", ".svg"), "map.png"), path, *words)

    check("map.gif", "unsupported file type", ".png, .svg")
    check("map", "has no file extension", ".png, .svg")
    (tmp_path / "folder.png").mkdir()
    check("folder.png", "is a folder", f"such as {tmp_path / 'folder.png' / 'map.png'}")
    (tmp_path / "file").touch()
    check("file/map.png", "cannot be written", "choose another path")
    assert check_output_file(str(tmp_path / "new" / "map.SVG"), (".svg",), "map.svg") == tmp_path / "new" / "map.SVG"
    assert not (tmp_path / "new").exists()

"""JSON Lines: an object per line, in which values keep their types, and errors name the line."""

from __future__ import annotations

import pytest

from mvgrl.tables.files import read_edges, read_nodes


def write(path, text):
    path.write_text(text)
    return path


def test_values_keep_their_types(tmp_path):
    text = '{"src": "007", "dst": 1, "weight": 2}\n\n{"dst": 3, "src": "b", "weight": 2.5}\n'
    table, place = read_edges(write(tmp_path / "e.jsonl", text))
    assert table.to_pydict() == {"src": ["007", "b"], "dst": [1, 3], "weight": [2.0, 2.5]}
    assert place.row(1) == "line 3"
    table, _ = read_nodes(write(tmp_path / "n.ndjson", '{"id": 1, "x": [1, 2]}\n{"id": "a", "x": [3, 4]}'))
    assert table.to_pydict() == {"id": ["1", "a"], "x": [[1, 2], [3, 4]]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"source": 1, "target": 2}\n{"source"', ["line 2", "not JSON", "correct the line"]),
        ('{"source": 1, "target": 2}\n[1, 2]\n', ["line 2", "[1, 2]", "not an object"]),
        ('{"source": 1, "target": 2}\n' + "[" * 100_000, ["line 2", "not JSON"]),
        ('{"source": ' + "9" * 5000 + "}", ["line 1", "not JSON"]),
        ('{"source": 1, "target": 2}\n{"source": "1", "target": 2}\n', ["'source'", "1 and '1'", "one type"]),
        ('{"source": "\\ud800", "target": 2}\n', ["'source'", "valid Unicode"]),
        ('{"\\ud800": "a", "target": 2}\n', ["a key is not valid Unicode"]),
        ("{}\n", ["no objects with keys"]),
    ],
)
def test_bad_line_is_rejected(tmp_path, input_error, text, words):
    path = write(tmp_path / "e.jsonl", text)
    assert len(input_error(lambda: read_edges(path), path, *words)) < 600


def test_nested_values_are_text(tmp_path):
    deep = "[" * 50 + "]" * 50
    table, _ = read_edges(write(tmp_path / "e.jsonl", f'{{"source": 1, "target": 2, "x": {deep}, "y": {{"a": 1}}}}'))
    assert table["y"].to_pylist() == ['{"a": 1}']
    assert table["x"].to_pylist() == [deep]

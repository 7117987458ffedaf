"""Rows with ids: unique within a graph, and matched between tables."""

from __future__ import annotations

import numpy as np
import pytest

from mvgrl.tables.ids import Keyed, align, first_duplicate, read_keyed


def keyed(ids, graphs=None) -> Keyed:
    return Keyed(np.array(ids), None if graphs is None else np.array(graphs))


def test_rows_are_matched_by_id():
    assert align(keyed([7, 8, 9]), Keyed(np.array([9, 5, 7]))).tolist() == [2, -1, 0]
    assert align(keyed([7, 8]), Keyed(np.array(["007", "8", "7"]))).tolist() == [2, 1]
    assert align(keyed(["7", "x"]), Keyed(np.array([7]))).tolist() == [0, -1]
    ids = np.random.default_rng(0).permutation(5000)
    other = np.random.default_rng(1).permutation(9000)
    positions = {name: row for row, name in enumerate(other.tolist())}
    assert align(keyed(ids), Keyed(other)).tolist() == [positions[name] for name in ids.tolist()]


def test_rows_are_matched_by_id_and_graph(input_error):
    table = Keyed(np.array([0, 1, 0, 0]), np.array(["2", "2", "1", "x"]))
    assert align(keyed([0, 1, 0, 1], [1, 1, 2, 2]), table).tolist() == [2, -1, 0, 1]
    assert align(keyed([5, 6], [1, 2]), Keyed(np.array([6, 5]))).tolist() == [1, 0]
    assert align(keyed([5, 6]), Keyed(np.array([6, 5]), np.array([1, 2]))).tolist() == [1, 0]
    input_error(lambda: align(keyed([5, 6, 6], [1, 1, 2]), Keyed(np.array([6]))), "the id 6", "column 'graph'")
    input_error(lambda: align(keyed([0]), table), "the id 0", "column 'graph'")


@pytest.mark.parametrize(("codes", "found"), [([3], None), ([3, 1, 2], None), ([1, 1], (0, 1)), ([5, 6, 6, 5], (1, 2))])
def test_first_duplicate_is_the_earliest_repetition(codes, found):
    assert first_duplicate(np.array(codes)) == found


def test_id_column_is_found_or_rows_are_numbered(tmp_path, input_error):
    path = tmp_path / "rows.csv"

    def ids(text, id_column=None, **more):
        path.write_text(text)
        table, rows = read_keyed(path, id_column, **more)
        return rows.ids.tolist(), table.column_names

    assert ids("x,node_id\n5,a\n6,b\n") == (["a", "b"], ["x"])
    assert ids("graph,x\ng,5\nh,6\n") == (["g", "h"], ["x"])
    assert ids(",x\n7,5\n8,6\n") == ([7, 8], ["x"])  # the index of pandas
    assert ids("id,x\n1,a\n1,b\n", "x") == (["a", "b"], ["id"])
    assert ids("x\n5\n6\n", number_rows=True) == ([0, 1], ["x"])
    input_error(lambda: ids("x\n5\n"), path, "no column 'id'")
    input_error(lambda: ids("id,graph\na,1\na,2\nb,1\na,2\n"), "line 5", "the id 'a' of graph 2", "line 3", "unique")

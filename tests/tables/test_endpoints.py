"""Columns of edges are found by their usual names in any spelling, or as chosen; what is ambiguous is an error."""

from __future__ import annotations

import pytest

from mvgrl.tables.columns import Place
from mvgrl.tables.endpoints import are_two_sides, find_endpoints, find_weight

PLACE = Place("edges.csv")


@pytest.mark.parametrize(
    "names",
    [
        ("Source", "Target"),
        (" SRC ", "Dst"),
        ("FROM", "to"),
        ("head", "tail"),
        ("node1", "node2"),
        ("Node 1", "Node 2"),
        ("source_id", "target_id"),
        ("sourceId", "targetId"),
        ("FromNodeId", "ToNodeId"),
        (":START_ID", ":END_ID"),
        ("user", "item"),
        ("userId", "movieId"),
        ("sender", "receiver"),
    ],
)
def test_usual_names_are_found_in_any_spelling(names):
    for columns in ([*names, "since"], ["since", names[1], names[0]]):
        assert find_endpoints(columns, PLACE) == names


def test_exact_name_precedes_another_spelling(input_error):
    assert find_endpoints(["SOURCE", "source", "target"], PLACE) == ("source", "target")
    words = ["'SOURCE' and 'Source'", "--source-column", "source_column="]
    input_error(lambda: find_endpoints(["SOURCE", "Source", "target"], PLACE), *words)


def test_chosen_columns_are_used(input_error):
    names = ["Person", "friend", "source", "target"]
    assert find_endpoints(names, PLACE, "person", "friend") == ("Person", "friend")
    assert find_endpoints(names, PLACE, source="friend") == ("friend", "target")
    assert find_endpoints(names, PLACE, target="friend") == ("source", "friend")
    input_error(lambda: find_endpoints(names, PLACE, "prson"), "edges.csv", "'prson'", "'Person', 'friend'")
    input_error(lambda: find_endpoints(["a", "b"], PLACE, "a"), "edges.csv", "the target", "'a,b'", "--target-column")
    input_error(lambda: find_endpoints(names, PLACE, "friend", "friend"), "both 'friend'", "two columns")


def test_weights_are_found_in_any_case_or_as_chosen(input_error):
    assert find_weight(["Source", " WEIGHT "], None, PLACE) == " WEIGHT "
    assert find_weight(["source", "rating"], None, PLACE) is None
    assert find_weight(["weight", "rating"], "Rating", PLACE) == "rating"
    input_error(lambda: find_weight(["source", "rating"], "ratng", PLACE), "no column 'ratng'", "did you mean 'rating'")


def test_columns_of_different_things_are_told_from_columns_of_one():
    assert are_two_sides(("User", "ITEM"))
    assert not are_two_sides(("source", "target"))

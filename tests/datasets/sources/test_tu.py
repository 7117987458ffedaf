"""The TU collection: the published counts, agreement with the package's copy, and damaged files."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from mvgrl.datasets import load


@pytest.mark.parametrize(
    ("name", "graphs", "nodes", "edges", "labels", "sizes"),
    [
        ("mutag", 188, 17.93, 19.79, 7, [63, 125]),
        ("ptc-mr", 344, 14.29, 14.69, 18, [192, 152]),
        ("imdb-binary", 1000, 19.77, 96.53, None, [500, 500]),
        ("imdb-multi", 1500, 13.00, 65.94, None, [500, 500, 500]),
        ("reddit-binary", 2000, 429.63, 497.75, None, [1000, 1000]),
    ],
)
def test_graph_sets_have_the_published_counts(original, name, graphs, nodes, edges, labels, sizes):
    data = original(name)
    graph = data.graph
    assert graph.count == graphs
    assert (round(graph.nodes / graphs, 2), round(graph.edges / graphs, 2)) == (nodes, edges)
    assert (None if graph.node_labels is None else len(np.unique(graph.node_labels))) == labels
    assert np.bincount(data.target).tolist() == sizes
    assert (data.task, data.splits, len(data.classes)) == ("graph", None, len(sizes))


@pytest.mark.skipif(not importlib.util.find_spec("grakel"), reason="needs the extra mvgrl[datasets]")
def test_both_sources_of_mutag_agree(original):
    files, package = original("mutag"), load("mutag")
    assert files.source == "tu/MUTAG/raw"
    assert package.source.startswith("grakel ")
    assert files.graph.fingerprint == package.graph.fingerprint
    assert np.array_equal(files.graph.node_labels, package.graph.node_labels)
    assert np.array_equal(files.target, package.target)


def test_the_text_format_is_read_with_isolated_nodes_and_any_class_numbers(tmp_path, write_tu):
    write_tu(tmp_path, node_labels="3\n3\n9\n3\n3\n")
    data = load("MUTAG", tmp_path)
    assert data.graph.sizes.tolist() == [2, 1, 2]
    assert data.graph.edges == 2
    assert data.graph.node_labels.tolist() == [3, 3, 9, 3, 3]
    assert (data.target.tolist(), data.classes) == ([1, 0, 1], ("-1", "5"))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"A": "1, 2\n2, x\n"}, "MUTAG_A.txt, line 2: .*expected 2 integers.*2, x"),
        ({"A": "1, 2\n\n2, 1, 3\n"}, "MUTAG_A.txt, line 3: .*2, 1, 3"),
        ({"A": "1, 2\n1,\n"}, "MUTAG_A.txt, line 2: "),
        ({"A": "1, 2\n2, 1.5\n"}, "MUTAG_A.txt, line 2: "),
        ({"A": f"1, 2\n2, {2**64}\n"}, "MUTAG_A.txt, line 2: "),
        ({"A": "1, 2\n\x00\x01\n"}, "MUTAG_A.txt, line 2: "),
        ({"A": ""}, "MUTAG_A.txt is empty"),
        ({"A": "1, 2\n\n1, 9\n"}, "MUTAG_A.txt, line 3: node 9 does not exist: nodes are numbered 1 to 5"),
        ({"A": "1, 2\n0, 1\n"}, "MUTAG_A.txt, line 2: node 0 does not exist"),
        ({"A": "1, 2\n2, 3\n"}, "MUTAG_A.txt, line 2: it joins node 2 of graph 1 to node 3 of graph 2"),
        ({"graph_indicator": "1\n2\n1\n3\n3\n"}, "graph_indicator.txt, line 3: graph 1 after graph 2"),
        ({"graph_indicator": "1\n\n2\n1\n3\n3\n"}, "graph_indicator.txt, line 4: graph 1 after graph 2"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n"}, "graph_indicator.txt: graph 2 has a label but no nodes"),
        ({"graph_indicator": "1\n1\nNA\n3\n3\n"}, "graph_indicator.txt, line 3: .*expected an integer.*NA"),
        ({"graph_labels": "1\n1\n"}, "belong to graphs 1 to 3, but 2 graphs have a label"),
        ({"graph_labels": '1\n"1"\n1\n'}, "graph_labels.txt, line 2: "),
        ({"node_labels": "1\n1\n"}, "MUTAG_node_labels.txt has labels for 2 nodes.*has 5 nodes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_text_files_are_refused_by_name_and_line(tmp_path, refused, write_tu, files, message):
    write_tu(tmp_path, **files)
    refused("mutag", tmp_path, message)


@pytest.mark.parametrize("part", ["A", "graph_indicator", "graph_labels"])
def test_a_missing_text_file_is_named(tmp_path, refused, write_tu, part):
    write_tu(tmp_path)
    path = tmp_path / "tu" / "MUTAG" / "raw" / f"MUTAG_{part}.txt"
    path.unlink()
    refused("mutag", tmp_path, f"MUTAG_{part}.txt is missing")
    path.mkdir()
    refused("mutag", tmp_path, f"MUTAG_{part}.txt cannot be read")

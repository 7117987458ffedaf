"""Hostile GraphML, GML and TU files and odd paths: one short message, or the graph."""

from __future__ import annotations

import os

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs.read import read
from mvgrl.tables.embeddings import read_embeddings


@pytest.fixture
def rejects(input_error):
    """Check that a file is rejected, with all the words in the message."""
    return lambda path, *words: input_error(lambda: read(path), *words)


XML = '<?xml version="1.0"?>\n{}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
GRAPH = '<graph edgedefault="undirected">{}</graph>'
KEY = '<key id="k" for="node" attr.name="k" attr.type="int"/>'
LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
NODES = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'


@pytest.mark.parametrize(
    ("declared", "content", "words"),
    [
        (f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]>', GRAPH.format('<node id="&l9;"/>'), ["line 2", "DOCTYPE"]),
        (f'<!DOCTYPE x [<!ENTITY a "{"x" * 9999}">]>', GRAPH.format(f'<node id="{"&a;" * 999}"/>'), ["DOCTYPE"]),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hosts">]>', GRAPH.format('<node id="a">&a;</node>'), ["DOCTYPE"]),
        ('<!DOCTYPE graphml SYSTEM "graphml.dtd">', GRAPH.format(NODES), ["DOCTYPE"]),
        ("", "<a>" * 200 + "</a>" * 200, ["nested more than 100 deep"]),
        ("", GRAPH.format("<node/><node/>"), ["line 2", "a node has no attribute 'id'"]),
        ("", GRAPH.format('<node id="a"/>\n<edge source="a"/>'), ["line 3", "an edge has no attribute 'target'"]),
        ("", GRAPH.format('<node id=""/>'), ["empty"]),
        ("", KEY + GRAPH.format(f'<node id="a"><data key="k">{"x" * 5000}</data></node>'), ["xxx"]),
    ],
)  # fmt: skip
def test_hostile_graphml_is_rejected(tmp_path, rejects, declared, content, words):
    path = tmp_path / "graph.graphml"
    path.write_text(XML.format(declared, content))
    assert len(rejects(path, path, *words)) < 500


def test_graphml_with_a_namespace_prefix_is_read(tmp_path):
    path = tmp_path / "graph.graphml"
    nx.write_graphml(nx.Graph([("a", "b")]), path)
    assert read(path).node_ids.tolist() == ["a", "b"]
    text = path.read_text().replace("<node", "<g:node").replace("xmlns=", "xmlns:g=").replace("</node", "</g:node")
    for name in ("graphml", "graph", "edge"):
        text = text.replace(f"<{name}", f"<g:{name}").replace(f"</{name}", f"</g:{name}")
    path.write_text(text)
    assert read(path).node_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        "graph " + "[ a " * 5000 + "1 " + "]" * 5000,
        "graph " + "[ a " * 50_000,
        f"graph [ node [ id 0 label {'9' * 5000} ] ]",
        f'graph [ node [ id 0 label "a" x {"9" * 400} ] node [ id 1 label "b" x 1 ] ]',
        f'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 weight {"9" * 400} ] ]',
        'graph [ node [ id 0 label "a" x 1.0e999 ] ]',
        'graph [ node [ id 0 label "a&#0;" ] node [ id 1 label "a" ] ]',
        'graph [ node [ id 0 label "&#xD800;" ] ]',
        'graph [ node [ id 0 label 5 ] node [ id 1 label "5" ] ]',
        "graph [ node [ id [ a 1 ] label [ a 1 ] ] ]",
        'graph [ node "x" ]',
        "graph 5",
    ],
)
def test_hostile_gml_is_rejected(tmp_path, rejects, content):
    path = tmp_path / "graph.gml"
    path.write_text(content)
    assert len(rejects(path, path)) < 500


def test_odd_paths_are_rejected(tmp_path, rejects):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    rejects(loop, "loop.csv")
    rejects(loop.parent / "loop.csv" / "edges.csv", "edges.csv")
    rejects(tmp_path / ("é" * 200 + ".csv"), "cannot be read")
    rejects(f"{tmp_path}/a\0b.csv", "a\\x00b.csv does not exist")
    rejects("\ud800.csv", "\\ud800.csv does not exist")
    rejects(tmp_path / "two\nlines.csv", "two lines.csv")


def test_files_with_names_that_are_not_utf8_are_read(tmp_path):
    name = os.fsdecode(b"\xff")
    graph = nx.Graph([("a", "b")])
    for extension, write in (("graphml", nx.write_graphml), ("gml", nx.write_gml)):
        with (tmp_path / f"{name}.{extension}").open("wb") as file:
            write(graph, file)
    with (tmp_path / f"{name}.npz").open("wb") as file:
        sp.save_npz(file, sp.csr_array([[0, 1.0], [1.0, 0]]))
    folder = tmp_path / name
    folder.mkdir()
    (folder / f"{name}_A.txt").write_text("1, 2\n2, 1\n")
    (folder / f"{name}_graph_indicator.txt").write_text("1\n1\n")
    (folder / f"{name}_graph_labels.txt").write_text("1\n")
    for path in tmp_path.iterdir():
        assert read(path).graph.edges == 1


@pytest.mark.parametrize("content", ["9" * 5000, str(-(2**63)), str(2**63 - 1), "1e400", "\0", "x" * 5000])
@pytest.mark.parametrize("part", ["A", "graph_indicator", "graph_labels", "node_labels"])
def test_hostile_tu_files_are_rejected_or_read(tmp_path, part, content):
    files = {"A": "1, 2\n", "graph_indicator": "1\n1\n", "graph_labels": "1\n", "node_labels": "0\n0\n"}
    for name, text in files.items():
        (tmp_path / f"S_{name}.txt").write_text(text)
    (tmp_path / f"S_{part}.txt").write_text(f"{content}, {content}\n" if part == "A" else f"{content}\n")
    try:
        read(tmp_path)
    except InputError as error:
        message = str(error)
        assert f"S_{part}.txt" in message or "S_graph_indicator.txt" in message
        assert len(message) < 400


def test_link_that_leads_nowhere_is_not_taken_for_a_missing_file(tmp_path, rejects):
    for name, text in {"A": "1, 2\n", "graph_indicator": "1\n1\n", "graph_labels": "1\n"}.items():
        (tmp_path / f"S_{name}.txt").write_text(text)
    labels = tmp_path / "S_node_labels.txt"
    labels.symlink_to(labels)
    rejects(tmp_path, "S_node_labels.txt")
    np.save(tmp_path / "v.npy", np.eye(2))
    (tmp_path / "v.ids.csv").symlink_to(tmp_path / "missing.csv")
    with pytest.raises(InputError, match=r"v\.ids\.csv"):
        read_embeddings(tmp_path / "v.npy")

"""Cora as LINQS published it: the same graph as in the package and in Planetoid, and damaged files."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from mvgrl.datasets import load
from mvgrl.graphs import Graph


@pytest.mark.skipif(not importlib.util.find_spec("graphdatascience"), reason="needs the extra mvgrl[datasets]")
def test_both_sources_of_the_linqs_cora_agree(original):
    files, package = original("cora-linqs"), load("cora-linqs")
    assert files.source == "linqs-cora"
    assert package.source.startswith("graphdatascience ")
    assert files.graph.fingerprint == package.graph.fingerprint
    assert (files.graph.features != package.graph.features).nnz == 0
    assert np.array_equal(files.target, package.target)


def test_the_two_coras_are_one_graph_in_two_orders(data_root, original):
    linqs, planetoid = original("cora-linqs"), original("cora")
    order = np.loadtxt(data_root / "linqs-cora" / "content_row_to_planetoid_index.txt", dtype=np.int64)
    assert np.array_equal(linqs.target, planetoid.target[order])
    assert (linqs.graph.features != planetoid.graph.features[order]).nnz == 0
    moved = planetoid.graph.adjacency[order][:, order]
    assert Graph.from_scipy(moved).fingerprint == linqs.graph.fingerprint
    assert linqs.classes == planetoid.classes


def write_linqs(folder, content=None, cites=None, papers=1500):
    folder = folder / "linqs-cora"
    folder.mkdir(exist_ok=True)
    lines = [f"{i + 7}\t{i % 2}\t1\tTheory" for i in range(papers)] if content is None else content
    (folder / "cora.content").write_text("\n".join(lines) + "\n")
    (folder / "cora.cites").write_text("7\t8\n8\t9\n" if cites is None else cites)
    return folder


def test_damaged_files_are_refused_by_name_and_line(tmp_path, refused):
    folder = write_linqs(tmp_path)
    data = load("cora-linqs", tmp_path)
    assert (data.graph.nodes, data.graph.edges, data.graph.features.toarray()[1].tolist()) == (1500, 2, [1, 1])
    for content, message in (
        (["7 0 1 Theory", "8 0 Theory"], "cora.content, line 2: 1 words instead of 2"),
        (["7 0 1 Theory", "8 0"], "cora.content, line 2: the line is truncated"),
        (["7 0 1 Theory", "8 0 1 Theo"], "cora.content, line 2: .*subjects"),
        (["7 0 1 Theory", "8 0 2 Theory"], "cora.content, line 2: .*0 or 1"),
        (["7 0 1 Theory", "b 0 1 Theory"], "cora.content, line 2: .*number"),
        (["7 0 1 Theory", "7 0 1 Theory"], "cora.content, line 2: paper 7 is also on line 1"),
        ([], "cora.content is empty"),
        (["7 0 1 Theory", "8 0 1 Theory", "9 0 1 Theory"], "3 papers, but the split needs 1,500"),
    ):
        write_linqs(tmp_path, content)
        refused("cora-linqs", tmp_path, message)
    for cites, message in (
        ("7 8\n8 x\n", "cora.cites, line 2"),
        ("7 8\n8 9 10\n", "cora.cites, line 2"),
        ("7\n", "cora.cites, line 1"),
        ("", "cora.cites is empty"),
        ("7 8\n8 6\n", "names paper 6"),
    ):
        write_linqs(tmp_path, cites=cites)
        refused("cora-linqs", tmp_path, message)
    (folder / "cora.cites").unlink()
    refused("cora-linqs", tmp_path, "cora.cites is missing")
    (folder / "cora.content").unlink()
    (folder / "README").touch()
    refused("cora-linqs", tmp_path, "cora.content is missing")

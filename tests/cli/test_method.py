"""--method: the vectors of another method by embed, train, apply and info."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mvgrl import NodeEmbedder


def test_embed_and_python_give_the_same_bits(run, graph):
    import pandas as pd

    result = run(f"embed {graph} -o vectors.npy --method netmf --device cpu --json").json
    assert (result["method"], result["dim"], result["nodes"]) == ("netmf", 12, 12)
    nodes = pd.read_csv("nodes.csv").drop(columns="topic")
    embedder = NodeEmbedder(method="netmf", device="cpu").fit((pd.read_csv("edges.csv"), nodes))
    np.testing.assert_array_equal(np.load("vectors.npy"), embedder.embedding_)


def test_a_saved_method_is_applied_to_its_own_graph_only(run, refused, graph):
    shown = run(f"train {graph} -o model --method netmf --device cpu")
    assert "method netmf" in shown.err
    assert " epochs" not in shown.err
    run(f"embed {graph} -o one.csv --method netmf --device cpu -q")
    run(f"apply model {graph} -o other.csv -q")
    assert Path("one.csv").read_text() == Path("other.csv").read_text()
    info = run("info model").out
    assert "vectors of a method" in info
    assert "netmf" in info
    Path("fewer.csv").write_text("source,target\nn0,n1\nn1,n2\n")
    refused("apply model fewer.csv -o third.csv", "fewer.csv: this is not the graph", "embed --method netmf")
    refused(f"apply model {graph} -o third.csv --dim 3", "--dim has no effect", "'netmf'")
    refused(f"train {graph} -o model --method netmf", "already a model", "--overwrite")


def test_chosen_columns_are_read_again(run, graph):
    run(f"train {graph} --features x, -o model --method propagated --device cpu -q")
    run(f"embed {graph} --features x, -o one.csv --method propagated --device cpu -q")
    run(f"apply model {graph} -o other.csv -q")
    assert Path("one.csv").read_text() == Path("other.csv").read_text()


def test_mistakes_are_refused(refused, graph):
    refused(f"embed {graph} -o vectors.csv --method netfm", "unknown method 'netfm'; did you mean 'netmf'")
    refused(f"embed {graph} -o vectors.csv --method histogram", "'histogram' makes no vectors of nodes")
    refused(f"embed {graph} -o vectors.csv --method netmf --dim 3", "--dim is 3", "left as they are")
    refused(f"train {graph} --print-config --method netmf", "'netmf' has no settings to print")


def test_mvgrl_is_the_preset_of_the_paper(run, graph, small):
    run(f"embed {graph} -o one.npy --method mvgrl {small} -q")
    run(f"embed {graph} -o other.npy --preset paper {small} -q")
    np.testing.assert_array_equal(np.load("one.npy"), np.load("other.npy"))

"""apply: embed any graph that has the features of the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mvgrl.tables.embeddings import read_embeddings


def test_training_graph_gets_the_same_vectors(run, graph, small):
    run(f"train {graph} -o model {small}")
    run(f"embed {graph} -o trained.npy {small}")
    outcome = run(f"apply model {graph} -o again.npy --device cpu")
    assert outcome.out == ""
    assert outcome.err.splitlines()[-1] == "wrote 12 vectors of 11 to again.npy"
    trained, again = read_embeddings("trained.npy"), read_embeddings("again.npy")
    assert np.array_equal(trained.vectors, again.vectors)
    assert trained.ids.tolist() == again.ids.tolist()


def test_changed_graph_keeps_its_ids(run, graph, small):
    run(f"train {graph} -o model {small}")
    Path("more.csv").write_text(Path("edges.csv").read_text() + "n3,new\n")
    Path("more_nodes.csv").write_text(Path("nodes.csv").read_text() + "new,1,0.5,\n")
    result = run("apply model more.csv --nodes more_nodes.csv --label-column topic -o v.csv --json").json
    assert list(result) == ["task", "nodes", "edges", "graphs", "dim", "parts", "seconds", "peak_memory_mb", "output"]
    assert (result["task"], result["nodes"], result["edges"], result["dim"]) == ("node", 13, 14, 11)
    found = read_embeddings("v.csv")
    assert found.ids.tolist() == [*(f"n{i}" for i in range(12)), "new"]
    assert len(np.unique(found.vectors, axis=0)) == 13


def test_columns_may_be_reordered_but_not_renamed(run, refused, graph, small):
    run(f"train {graph} -o model {small}")
    run(f"apply model {graph} -o v.npy")
    head, *rows = [line.split(",") for line in Path("nodes.csv").read_text().splitlines()]
    swapped = [[row[0], *reversed(row[1:3]), *row[3:]] for row in (head, *rows)]
    Path("swapped.csv").write_text("".join(",".join(row) + "\n" for row in swapped))
    run("apply model edges.csv --nodes swapped.csv --label-column topic -o swapped.npy")
    assert np.array_equal(read_embeddings("v.npy").vectors, read_embeddings("swapped.npy").vectors)
    renamed = Path("nodes.csv").read_text().replace(head[1], "other", 1)
    Path("renamed.csv").write_text(renamed)
    message = refused("apply model edges.csv --nodes renamed.csv --label-column topic -o w.npy")
    assert f"renamed.csv has no column {head[1]!r}, which the model was trained with; it has 'other'" in message


def test_graph_model_gives_a_vector_per_graph(run, many_graphs, small):
    run(f"train {many_graphs} -o model {small}")
    Path("two.csv").write_text("source,target,graph\n0,1,a\n1,2,a\n2,0,a\n0,1,b\n")
    result = run("apply model two.csv -o v.csv --json").json
    assert (result["task"], result["graphs"]) == ("graph", 2)
    assert read_embeddings("v.csv").ids.tolist() == ["a", "b"]
    run("apply model rings.csv -o rings.npy")
    assert np.allclose(read_embeddings("v.csv").vectors[0], read_embeddings("rings.npy").vectors[0], atol=1e-6)


def test_node_model_applied_to_many_graphs_writes_graph_ids(run, many_graphs, folder, small):
    Path("ring.csv").write_text("source,target\n0,1\n1,2\n2,0\n2,3\n")
    run(f"train ring.csv -o model {small} --features degree-one-hot")
    run(f"apply model {many_graphs} -o v.csv")
    found = read_embeddings("v.csv")
    assert found.ids[:3].tolist() == [0, 1, 2]
    assert found.graph_ids[:4].tolist() == ["ring3", "ring3", "ring3", "ring4"]


def test_wrong_number_of_features_is_rejected(refused, run, graph, small):
    run(f"train {graph} -o model {small}")
    refused("apply model edges.csv -o v.csv", "edges.csv", "no features", "trained with 2", "--nodes")
    sp.save_npz("edges.npz", sp.csr_array(np.ones((12, 12))))
    np.save("wide.npy", np.ones((12, 3)))
    refused("apply model edges.npz --nodes wide.npy -o v.csv", "3 features", "trained with 2", "same columns")


def test_missing_node_labels_are_rejected(refused, run, graph, small, data_root):
    run(f"train mutag --data-root {data_root} -o model --hidden 4 --epochs 1")
    refused("apply model edges.csv -o v.csv", "edges.csv", "no node labels")

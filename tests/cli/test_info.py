"""info: describe a graph or a model."""

from __future__ import annotations

from pathlib import Path

from mvgrl import Settings
from mvgrl.pretrained import load_model


def test_graph_statistics(run, graph):
    Path("edges.csv").write_text(Path("edges.csv").read_text() + "n1,n0\nn5,n5\n")
    result = run("info edges.csv --nodes nodes.csv --label-column topic --json").json
    assert result["kind"] == "graph"
    assert (result["nodes"], result["edges"], result["graphs"], result["components"]) == (12, 13, 1, 1)
    assert result["degree"] == {"min": 2, "mean": 2.17, "max": 3}
    assert (result["isolated_nodes"], result["weighted"], result["features"]) == (0, False, 2)
    assert result["ids"] == "n0 … n11"
    assert (result["labels_of"], result["unlabelled"]) == ("nodes", 0)
    assert result["classes"] == {"cats": 6, "dogs": 6}
    assert any("self-loops" in note for note in result["notes"])
    assert result["picks"][0] == "task node (one graph)"


def test_components_isolated_nodes_weights_and_missing_labels_are_counted(run, folder):
    Path("edges.csv").write_text("source,target,weight\na,b,2\nc,d,1\nd,e,1\n")
    Path("nodes.csv").write_text("id,label\na,x\nb,\nc,y\nd,y\ne,\nf,x\n")
    result = run("info edges.csv --nodes nodes.csv --json").json
    assert (result["components"], result["largest_component"], result["isolated_nodes"]) == (3, 3, 1)
    assert (result["weighted"], result["features"], result["unlabelled"]) == (True, 0, 2)
    assert result["classes"] == {"x": 2, "y": 2}


def test_many_graphs_are_counted(run, many_graphs):
    result = run(f"info {many_graphs} --json").json
    assert (result["graphs"], result["nodes"], result["edges"], result["components"]) == (6, 33, 33, 6)
    assert result["picks"][0] == "task graph (6 graphs)"


def test_many_distinct_labels_are_counted_but_not_listed(run, folder):
    Path("edges.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(59)))
    Path("nodes.csv").write_text("id,label\n" + "".join(f"{i},{i / 7}\n" for i in range(60)))
    result = run("info edges.csv --nodes nodes.csv --json").json
    assert result["distinct_labels"] == 60
    assert "classes" not in result


def test_dataset_can_be_described(run, cora):
    result = run(f"info cora-linqs --data-root {cora} --json -q").json
    assert (result["nodes"], result["features"], len(result["classes"])) == (1500, 24, 7)


def test_model_can_be_described(run, graph, small):
    run(f"train {graph} -o model {small} --seed 7")
    result = run("info model --json").json
    trained = load_model("model", device="cpu").trained
    losses = trained.history.losses
    assert (result["kind"], result["task"], result["dim"], result["features"]) == ("model", "node", 11, 2)
    assert (result["epochs"], result["first_loss"], result["lowest_loss"]) == (3, losses[0], min(losses))
    assert result["parameters"] == sum(p.numel() for p in trained.model.parameters())
    assert result["about"]["seed"] == 7
    assert Settings.from_dict(result["settings"]) == trained.model.settings


def test_text_output_has_one_value_per_line(run, graph, small):
    shown = run(f"info {graph}").out.splitlines()
    assert "nodes                12" in shown
    assert "  cats               6" in shown
    assert "weighted             no" in shown
    run(f"train {graph} -o model {small}")
    shown = run("info model").out
    assert "\n    ppr alpha=0.2 method=auto " in shown
    assert "edges.csv: one graph, 12 nodes, 13 edges" in shown

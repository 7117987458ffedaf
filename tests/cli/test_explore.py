"""mvgrl explore: the page, the table of points, and what is refused."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from mvgrl.explorer.packing import unpacked
from mvgrl.tables.embeddings import Embeddings, write_embeddings


@pytest.fixture
def table(folder):
    """Twelve vectors in v.parquet, others of them in w.parquet in another order, and columns in nodes.csv."""
    rng = np.random.default_rng(0)
    kinds = np.arange(12) % 3
    vectors = (4 * np.eye(5)[kinds] + rng.normal(size=(12, 5))).astype(np.float32)
    ids = np.array([f"n{i}" for i in range(12)])
    write_embeddings("v.parquet", Embeddings(ids, vectors))
    write_embeddings("w.parquet", Embeddings(ids[::-1].copy(), rng.normal(size=(12, 3)).astype(np.float32)))
    rows = [f"n{i},{i / 7},{('ape', 'bee', 'cat')[kind]},{i},{i * i}" for i, kind in enumerate(kinds)]
    Path("nodes.csv").write_text("\n".join(["id,age,kind,left,up", *rows]) + "\n")
    edges = [f"n{i},n{(i + 1) % 12}" for i in range(12)]
    Path("edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    return vectors


def shown(path: str):
    """The header and arrays of a page."""
    text = Path(path).read_text().split('id="data">')[1].split("</script>")[0]
    return unpacked(gzip.decompress(base64.b64decode(text)))


def test_page_and_table_hold_points_columns_neighbours_and_edges(run, table):
    outcome = run("explore v.parquet --labels nodes.csv --graph edges.csv -o page.html --parquet points.parquet --json "
                  "--layout pca --neighbors 3 --title 'My nodes'")  # fmt: skip
    result = outcome.json
    assert result["points"] == 12
    assert result["columns"] == ["age", "kind", "left", "up", "degree"]
    assert result["bytes"] == Path("page.html").stat().st_size
    header, arrays = shown("page.html")
    assert (header["title"], header["colour"], header["unit"]) == ("My nodes", "kind", "node")
    assert header["maps"][0]["neighbors"]["k"] == 3
    offsets, targets = (arrays[number] for number in header["edges"])
    assert (len(offsets), len(targets)) == (13, 12)
    rows = pq.read_table("points.parquet").to_pylist()
    cosines = table @ table.T / np.outer(*[np.linalg.norm(table, axis=1)] * 2)
    np.fill_diagonal(cosines, -1)
    assert [row["neighbors"][0] for row in rows] == [f"n{i}" for i in cosines.argmax(axis=1)]
    assert rows[5]["kind"] == "cat"
    assert rows[5]["degree"] is not None


def test_coordinates_can_be_brought_along(run, table):
    run("explore v.parquet --labels nodes.csv --x left --y up -o page.html --parquet points.parquet")
    rows = pq.read_table("points.parquet")
    x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
    np.testing.assert_allclose(x, (np.arange(12) - 5.5) * 2 / 121, atol=1e-6)
    np.testing.assert_allclose(y, (np.arange(12.0) ** 2 - 60.5) * 2 / 121, atol=1e-6)
    assert [column["name"] for column in shown("page.html")[0]["columns"]] == ["age", "kind"]  # the others are places
    run("explore points.parquet -o again.html --labels points.parquet --x x --y y", code=2)  # it has no vectors


def test_other_vectors_are_matched_by_id_and_compared(run, table):
    run("explore v.parquet --compare w.parquet -o page.html --layout pca --neighbors 4 --parquet points.parquet")
    header, arrays = shown("page.html")
    assert [one["name"] for one in header["maps"]] == ["v", "w"]
    (column,) = header["columns"]
    assert column["name"] == "common neighbours"
    rows = pq.read_table("points.parquet").to_pylist()
    shares = [len({*row["neighbors"]} & {*row["neighbors_2"]}) / 4 for row in rows]
    np.testing.assert_allclose(arrays[column["values"]], shares)
    assert len(set(shares)) > 1


def test_model_folder_is_described(run, table):
    model = Path(__file__).resolve().parents[1] / "data" / "model-0.1.0"
    run(f"explore v.parquet --labels nodes.csv --label-column age --model {model} --layout pca -o page.html")
    header, _ = shown("page.html")
    assert header["colour"] == "age"
    config = json.loads((model / "config.json").read_text())
    assert header["model"]["losses"] == config["losses"]
    assert header["model"]["epochs"] == len(config["losses"])
    assert ["hidden", str(config["settings"]["hidden"])] in header["model"]["choices"]
    assert header["model"]["card"] == (model / "README.md").read_text()


def test_model_embeds_a_graph_and_is_described(run, refused, graph, small):
    run(f"train {graph} -o model {small}")
    run("apply model edges.csv --nodes nodes.csv -o v.parquet")
    refused("explore model -o page.html", "model is a model", "trained on edges.csv", "--graph")
    refused("explore model --graph edges.csv -o page.html", "edges.csv", "features", "--nodes")
    refused("explore model --graph edges.csv --model model -o page.html", "omit --model")
    run("explore model --graph edges.csv --nodes nodes.csv --label-column x --layout pca -o page.html")
    assert shown("page.html")[0]["colour"] == "x"  # it is a feature nevertheless
    run("explore model --graph edges.csv --nodes nodes.csv --layout pca -o page.html")
    run("explore v.parquet --graph edges.csv --labels nodes.csv --model model --layout pca -o same.html --title model")
    header, arrays = shown("page.html")
    other, others = shown("same.html")
    assert header["model"]["losses"] == json.loads(Path("model/config.json").read_text())["losses"]
    assert [column["name"] for column in header["columns"]] == ["x", "y", "topic", "degree"]
    names = [header.pop("maps")[0].pop("name"), other.pop("maps")[0].pop("name")]
    assert names == ["model", "v"]
    assert header == other
    for one, same in zip(arrays, others, strict=True):
        np.testing.assert_array_equal(one, same)
    refused("explore v.parquet --graph edges.csv --nodes nodes.csv -o page.html", "--nodes", "--labels")


def test_saved_vectors_of_a_method_and_models_of_graphs_embed_their_graphs(run, graph, many_graphs, small):
    run(f"train {graph} --method raw -o raw")
    run("explore raw --graph edges.csv --nodes nodes.csv --label-column topic --layout pca -o page.html")
    assert shown("page.html")[0]["count"] == 12
    run(f"train {many_graphs} -o model {small}")
    run(f"explore model --graph {many_graphs} --layout pca -o page.html")
    header, _ = shown("page.html")
    assert (header["unit"], header["count"]) == ("graph", 6)


def test_vectors_of_graphs_have_their_graphs(run, many_graphs):
    names = np.array([f"ring{size}" for size in (8, 3, 5, 4, 7, 6)])  # in another order than the graphs
    write_embeddings("v.parquet", Embeddings(names, np.random.default_rng(0).normal(size=(6, 3))))
    run(f"explore v.parquet --graph {many_graphs} --layout pca -o page.html")
    header, arrays = shown("page.html")
    assert header["unit"] == "graph"
    assert [column["name"] for column in header["columns"]] == ["nodes", "edges"]
    graphs = header["graphs"]
    assert np.diff(arrays[graphs["nodes"]]).tolist() == [8, 3, 5, 4, 7, 6]
    assert np.diff(arrays[graphs["offsets"]]).tolist() == [8, 3, 5, 4, 7, 6]
    triangle = arrays[graphs["pairs"]].reshape(-1, 2)[8:11]
    assert sorted(map(tuple, triangle.tolist())) == [(0, 1), (0, 2), (1, 2)]


def test_dataset_has_its_classes(run, cora):
    write_embeddings("v.npy", Embeddings(np.arange(1500), np.random.default_rng(0).normal(size=(1500, 4))))
    run(f"explore v.npy --labels cora-linqs --graph cora-linqs --data-root {cora} --layout pca -o page.html")
    header, _ = shown("page.html")
    label = next(column for column in header["columns"] if column["name"] == "label")
    assert len(label["levels"]) == 7
    assert header["ids"] is None


def test_mistakes_are_refused(refused, table):
    Path("other.csv").write_text("id,kind\nx,1\n")
    refused("explore v.parquet", "-o page.html", "--serve")
    refused("explore v.parquet --serve -o page.html", "--serve", "omit")
    refused("explore v.parquet -o page.png", "page.png", ".html")
    refused("explore v.parquet -o page.html --parquet points.csv", "points.csv", ".parquet")
    refused("explore v.parquet -o page.html --parquet v.parquet", "also an input")
    refused("explore v.parquet -o page.html --labels other.csv", "other.csv", "none of the ids")
    refused("explore v.parquet -o page.html --labels nodes.csv --label-column size", "'size'", "kind")
    refused("explore v.parquet -o page.html --labels nodes.csv --x left", "--x and --y")
    refused("explore v.parquet -o page.html --labels nodes.csv --x left --y kind", "'kind'", "numbers")
    refused("explore v.parquet -o page.html --neighbors -1", "--neighbors", "at least 0")
    refused("explore v.parquet -o page.html --layout map", "map", "tsne")
    refused("explore v.parquet -o page.html --compare missing.parquet", "missing.parquet")
    refused("explore v.parquet -o page.html --model nowhere", "nowhere")
    Path("few.csv").write_text("id,a,b\nn0,1,2\nn1,2,3\n")
    refused("explore v.parquet -o page.html --compare few.csv", "few.csv", "n2")
    Path("model").mkdir()
    Path("model/config.json").write_text("{}")
    refused("explore model -o page.html", "model", "not an mvgrl model")

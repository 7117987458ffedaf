"""Positions show communities, new nodes are placed beside their neighbours, and unrelated graphs are rejected."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

import mvgrl
from mvgrl import NodeEmbedder
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.positions import PositionEncoder, log_similarity, positions
from mvgrl.views import PPR
from mvgrl.views.adjacency import with_self_loops


def of(graph: nx.Graph) -> Graph:
    return Graph.from_scipy(sp.csr_array(nx.to_scipy_sparse_array(graph, nodelist=sorted(graph), weight=None)))


def partition(groups: int, size: int, inside: float, outside: float, seed: int = 0) -> tuple[Graph, np.ndarray]:
    graph = nx.planted_partition_graph(groups, size, inside, outside, seed=seed)
    return of(graph), np.repeat(np.arange(groups), size)


def agreement(vectors: np.ndarray, groups: np.ndarray) -> float:
    found = KMeans(len(set(groups.tolist())), n_init=10, random_state=0).fit_predict(vectors)
    return float(normalized_mutual_info_score(groups, found))


def test_similarity_is_the_logarithm_of_how_much_more_often_walks_end_at_a_node() -> None:
    graph = of(nx.path_graph(6))
    exact, degrees = PPR(alpha=0.1)(graph), with_self_loops(graph)[1]
    for i in range(6):
        for j in range(6):
            ratio = exact[i, j] * degrees.sum() / np.sqrt(degrees[i] * degrees[j])
            assert log_similarity(graph)[i, j] == pytest.approx(np.log(max(1.0, ratio)), abs=2e-3)


def test_an_entry_that_is_cut_from_one_row_is_taken_from_the_other(monkeypatch) -> None:
    graph = of(nx.path_graph(9))
    whole = log_similarity(graph).toarray()
    monkeypatch.setattr("mvgrl.positions._FEWEST", 3)
    monkeypatch.setattr("mvgrl.positions._MOST", 3)
    cut = log_similarity(graph).toarray()
    assert np.flatnonzero(cut[2]).tolist() == [0, 1, 2, 3]  # one more than three: node 2 is in the row of node 0
    np.testing.assert_allclose(cut[cut > 0], whole[cut > 0], atol=2e-3)


def test_positions_are_deterministic_and_of_length_one_on_average() -> None:
    graph, _ = partition(4, 20, 0.4, 0.02)
    first, second = positions(graph), positions(graph)
    assert np.array_equal(first, second)
    assert (first**2).sum(axis=1).mean() == pytest.approx(1.0, abs=1e-5)


def test_inner_products_of_positions_are_those_of_the_rows_of_the_similarity() -> None:
    graph, _ = partition(3, 15, 0.5, 0.05)
    found, rows = positions(graph).astype(float), log_similarity(graph).toarray()
    wanted = rows @ rows.T
    assert np.abs(found @ found.T * np.trace(wanted) / len(found) - wanted).max() < 1e-4 * np.abs(wanted).max()


def test_permuted_nodes_have_the_same_relative_positions() -> None:
    graph, _ = partition(3, 12, 0.6, 0.05)
    order = np.random.default_rng(0).permutation(graph.nodes)
    permuted = Graph.from_scipy(sp.csr_array(graph.adjacency[order][:, order]))
    first, second = positions(graph)[order].astype(float), positions(permuted).astype(float)
    assert np.abs(first @ first.T - second @ second.T).max() < 5e-3


def test_default_vectors_show_planted_communities() -> None:
    graph, groups = partition(10, 30, 0.3, 0.02)
    assert agreement(NodeEmbedder().fit_transform(graph), groups) >= 0.98


def test_default_vectors_show_cliques_in_a_ring() -> None:
    graph = of(nx.ring_of_cliques(12, 8))
    assert agreement(NodeEmbedder().fit_transform(graph), np.repeat(np.arange(12), 8)) >= 0.98


def test_default_vectors_show_the_two_sides_of_the_karate_club() -> None:
    club = nx.karate_club_graph()
    sides = np.array([club.nodes[node]["club"] == "Officer" for node in club])
    assert agreement(NodeEmbedder().fit_transform(of(club)), sides) >= 0.7


def test_node_labels_take_precedence_over_positions() -> None:
    edges = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], node_labels=["a", "b", "a", "b"])
    assert "node labels" in NodeEmbedder(epochs=1).fit(edges).choices_["features"]


def test_degree_is_one_more_column_without_dominating() -> None:
    graph, _ = partition(3, 20, 0.5, 0.05)
    alone, both = (PositionEncoder(kind).fit(graph) for kind in ("position", "position+degree"))
    columns = both.transform(graph).dense()
    assert both.width == alone.width + 1
    assert np.corrcoef(columns[:, -1], np.log1p(graph.degrees))[0, 1] == pytest.approx(1.0, abs=1e-5)
    assert columns[:, -1].square().mean().sqrt() == pytest.approx(
        float(np.sqrt((alone.positions_**2).mean())), rel=1e-3
    )


def grown(graph: Graph, neighbours: list[int]) -> Graph:
    """The graph with one more node."""
    entries = sp.coo_array(graph.adjacency)
    rows, columns = entries.coords
    ends = np.array(neighbours, dtype=rows.dtype)
    new = np.full_like(ends, graph.nodes)
    return Graph.from_edges(np.concatenate([rows, new]), np.concatenate([columns, ends]), nodes=graph.nodes + 1)


def test_a_new_node_is_placed_in_the_community_of_its_neighbours(caplog: pytest.LogCaptureFixture) -> None:
    graph, groups = partition(5, 30, 0.4, 0.01)
    embedder = NodeEmbedder(epochs=100).fit(graph)
    vectors = embedder.transform(grown(graph, [60, 61, 62, 63]))
    distances = np.linalg.norm(vectors[:-1] - vectors[-1], axis=1)
    assert groups[distances.argsort()[:10]].tolist() == [2] * 10
    assert "1 of 151 nodes are not in the training graph" in caplog.text
    old = np.linalg.norm(vectors[:-1] - embedder.embedding_, axis=1)
    assert np.median(old) < 0.1 * np.median(distances)


def test_known_nodes_are_recognised_by_their_ids_in_any_order() -> None:
    graph, _ = partition(3, 20, 0.5, 0.02)
    ids = np.array([f"n{number}" for number in range(graph.nodes)])
    embedder = NodeEmbedder(epochs=5).fit(NamedGraph(graph, ids))
    order = np.random.default_rng(0).permutation(graph.nodes)
    permuted = NamedGraph(Graph.from_scipy(sp.csr_array(graph.adjacency[order][:, order])), ids[order])
    np.testing.assert_allclose(embedder.transform(permuted), embedder.embedding_[order], atol=2e-3)


def test_a_node_without_a_path_to_known_nodes_has_finite_vectors() -> None:
    graph, _ = partition(3, 20, 0.5, 0.02)
    embedder = NodeEmbedder(epochs=5).fit(graph)
    assert np.isfinite(embedder.transform(grown(graph, []))).all()


def test_an_unrelated_graph_is_rejected(input_error) -> None:
    graph, _ = partition(5, 30, 0.4, 0.01)
    embedder = NodeEmbedder(epochs=2).fit(graph)
    other, _ = partition(5, 30, 0.4, 0.01, seed=9)
    shuffled = np.random.default_rng(0).permutation(other.nodes)
    unrelated = Graph.from_scipy(sp.csr_array(other.adjacency[shuffled][:, shuffled]))
    input_error(lambda: embedder.transform(unrelated), "another graph", "features 'degree")
    names = NamedGraph(graph, np.array([f"n{number}" for number in range(graph.nodes)]))
    input_error(lambda: embedder.transform(names), "no node of the training graph", "features 'degree")


def test_positions_of_many_graphs_are_rejected(input_error) -> None:
    two = Graph.join([of(nx.path_graph(4)), of(nx.cycle_graph(5))])
    input_error(lambda: PositionEncoder("position").fit(two), "one graph", "degree-one-hot")


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_a_saved_model_remembers_positions_and_ids(tmp_path, text: bool) -> None:
    graph, _ = partition(3, 20, 0.5, 0.02)
    numbers = np.arange(graph.nodes) * 3
    named = NamedGraph(graph, numbers.astype(str) if text else numbers)
    embedder = NodeEmbedder(epochs=3).fit(named)
    embedder.save(tmp_path / "model")
    again = mvgrl.load(tmp_path / "model")
    assert np.array_equal(again.transform(named), embedder.embedding_)


@pytest.mark.parametrize(
    "change",
    [
        {"positions": np.zeros((3, 2), np.float32)},
        {"positions": np.full((5, 5), np.nan, np.float32)},
        {"factors": np.zeros(4, np.float32)},
        {"likeness": np.zeros(2)},
        {"degree_scale": np.zeros(3)},
        {"ids": np.zeros(5, np.int64)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_damaged_state_is_rejected(change: dict[str, np.ndarray], input_error) -> None:
    encoder = PositionEncoder("position").fit(of(nx.path_graph(5)))
    input_error(lambda: PositionEncoder.from_arrays(encoder.to_arrays() | change, **encoder.settings()), "features/")

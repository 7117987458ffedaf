"""Link prediction: scores against closed forms and networkx, and held-out edges that nothing is trained on."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import mvgrl.evaluation.missing_links as missing
from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation.link_scores import cosines, heuristics, hits, ranking_scores
from mvgrl.evaluation.link_split import draw_at_distance_two, draw_non_edges, edge_pairs, split_edges
from mvgrl.evaluation.links import LABELS, best_model, fit_products, score_split
from mvgrl.evaluation.missing_links import candidates, missing_links


@pytest.fixture(scope="module")
def karate():
    return nx.karate_club_graph()


@pytest.fixture(scope="module")
def adjacency(karate):
    return sp.csr_array(nx.to_scipy_sparse_array(karate, weight="weight", dtype=np.float64))


def blocks(sizes, inside=0.5, seed=0):
    """Return a graph of dense groups, and a noisy indicator of the group as vectors."""
    graph = nx.stochastic_block_model(sizes, np.eye(len(sizes)) * (inside - 0.01) + 0.01, seed=seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    vectors = np.eye(len(sizes))[group] + 0.1 * np.random.default_rng(seed).normal(size=(sum(sizes), len(sizes)))
    return sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=np.float64)), vectors


def as_set(pairs):
    return {tuple(pair) for pair in pairs.tolist()}


def test_heuristics_are_those_of_networkx(karate, adjacency):
    pairs = np.array(list(nx.non_edges(karate)))
    found = heuristics(adjacency, pairs)
    theirs = [value for *_, value in nx.adamic_adar_index(karate, pairs.tolist())]
    np.testing.assert_allclose(found["adamic_adar"], theirs)
    assert found["common_neighbors"].tolist() == [len(list(nx.common_neighbors(karate, *pair))) for pair in pairs]
    products = [value for *_, value in nx.preferential_attachment(karate, pairs.tolist())]
    assert found["degree_product"].tolist() == products


def test_a_known_edge_is_scored_as_if_it_were_missing(karate, adjacency):
    pairs = edge_pairs(adjacency)
    found = heuristics(adjacency, pairs)
    for row in (0, 20, 77):
        graph = karate.copy()
        graph.remove_edge(*pairs[row])
        ((*_, product),) = nx.preferential_attachment(graph, [tuple(pairs[row])])
        ((*_, index),) = nx.adamic_adar_index(graph, [tuple(pairs[row])])
        assert found["degree_product"][row] == product
        assert found["adamic_adar"][row] == pytest.approx(index)


@pytest.mark.parametrize(
    ("edges", "others", "auc", "precision"),
    [
        ([3.0, 2.0], [1.0, 0.0], 1.0, 1.0),
        ([0.0, 1.0], [2.0, 3.0], 0.0, (1 / 3 + 2 / 4) / 2),
        ([1.0, 1.0], [1.0, 1.0], 0.5, 0.5),
        ([4.0, 2.0], [3.0, 1.0], 0.75, (1 + 2 / 3) / 2),
    ],
)
def test_ranking_scores_have_their_closed_forms(edges, others, auc, precision):
    found = ranking_scores(np.array(edges), np.array(others))
    assert found["auc"] == pytest.approx(auc)
    assert found["average_precision"] == pytest.approx(precision)


def test_hits_are_above_the_fiftieth_other_pair_and_ties_do_not_count():
    others = np.arange(100.0)  # the 50th highest is 50
    assert hits(np.array([49.0, 50.0, 50.5, 200.0]), others) == 0.5
    assert hits(np.zeros(3), np.zeros(60)) == 0
    assert np.isnan(hits(np.ones(3), np.zeros(50)))
    with pytest.raises(SettingsError, match="no pairs"):
        ranking_scores(np.empty(0), np.ones(3))


def test_a_split_holds_out_a_tenth_of_the_edges_and_as_many_other_pairs(adjacency):
    split = split_edges(adjacency, seed=4)
    assert [len(part) for part in (split.train, split.val, split.test)] == [63, 7, 8]
    assert [len(part) for part in (split.train_none, split.val_none, split.test_none)] == [63, 7, 8]
    edges = as_set(edge_pairs(adjacency))
    assert as_set(split.train) | as_set(split.val) | as_set(split.test) == edges
    none = as_set(split.train_none) | as_set(split.val_none) | as_set(split.test_none)
    assert len(none) == 78
    assert not none & edges
    assert all(one < other for one, other in none | edges)


def test_held_out_edges_are_absent_from_the_train_graph_and_the_others_keep_their_weights(adjacency):
    split = split_edges(adjacency, seed=4)
    assert as_set(edge_pairs(split.adjacency)) == as_set(split.train)
    for held in (split.val, split.test):
        assert not split.adjacency[held[:, 0], held[:, 1]].any()
        assert not split.adjacency[held[:, 1], held[:, 0]].any()
    assert (split.adjacency != split.adjacency.T).nnz == 0
    one, other = split.train.T
    assert np.array_equal(split.adjacency[one, other], adjacency[one, other])


def test_splits_repeat_and_differ_by_seed(adjacency):
    one, same, other = (split_edges(adjacency, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.test, same.test)
    assert np.array_equal(one.test_none, same.test_none)
    assert as_set(one.test) != as_set(other.test)


def test_pairs_without_an_edge_are_found_in_dense_graphs_too():
    graph = nx.complete_graph(12)
    graph.remove_edges_from([(0, one) for one in range(1, 6)])
    adjacency = sp.csr_array(nx.to_scipy_sparse_array(graph))
    found = draw_non_edges(adjacency, 5, np.random.default_rng(0))
    assert as_set(found) == {(0, one) for one in range(1, 6)}
    with pytest.raises(InputError, match="61 pairs of nodes without an edge are needed, but the graph has only 5"):
        split_edges(adjacency)


def test_graphs_with_too_few_edges_and_impossible_fractions_are_rejected(adjacency):
    path = sp.csr_array(nx.to_scipy_sparse_array(nx.path_graph(20)))
    with pytest.raises(InputError, match="19 edges; link prediction needs at least 20"):
        split_edges(path)
    for fraction in (0.0, 1.0, -1.0):
        with pytest.raises(SettingsError, match="test_fraction"):
            split_edges(adjacency, test_fraction=fraction)
    with pytest.raises(SettingsError, match="nothing is left"):
        split_edges(adjacency, test_fraction=0.999)


def test_vectors_that_show_the_groups_rank_edges_first_and_degrees_do_not():
    adjacency, vectors = blocks([40, 40, 40])
    split = split_edges(adjacency, seed=0)
    result = score_split(split, vectors)
    assert list(result.test) == list(LABELS)
    auc = {name: scores["auc"] for name, scores in result.test.items()}
    assert min(auc[name] for name in ("cosine", "logistic", "combined", "adamic_adar")) > 0.85
    assert auc["degree_product"] < 0.7
    assert best_model([result]) in ("cosine", "logistic", "combined", "adamic_adar")
    with pytest.raises(InputError, match="119 vectors for 120 nodes"):
        score_split(split, vectors[:-1])


def test_useless_vectors_do_not_hide_that_the_graph_alone_is_better():
    adjacency, vectors = blocks([30, 30, 30])
    noise = np.random.default_rng(1).normal(size=vectors.shape)
    results = [score_split(split_edges(adjacency, seed=seed), noise) for seed in range(2)]
    mean = {name: np.mean([result.test[name]["auc"] for result in results]) for name in LABELS}
    assert mean["adamic_adar"] > mean["cosine"] + 0.2
    assert mean["combined"] > mean["cosine"] + 0.2
    assert best_model(results) in ("adamic_adar", "common_neighbors", "combined")


def test_test_edges_influence_no_model():
    adjacency, vectors = blocks([40, 40])
    split = split_edges(adjacency, seed=0)
    model = fit_products(vectors, split.train, split.train_none, val=(split.val, split.val_none))
    from dataclasses import replace

    swapped = replace(split, test=split.test_none, test_none=split.test)
    one, other = score_split(split, vectors), score_split(swapped, vectors)
    assert one.val == other.val
    assert one.strength == other.strength == model.strength
    for name in LABELS:
        assert one.test[name]["auc"] == pytest.approx(1 - other.test[name]["auc"])


def test_cosines_do_not_depend_on_the_block(monkeypatch):
    vectors = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    pairs = np.random.default_rng(1).integers(20, size=(50, 2))
    whole = cosines(vectors, pairs)
    monkeypatch.setattr("mvgrl.evaluation.link_scores._BLOCK", 20)
    assert np.array_equal(cosines(vectors, pairs), whole)


@pytest.mark.parametrize("block", [2**22, 5])
def test_candidates_are_pairs_at_distance_two_and_nearest_neighbours(karate, adjacency, monkeypatch, block):
    monkeypatch.setattr(missing, "_BLOCK", block)
    monkeypatch.setattr(missing, "NEAREST", 1)
    vectors = np.random.default_rng(0).normal(size=(34, 3))
    found = np.concatenate(list(candidates(adjacency, vectors)))
    assert len(as_set(found)) == len(found)
    distance = dict(nx.all_pairs_shortest_path_length(karate))
    two = {(one, other) for one in karate for other in karate if one < other and distance[one][other] == 2}
    cosine = vectors @ vectors.T / np.outer(*2 * [np.linalg.norm(vectors, axis=1)]) - 2 * np.eye(34)
    near = {tuple(sorted((one, int(other)))) for one, other in enumerate(cosine.argmax(axis=1))}
    assert as_set(found) == two | {pair for pair in near if not karate.has_edge(*pair)}


def test_the_highest_scores_are_kept_in_order_with_ties_by_node(adjacency, monkeypatch):
    vectors = np.random.default_rng(0).normal(size=(34, 3))
    every = np.concatenate(list(candidates(adjacency, vectors)))
    monkeypatch.setattr(missing, "_BLOCK", 50)

    def score(pairs):
        return (pairs.sum(axis=1) % 5).astype(float)

    found = missing_links(adjacency, vectors, score, 20)
    order = np.lexsort((every[:, 1], every[:, 0], -score(every)))[:20]
    assert np.array_equal(found.pairs, every[order])
    assert found.candidates == len(every)
    assert len(missing_links(adjacency, vectors, score, 10**6).pairs) == len(every)
    with pytest.raises(SettingsError, match="count is 0"):
        missing_links(adjacency, vectors, score, 0)


def test_vectors_of_zeros_are_no_obstacle(adjacency):
    found = missing_links(adjacency, np.zeros((34, 2)), lambda pairs: np.ones(len(pairs)), 3)
    assert len(found.pairs) == 3


def test_drawn_pairs_at_distance_two_are_at_distance_two(karate, adjacency):
    distance = dict(nx.all_pairs_shortest_path_length(karate))
    without = np.array([(one, other) for one in range(10) for other in range(one + 1, 34)])
    found = draw_at_distance_two(adjacency, 60, np.random.default_rng(0), without)
    assert 20 < len(found) <= 60
    assert len(as_set(found)) == len(found)
    assert {distance[one][other] for one, other in found.tolist()} == {2}
    assert not as_set(found) & as_set(without)
    empty = sp.csr_array((3, 3))
    assert draw_at_distance_two(empty, 5, np.random.default_rng(0), without[:0]).shape == (0, 2)


def test_the_model_for_missing_links_is_chosen_among_pairs_at_distance_two():
    graph = nx.connected_caveman_graph(12, 8)  # cliques; test edges, which are unknown, are among the other pairs
    adjacency = sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=np.float64))
    vectors = np.random.default_rng(0).normal(size=(96, 4))
    result = score_split(split_edges(adjacency, seed=0), vectors)
    assert max(result.val, key=result.val.__getitem__) in ("adamic_adar", "common_neighbors", "combined")
    assert result.val["adamic_adar"] > result.val["cosine"] + 0.1

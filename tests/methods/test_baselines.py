"""Vectors of nodes and graphs that take no training: against closed forms, and on graphs with known groups."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics import normalized_mutual_info_score

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.graphs.refinement import wl_counts
from mvgrl.methods import METHODS, deepwalk, factorisation, netmf, propagated_components
from mvgrl.settings import Output, literal
from mvgrl.training import fit
from mvgrl.views import PPR, Adjacency

CPU = torch.device("cpu")
PLAIN = literal(dict(normalise="none"))
STRUCTURE = ("spectral", "netmf", "deepwalk")
PROPAGATED = ("propagated-beside", "propagated-1", "propagated-2", "propagated-3")


def planted(groups: int = 4, size: int = 25, seed: int = 0) -> tuple[Graph, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    chance = np.where(group[:, None] == group, 0.4, 0.02)
    ends = np.nonzero(np.triu(rng.random(chance.shape) < chance, 1))
    return Graph.from_edges(*ends, nodes=len(group), features=rng.standard_normal((len(group), 6))), group


def vectors(name: str, graph: Graph, context: Any, seeds: tuple[int, ...] = (0,), settings: Any = PLAIN) -> np.ndarray:
    data = Dataset("any", graph, np.zeros(1, int), settings.task, None, ("a",), "")
    found = METHODS[name].outcomes(data, settings, Output(), seeds, context)[-1].vectors
    assert found is not None
    return found


@pytest.fixture
def few_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer and shorter walks, which is enough for a small graph."""
    monkeypatch.setattr(deepwalk, "WALKS", 20)
    monkeypatch.setattr(deepwalk, "LENGTH", 20)


@pytest.mark.usefixtures("few_walks")
@pytest.mark.parametrize("name", STRUCTURE)
def test_vectors_of_the_structure_find_planted_groups(name: str, context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[type(METHODS[name]).__module__], "VECTOR_SIZE", 4)  # as in spectral clustering
    graph, group = planted()
    found = vectors(name, graph, context)
    assert found.shape == (100, 4)
    clusters = KMeans(4, n_init=10, random_state=0).fit_predict(found)
    assert normalized_mutual_info_score(group, clusters) > 0.95


@pytest.mark.usefixtures("few_walks")
@pytest.mark.parametrize("name", [*STRUCTURE, *PROPAGATED])
def test_vectors_are_deterministic_and_isolated_nodes_finite(name: str, context: Any) -> None:
    graph, _ = planted(2, 10)
    lonely = Graph.join([graph, Graph.from_edges([], [], nodes=3, features=np.zeros((3, 6)))])
    lonely = Graph(lonely.adjacency, lonely.features)
    found = vectors(name, lonely, context)
    assert found.dtype == np.float32
    assert found.shape[0] == 23
    assert found.shape[1] <= 23
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, vectors(name, lonely, context))


@pytest.mark.usefixtures("few_walks")
@pytest.mark.parametrize("name", STRUCTURE)
@pytest.mark.parametrize("nodes", [1, 3])
def test_a_graph_without_edges_has_finite_vectors(name: str, nodes: int, context: Any) -> None:
    found = vectors(name, Graph.from_edges([], [], nodes=nodes), context)
    assert found.shape[0] == nodes
    assert np.isfinite(found).all()


def test_spectral_vectors_equal_those_of_scikit_learn(context: Any) -> None:
    graph, _ = planted(3, 20)
    found = vectors("spectral", graph, context)[:, :5]
    expected = SpectralEmbedding(5, affinity="precomputed").fit_transform(graph.adjacency.toarray())
    for one, other in zip(found.T, expected.T, strict=True):
        assert abs(one @ other) / np.linalg.norm(one) / np.linalg.norm(other) == pytest.approx(1, abs=1e-5)


def test_spectral_vectors_of_several_components_leave_out_the_constant_only(
    context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["mvgrl.methods.spectral"], "VECTOR_SIZE", 2)
    three = Graph(Graph.join([connected()] * 3).adjacency)
    found = vectors("spectral", three, context)
    degrees = three.adjacency.sum(axis=1)
    np.testing.assert_allclose(degrees @ found, 0, atol=1e-2)  # orthogonal to the constant, weighted by degree
    component = found.reshape(3, 50, 2)
    np.testing.assert_allclose(component, component[:, :1].repeat(50, axis=1), atol=1e-5)  # a point per component
    distances = np.linalg.norm(component[:, None, 0] - component[None, :, 0], axis=2)
    np.testing.assert_allclose(distances, 6**0.5 * (1 - np.eye(3)), atol=1e-5)  # all equally far from each other


def dense_netmf(graph: Graph) -> np.ndarray:
    """log max(M, 1) as in the paper, from the walk matrix."""
    adjacency = graph.adjacency.toarray()
    inverse = np.diag(1 / adjacency.sum(axis=1))
    walk = inverse @ adjacency
    powers = sum(np.linalg.matrix_power(walk, step) for step in range(1, 11))
    return np.log(np.maximum(adjacency.sum() / 10 * powers @ inverse, 1))


def connected() -> Graph:
    rng = np.random.default_rng(3)
    ring = np.arange(50)
    ends = rng.integers(0, 50, (2, 60))
    return Graph.from_edges(np.append(ring, ends[0]), np.append((ring + 1) % 50, ends[1]))


def test_netmf_factorises_the_matrix_of_its_paper(context: Any) -> None:
    expected = dense_netmf(connected())
    np.testing.assert_allclose(netmf.exact_matrix(connected(), CPU).dense(), expected, atol=1e-10)
    found = vectors("netmf", connected(), context)
    left, values, _ = np.linalg.svd(expected)
    np.testing.assert_allclose(found @ found.T, (left * values) @ left.T, atol=1e-4)


def test_netmf_of_a_large_graph_filters_the_eigenvalues(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = connected()
    monkeypatch.setattr(netmf, "_CHUNK", 50 * 7)  # seven rows at a time
    found = netmf.low_rank_matrix(graph, CPU, 50).multiply(torch.eye(50, dtype=torch.float64)).numpy()
    values, axes = np.linalg.eigh(normalised(graph))
    powers = np.maximum(np.mean([values**step for step in range(1, 11)], axis=0), 0)
    root = 1 / np.sqrt(graph.adjacency.sum(axis=1))
    expected = graph.adjacency.sum() * root[:, None] * ((axes * powers) @ axes.T) * root
    np.testing.assert_allclose(found, np.log(np.maximum(expected, 1)), atol=1e-4)


def normalised(graph: Graph) -> np.ndarray:
    root = 1 / np.sqrt(graph.adjacency.sum(axis=1))
    return root[:, None] * graph.adjacency.toarray() * root


def test_netmf_of_a_large_graph_finds_planted_groups(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netmf, "_EXACT", 50)
    monkeypatch.setattr(netmf, "_RANK", 10)
    monkeypatch.setattr(netmf, "VECTOR_SIZE", 8)
    monkeypatch.setattr(factorisation, "_EXACT", 50)
    graph, group = planted()
    clusters = KMeans(4, n_init=10, random_state=0).fit_predict(vectors("netmf", graph, context))
    assert normalized_mutual_info_score(group, clusters) > 0.95


@pytest.mark.usefixtures("few_walks")
def test_deepwalk_has_other_vectors_for_another_seed(context: Any) -> None:
    graph, _ = planted(2, 10)
    assert not np.allclose(vectors("deepwalk", graph, context, (0,)), vectors("deepwalk", graph, context, (1,)))


@pytest.mark.usefixtures("few_walks")
def test_deepwalk_with_features_has_both_side_by_side_and_walks_once(context: Any) -> None:
    graph, _ = planted(2, 10)
    found = vectors("deepwalk-features", graph, context)
    np.testing.assert_array_equal(found[:, :-6], vectors("deepwalk", graph, context))
    np.testing.assert_allclose(found[:, -6:], graph.features / np.abs(graph.features).sum(axis=1)[:, None], atol=1e-6)
    assert len(context.made) == 1


def gram_of_unit_rows(view: np.ndarray, features: np.ndarray) -> np.ndarray:
    table = view @ features
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    table -= table.mean(axis=0)
    return table @ table.T


def test_propagated_features_side_by_side_have_equal_variance(context: Any) -> None:
    graph, _ = planted()
    found = vectors("propagated-beside", graph, context)
    assert found.shape == (100, 12)
    for part, view in zip((found[:, :6], found[:, 6:]), (Adjacency()(graph).toarray(), PPR()(graph)), strict=True):
        expected = gram_of_unit_rows(view, graph.features)
        np.testing.assert_allclose(part @ part.T, 100 * expected / np.trace(expected), atol=1e-5)
        assert part.var(axis=0).sum() == pytest.approx(1, abs=1e-5)


def test_default_vectors_without_codes_are_the_other_parts_of_default_vectors(context: Any) -> None:
    graph, _ = planted()
    trained = fit(graph, replace(PLAIN, hidden=8, epochs=2), device="cpu")
    space = trained.compose(Output()).space
    columns = trained.vectors(output=Output(dim=0)) @ space.directions(0).numpy().T
    others = columns[:, sum(space.widths[:2]) :]
    found = vectors("beside-alone", graph, context)
    expected, gram = others @ others.T, found @ found.T
    np.testing.assert_allclose(gram / np.trace(gram), expected / np.trace(expected), atol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_propagated_steps_are_powers_of_the_adjacency(steps: int, context: Any) -> None:
    graph, _ = planted()
    found = vectors(f"propagated-{steps}", graph, context)
    view = np.linalg.matrix_power(Adjacency()(graph).toarray(), steps)
    np.testing.assert_allclose(found @ found.T, gram_of_unit_rows(view, graph.features), atol=1e-5)


@pytest.mark.parametrize("normalise", ["none", "standard"])
@pytest.mark.parametrize("exact", [True, False])
def test_wide_features_are_only_multiplied(
    normalise: str, exact: bool, context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    features = (rng.random((100, 60)) < 0.05) * rng.random((100, 60))
    graph, _ = planted()
    graph = Graph(graph.adjacency, features)
    settings = replace(PLAIN, normalise=normalise)
    monkeypatch.setattr(propagated_components, "VECTOR_SIZE", 60)
    expected = vectors("propagated-2", graph, context, settings=settings)
    monkeypatch.setattr(propagated_components, "_LARGEST_DENSE", 0)
    monkeypatch.setattr(propagated_components, "_CHUNK", 7)
    monkeypatch.setattr(factorisation, "_EXACT", 2048 if exact else 0)
    monkeypatch.setattr(factorisation, "_EXTRA", 0)
    found = vectors("propagated-2", graph, context, settings=settings)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_wl_vectors_have_the_inner_products_of_the_centred_roots(context: Any) -> None:
    rng = np.random.default_rng(5)
    graphs = Graph.join([Graph.from_edges(*rng.integers(0, 8, (2, 12)), nodes=8) for _ in range(30)])
    found = vectors("wl", graphs, context, settings=literal(dict(task="graph")))
    table = np.sqrt(wl_counts(graphs).toarray())
    table -= table.mean(axis=0)
    assert found.shape == (30, 29)
    np.testing.assert_allclose(found @ found.T, table @ table.T, atol=1e-4)
    assert (np.diff(found.var(axis=0)) <= 1e-6).all()

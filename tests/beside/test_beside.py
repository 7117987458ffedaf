"""What is beside the codes equals a naive computation with dense matrices and dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl.beside import Counts, Propagated
from mvgrl.graphs import Graph
from mvgrl.graphs.features import CentredMatrix
from mvgrl.inputs import Inputs, prepare
from mvgrl.settings import Settings, literal
from mvgrl.training import fit

RANK = 20


def word_graph(nodes: int, width: int, seed: int = 0) -> Graph:
    """Sparse counts of few topics, so that a few components are enough."""
    rng = np.random.default_rng(seed)
    topics = rng.random((RANK, width)) * (rng.random((RANK, width)) < 0.05)
    words = (rng.random((nodes, RANK)) * (rng.random((nodes, RANK)) < 0.2)) @ topics
    return Graph.from_scipy(sp.random(nodes, nodes, 0.05, random_state=rng), sp.csr_array(words))


def node_inputs(graph: Graph, **more: object) -> Inputs:
    return prepare(graph, literal({"hidden": 4, **more}), device="cpu")


def graph_inputs(*graphs: Graph) -> Inputs:
    return prepare(Graph.join(graphs), literal({"task": "graph", "hidden": 4}), device="cpu")


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-12)


def propagated_densely(inputs: Inputs, part: int) -> np.ndarray:
    """Return X for the first part, then V^8·X for the adjacency and S·X for a diffusion, in double precision."""
    features = inputs.features.dense().double().numpy()
    if part == 0:
        return features
    steps = {"adjacency": 8}.get(inputs.settings.views[part - 1].name, 1)
    return np.linalg.matrix_power(inputs.views[part - 1].dense().double().numpy(), steps) @ features


# Propagated features


@pytest.mark.parametrize("nodes", [50, 400])
@pytest.mark.parametrize("normalise", ["row", "standard", "none"])
def test_wide_features_are_projected_on_their_leading_directions(nodes: int, normalise: str) -> None:
    inputs = node_inputs(word_graph(nodes, 500), normalise=normalise)
    assert isinstance(inputs.features, CentredMatrix) == (normalise == "standard")
    beside = Propagated.fit(inputs)
    for number, part in enumerate(beside.parts(inputs)):
        whole = propagated_densely(inputs, number)
        directions = np.linalg.svd(whole, full_matrices=False)[2][:256].T
        expected = unit(whole @ directions)
        assert part.shape == (nodes, min(nodes, 256))
        np.testing.assert_allclose(part @ part.T, expected @ expected.T, atol=2e-4)
        basis = beside.bases[number]
        assert basis is not None
        torch.testing.assert_close(basis.T @ basis, torch.eye(len(basis.T)), atol=1e-4, rtol=0)


def test_narrow_features_are_not_compressed() -> None:
    inputs = node_inputs(word_graph(60, 30), views=("adjacency", "ppr", "heat"))
    beside = Propagated.fit(inputs)
    assert beside.bases == (None, None, None, None)
    assert beside.widths(30) == [30, 30, 30, 30]
    assert beside.tensors() == {}
    for number, part in enumerate(beside.parts(inputs)):
        np.testing.assert_allclose(part, unit(propagated_densely(inputs, number)), atol=1e-5)


def test_256_features_are_kept_and_257_are_compressed() -> None:
    assert Propagated.fit(node_inputs(word_graph(30, 256))).bases == (None, None, None)
    assert Propagated.fit(node_inputs(word_graph(30, 257))).widths(257) == [30, 30, 30]


@pytest.mark.parametrize("views", [1, 2, 3])
def test_propagated_features_of_all_views_weigh_less_than_the_codes_together(views: int) -> None:
    first, *propagated = Propagated((None,) * (views + 1)).weights
    assert sum(weight**2 for weight in propagated) == pytest.approx(0.7**2)
    assert first == propagated[0]


def test_codes_weigh_half_in_a_large_graph_with_features(monkeypatch) -> None:
    inputs = node_inputs(word_graph(30, 20))
    assert Propagated.fit(inputs).code_weight == 1.0
    monkeypatch.setattr("mvgrl.beside.propagated.LARGE_GRAPH", 29)
    assert Propagated.fit(inputs).code_weight == 0.5
    assert Propagated.fit(inputs).weights == Propagated((None,) * 3).weights
    assert Propagated.fit(node_inputs(word_graph(30, 20), features="position")).code_weight == 1.0


def test_propagated_positions_weigh_as_much_as_the_codes_together() -> None:
    beside = Propagated.fit(node_inputs(word_graph(30, 256), features="position"))
    assert beside.names(Settings()) == ["raw positions", "propagated: adjacency", "propagated: ppr"]
    assert beside.weights == pytest.approx([0.5**0.5] * 3)
    assert beside.by_share == [False] * 3


def test_all_positions_are_kept_however_many() -> None:
    inputs = node_inputs(word_graph(300, 5), features="position")
    assert inputs.features.shape[1] > Propagated.components
    beside = Propagated.fit(inputs)
    assert beside.bases == (None, None, None)
    for number, part in enumerate(beside.parts(inputs)):
        np.testing.assert_allclose(part, unit(propagated_densely(inputs, number)), atol=1e-5)


def test_a_basis_is_used_for_a_new_graph() -> None:
    inputs = node_inputs(word_graph(80, 300))
    beside = Propagated.fit(inputs)
    new = prepare(word_graph(50, 300, seed=1), inputs.settings, device="cpu", encoder=inputs.encoder)
    for number, part in enumerate(beside.parts(new)):
        basis = beside.bases[number]
        assert basis is not None
        expected = unit(propagated_densely(new, number) @ basis.double().numpy())
        np.testing.assert_allclose(part, expected, atol=1e-4)


# Counts


def ring(size: int, labels: str = "") -> Graph:
    nodes = np.arange(size)
    return Graph.from_edges(nodes, (nodes + 1) % size, node_labels=list(labels) or None)


def path(size: int, labels: str = "") -> Graph:
    nodes = np.arange(size - 1)
    return Graph.from_edges(nodes, nodes + 1, nodes=size, node_labels=list(labels) or None)


def star(leaves: int) -> Graph:
    return Graph.from_edges(np.zeros(leaves, dtype=int), np.arange(1, leaves + 1))


def naive_colours(graph: Graph) -> list[list[object]]:
    """Return the nested tuples that are the colours of every node, per round."""
    near = [graph.adjacency[[node]].indices for node in range(graph.nodes)]
    labels = graph.node_labels
    found: list[list[object]] = [[str(len(one)) for one in near] if labels is None else list(map(str, labels))]
    for _ in range(3):
        last = found[-1]
        around = [tuple(sorted((last[n] for n in one), key=repr)) for one in near]
        found.append(list(zip(last, around, strict=True)))
    return found


def naive_counts(graphs: tuple[Graph, ...]) -> tuple[np.ndarray, float]:
    """Return roots of counts, graphs × colours of two or more graphs, and the share of such nodes in the last round."""
    colours = [naive_colours(graph) for graph in graphs]
    counts = [Counter((number, one) for number, row in enumerate(rounds) for one in row) for rounds in colours]
    owners = Counter(colour for count in counts for colour in count)
    shared = [colour for colour, graphs_with_it in owners.items() if graphs_with_it > 1]
    last = [(3, one) for rounds in colours for one in rounds[3]]
    table = np.array([[np.sqrt(count[colour]) for colour in shared] for count in counts])
    return table, sum(owners[one] > 1 for one in last) / len(last)


SETS = {
    "rings and paths": (ring(3), ring(4), ring(5), path(4), path(7), path(8), star(4)),
    "labels": (ring(4, "CCNO"), ring(4, "CCNO"), path(3, "CCN"), path(5, "CNCNC"), path(5, "NCNCN"), ring(3, "OOO")),
    "little in common": (star(3), star(4), star(5), path(3)),
}


@pytest.mark.parametrize("graphs", SETS.values(), ids=list(SETS))
def test_counts_are_those_of_a_dictionary_of_shared_colours(graphs: tuple[Graph, ...]) -> None:
    inputs = graph_inputs(*graphs)
    beside = Counts.fit(inputs)
    table, share = naive_counts(graphs)
    assert len(beside.colours) == table.shape[1]
    assert beside.share == pytest.approx(share)
    with_labels = graphs[0].node_labels is not None
    assert beside.weights == pytest.approx([min(share, 0.25) if with_labels else share, 4.0])
    part, _ = beside.parts(inputs)
    assert part.shape == (len(graphs), min(table.shape))
    np.testing.assert_allclose(part @ part.T, table @ table.T, atol=1e-4)


def test_a_new_graph_alone_has_the_counts_it_has_in_its_set() -> None:
    graphs = SETS["rings and paths"]
    beside = Counts.fit(graph_inputs(*graphs))
    together = beside.parts(graph_inputs(*graphs))
    for number, graph in enumerate(graphs):
        inputs = graph_inputs(*graphs)
        alone = prepare(graph, inputs.settings, device="cpu", encoder=inputs.encoder)
        for one, all_graphs in zip(beside.parts(alone), together, strict=True):
            torch.testing.assert_close(one, all_graphs[[number]], atol=1e-5, rtol=0)


def test_unseen_colours_are_ignored() -> None:
    graphs = SETS["rings and paths"]
    inputs = graph_inputs(*graphs)
    beside = Counts.fit(inputs)
    only_unseen = Graph.from_edges(*np.triu_indices(8, k=1))  # a clique: no training graph has a node of degree 7
    new = prepare(Graph.join([only_unseen, ring(4)]), inputs.settings, device="cpu", encoder=inputs.encoder)
    part, _ = beside.parts(new)
    assert part[0].tolist() == [0.0] * part.shape[1]
    torch.testing.assert_close(part[1], beside.parts(inputs)[0][1], atol=1e-5, rtol=0)


def test_graphs_without_a_shared_colour_have_counts_of_no_weight() -> None:
    beside = Counts.fit(inputs := graph_inputs(path(3, "ABC"), ring(3, "DEF")))
    assert beside.weights == [0.0, 4.0]
    assert bool(beside.parts(inputs)[0].isfinite().all())


def test_vectors_of_graphs_without_a_shared_colour_are_finite() -> None:
    graphs = Graph.join([path(3, "ABC"), ring(3, "DEF"), ring(4, "GHIJ")])
    vectors = fit(graphs, Settings(task="graph", hidden=4, epochs=1), device="cpu").vectors()
    assert vectors.shape == (3, 2)
    assert np.isfinite(vectors).all()


def test_the_most_frequent_colours_are_used_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = SETS["rings and paths"]
    every = Counts.fit(inputs := graph_inputs(*graphs))
    monkeypatch.setattr(Counts, "most_colours", 3)
    few = Counts.fit(inputs)
    assert set(few.colours.tolist()) < set(every.colours.tolist())
    colours = [naive_colours(graph) for graph in graphs]
    counts = [Counter((number, one) for number, row in enumerate(rounds) for one in row) for rounds in colours]
    owners = Counter(colour for count in counts for colour in count).most_common()
    assert [graphs_with_it for _, graphs_with_it in owners[:4]] == [6, 5, 5, 4]
    table = np.sqrt([[count[colour] for colour, _ in owners[:3]] for count in counts])
    part, _ = few.parts(inputs)
    np.testing.assert_allclose(part @ part.T, table @ table.T, atol=1e-4)


@pytest.mark.parametrize("graphs", SETS.values(), ids=list(SETS))
def test_the_histogram_counts_degrees_and_labels(graphs: tuple[Graph, ...]) -> None:
    inputs = graph_inputs(*graphs)
    histogram = Counts.fit(inputs).parts(inputs)[1].numpy()
    wanted = []
    for graph in graphs:
        degrees = Counter(np.diff(graph.adjacency.indptr).tolist())
        labels = Counter([] if graph.node_labels is None else graph.node_labels.tolist())
        wanted.append([*(degrees[one] for one in range(101)), *(labels[one] for one in "CNO")])
    with_labels = graphs[0].node_labels is not None
    np.testing.assert_array_equal(histogram[:, :101], np.array(wanted)[:, :101])
    assert histogram.shape[1] == 101 + 3 * with_labels
    if with_labels:  # in the order of their hashes
        assert sorted(histogram[:, 101:].T.tolist()) == sorted(np.array(wanted)[:, 101:].T.tolist())


def test_a_label_that_no_training_graph_has_is_not_counted() -> None:
    inputs = graph_inputs(*SETS["labels"])
    beside = Counts.fit(inputs)
    new = prepare(path(3, "CCX"), inputs.settings, device="cpu", encoder=inputs.encoder)
    assert beside.parts(new)[1][0, 101:].sum() == 2


def test_the_histogram_has_the_labels_that_most_graphs_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counts, "most_labels", 2)
    inputs = graph_inputs(*SETS["labels"])
    found = Counts.fit(inputs).parts(inputs)[1][:, 101:].numpy()
    counts = [Counter(graph.node_labels.tolist()) for graph in SETS["labels"]]  # C and N are in five graphs, O in three
    assert sorted(found.T.tolist()) == sorted([[float(one[label]) for one in counts] for label in "CN"])

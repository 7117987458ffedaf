from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix, SparseMatrix
from mvgrl.sampling import SAMPLERS, Batch, GraphBatches, NodeBatches, Walk, corrupt_adjacency, walk, window


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ring(nodes: int) -> Graph:
    return Graph.from_edges(np.arange(nodes), (np.arange(nodes) + 1) % nodes)


def random_graph(nodes: int, seed: int = 0) -> Graph:
    return Graph.from_scipy(sp.random(nodes, nodes, 0.1, random_state=seed))


def node_batches(graph: Graph, **options) -> NodeBatches:
    adjacency = SparseMatrix.from_scipy(graph.adjacency, symmetric=True)
    dense = DenseMatrix(torch.from_numpy(graph.adjacency.toarray()).float(), symmetric=True)
    features = DenseMatrix(torch.arange(graph.nodes).float()[:, None])
    return NodeBatches(features, (adjacency, dense), adjacency, **options)


def nodes_of(batch: Batch, rows: torch.Tensor | None = None) -> torch.Tensor:
    """The nodes of a batch: the only feature of a node is its index."""
    return batch.features.dense()[batch.rows if rows is None else rows].flatten().long()


samplers = pytest.mark.parametrize("sampler", [s() for s in SAMPLERS.values() if s.samples], ids=str)


@samplers
@given(nodes=st.integers(1, 60), share=st.floats(0.01, 1), edges=st.booleans(), seed=st.integers(0, 10**6))
def test_sample_has_the_requested_number_of_distinct_nodes(
    sampler, nodes: int, share: float, edges: bool, seed: int
) -> None:
    graph = random_graph(nodes, seed) if edges else Graph.from_edges([], [], nodes=nodes)
    size = max(1, int(share * nodes))
    sample = sampler(SparseMatrix.from_scipy(graph.adjacency), size, seeded(seed))
    assert len(sample) == size == len(set(sample.tolist()))
    assert sample.min() >= 0
    assert sample.max() < nodes
    assert torch.equal(sample, sampler(SparseMatrix.from_scipy(graph.adjacency), size, seeded(seed)))


def test_window_is_contiguous_and_reaches_both_ends() -> None:
    adjacency = SparseMatrix.from_scipy(ring(6).adjacency)
    starts = set()
    for seed in range(60):
        sample = window(adjacency, 4, seeded(seed))
        assert sample.diff().eq(1).all()
        starts.add(int(sample[0]))
    assert starts == {0, 1, 2}


def test_walks_keep_edges_that_uniform_samples_lose() -> None:
    adjacency = SparseMatrix.from_scipy(ring(20_000).adjacency, symmetric=True)

    def kept(name: str) -> int:
        sample = SAMPLERS[name]()(adjacency, 200, seeded())
        return len(adjacency.select(sample, (200,)).values)

    assert kept("walk") > 200 > 20 > kept("nodes")


def test_walks_restart_until_there_are_enough_nodes() -> None:
    pairs = Graph.from_edges(np.arange(0, 40, 2), np.arange(1, 40, 2))  # a walk visits at most two nodes
    sample = walk(SparseMatrix.from_scipy(pairs.adjacency), 40, seeded(), length=5)
    assert sorted(sample.tolist()) == list(range(40))


@pytest.mark.parametrize("sampler", ["nodes", "window", "walk"])
def test_all_views_and_features_are_sampled_at_the_same_nodes(sampler: str) -> None:
    graph = random_graph(30)
    (batch,) = node_batches(graph, sampler=SAMPLERS[sampler](), sample_size=12, batch_size=3).epoch(seeded())
    assert batch.sizes == (12, 12, 12)
    nodes = nodes_of(batch)
    blocks = [graph.adjacency.toarray()[np.ix_(part, part)] for part in nodes.view(3, 12).numpy()]
    for view in batch.views:
        np.testing.assert_allclose(view.dense().numpy(), sp.block_diag(blocks).toarray(), rtol=1e-6)
    assert batch.owner.tolist() == [0] * 12 + [1] * 12 + [2] * 12


def test_only_features_of_sampled_nodes_are_in_the_batch() -> None:
    options = dict(sampler=SAMPLERS["nodes"](), sample_size=5, batch_size=3)
    (few,) = node_batches(random_graph(30), **options).epoch(seeded())
    assert few.features.shape[0] == len(set(nodes_of(few).tolist())) <= 15
    options["sample_size"] = 12
    (most,) = node_batches(random_graph(30), **options).epoch(seeded())
    assert most.features.shape[0] == 30


def test_negatives_permute_the_features_within_each_sample() -> None:
    options = dict(sampler=SAMPLERS["nodes"](), sample_size=12, batch_size=3)
    (batch,) = node_batches(random_graph(30), **options).epoch(seeded())
    own, other = nodes_of(batch).view(3, 12), nodes_of(batch, batch.negative_rows).view(3, 12)
    assert torch.equal(own.sort(1).values, other.sort(1).values)
    assert not torch.equal(own, other)
    (full,) = node_batches(random_graph(30)).epoch(seeded())
    assert full.rows is None
    assert sorted(full.negative_rows.tolist()) == list(range(30))


def test_corrupted_adjacency_is_sampled_at_the_same_nodes() -> None:
    graph = random_graph(30)
    other = SparseMatrix.from_scipy(corrupt_adjacency(graph, seeded()).adjacency, symmetric=True)
    options = dict(sampler=SAMPLERS["nodes"](), sample_size=12, corrupted_views=(other, other), permute=False)
    (batch,) = node_batches(graph, **options).epoch(seeded())
    assert torch.equal(batch.rows, batch.negative_rows)
    assert torch.equal(batch.negative_views[0].dense(), other.dense()[nodes_of(batch)][:, nodes_of(batch)])
    assert batch.has_negatives


def test_corruption_moves_edges_but_keeps_degrees_and_graphs() -> None:
    graphs = [ring(50), ring(80)]
    graph = Graph.join(graphs)
    corrupted = corrupt_adjacency(graph, seeded())
    assert corrupted.sizes.tolist() == [50, 80]
    assert corrupted.edges <= graph.edges
    assert corrupted.edges > 0.9 * graph.edges
    assert (graph.adjacency.multiply(corrupted.adjacency)).nnz < 0.2 * graph.adjacency.nnz
    degrees = np.asarray(corrupted.adjacency.sum(1)).ravel()
    assert np.mean(degrees == 2) > 0.85  # except for the few edges that became self-loops or duplicates


def graph_batches(sizes: tuple[int, ...], **options) -> GraphBatches:
    graph = Graph.join([ring(n) for n in sizes])
    adjacency = SparseMatrix.from_scipy(graph.adjacency, symmetric=True)
    features = DenseMatrix(torch.arange(graph.nodes).float()[:, None])
    return GraphBatches(features, (adjacency,), torch.from_numpy(graph.offsets), adjacency, **options)


def test_epoch_has_every_graph_once_and_no_batch_of_one() -> None:
    batches = list(graph_batches((3, 4, 5, 6, 7), batch_size=2).epoch(seeded()))
    assert sorted(size for batch in batches for size in batch.sizes) == [3, 4, 5, 6, 7]
    assert all(len(batch.sizes) >= 2 for batch in batches)
    seen = torch.cat([batch.features.dense() for batch in batches]).flatten()
    assert sorted(seen.tolist()) == list(range(25))


def test_shuffling_changes_only_the_order() -> None:
    (batch,) = graph_batches((3, 4, 5), batch_size=3).epoch(seeded(1))
    (ordered,) = graph_batches((3, 4, 5), batch_size=3).whole()
    nodes = batch.features.dense().flatten().long()
    assert not torch.equal(nodes, torch.arange(12))
    assert torch.equal(batch.views[0].dense(), ordered.views[0].dense()[nodes][:, nodes])


def test_large_graphs_of_a_batch_are_sampled() -> None:
    batches = graph_batches((3, 40), batch_size=2, sampler=Walk(), sample_size=10)
    (batch,) = batches.epoch(seeded())
    assert sorted(batch.sizes) == [3, 10]
    assert batches.largest == 10
    (full,) = batches.whole()
    assert full.sizes == (3, 40)


@pytest.mark.parametrize("sizes", [(4,), (3, 3), (2, 5, 1)])
def test_pooling_sums_each_graph(sizes: tuple[int, ...]) -> None:
    (batch,) = graph_batches(sizes, batch_size=len(sizes)).whole()
    codes = torch.randn(sum(sizes), 3)
    torch.testing.assert_close(batch.pool(codes), torch.stack([part.sum(0) for part in codes.split(sizes)]))

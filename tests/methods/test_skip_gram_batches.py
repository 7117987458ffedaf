"""Skip-gram over many walks at once: parts against naive versions, and the vectors against those of single walks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.methods.planted import accuracy, planted

from mvgrl.graphs import Graph
from mvgrl.methods.skip_gram import SkipGram
from mvgrl.methods.skip_gram_batches import Training, fit_in_batches

CPU = torch.device("cpu")


def training(nodes: int, engine: SkipGram, counts: np.ndarray | None = None) -> Training:
    drawn = torch.randn(2, nodes, engine.size, generator=torch.Generator().manual_seed(0))
    found = Training(engine, drawn[0].clone(), np.full(nodes, 10) if counts is None else counts, seed=3)
    found.contexts.copy_(drawn[1])
    return found


def test_windows_at_once_equal_a_naive_sum_of_their_steps() -> None:
    made = training(12, SkipGram(size=6, walks=1, length=5, window=2, negatives=2))
    nodes = torch.tensor([[1, 2, 1, 4], [5, 1, 7, 2]])
    targets = torch.tensor([[3, 0, 9], [3, 4, 0]])
    rates = 0.1 * torch.rand(2, 4, 3, generator=torch.Generator().manual_seed(1))
    vectors, contexts = made.vectors.clone(), made.contexts.clone()
    for window in range(2):
        for i, node in enumerate(nodes[window]):
            for j, target in enumerate(targets[window]):
                score = made.vectors[node] @ made.contexts[target]
                step = rates[window, i, j] * (float(j == 0) - score.sigmoid()) * (score.abs() < 6)
                vectors[node] += step * made.contexts[target]
                contexts[target] += step * made.vectors[node]
    made._move(nodes, targets, rates)
    torch.testing.assert_close(made.vectors, vectors)
    torch.testing.assert_close(made.contexts, contexts)


def test_no_target_counts_twice() -> None:
    made = training(4, SkipGram(size=2, walks=1, length=6, negatives=5))
    walks = torch.randint(4, (20, 6), generator=torch.Generator().manual_seed(2))
    targets, counts = made._targets(walks)
    assert torch.equal(targets[..., 0], walks)
    assert counts[..., 0].all()
    for some, real in zip(targets.flatten(0, 1), counts.flatten(0, 1), strict=True):
        assert sorted(some[real].tolist()) == sorted(set(some.tolist()))


def test_negatives_are_drawn_by_a_power_of_how_often_nodes_occur() -> None:
    counts = np.array([1, 16, 81, 0])
    made = training(4, SkipGram(size=2, walks=1, length=100, negatives=50), counts)
    drawn = made._targets(torch.zeros(20, 100, dtype=torch.int64))[0][..., 1:]
    share = torch.bincount(drawn.flatten(), minlength=4) / drawn.numel()
    assert share.tolist() == pytest.approx([1 / 36, 8 / 36, 27 / 36, 0], abs=0.01)


def test_a_frequent_node_makes_batches_smaller() -> None:
    engine = SkipGram(size=4, walks=1, length=5)
    even, counts = np.full(4000, 10), np.full(4000, 10)
    counts[7] = 4000  # a tenth of all
    assert training(4000, engine, even).batch == 1000
    assert training(4000, engine, counts).batch == 16 * counts.sum() // 4000 < 200


def test_vectors_show_communities_as_well_as_those_of_single_walks() -> None:
    data, engine = planted(), SkipGram(size=16, walks=20, length=20, window=5)
    single = accuracy(engine.fit(data.graph, 0), data)
    together = accuracy(fit_in_batches(engine, data.graph, 0, CPU), data)
    assert min(single, together) > 0.9
    assert together == pytest.approx(single, abs=0.05)


def test_a_seed_gives_the_same_vectors_and_isolated_nodes_keep_theirs() -> None:
    graph, engine = Graph.from_edges([0, 1, 2], [1, 2, 0], nodes=5), SkipGram(size=8, walks=2, length=4)
    found = fit_in_batches(engine, graph, 1, CPU)
    np.testing.assert_array_equal(found, fit_in_batches(engine, graph, 1, CPU))
    assert not np.array_equal(found, fit_in_batches(engine, graph, 2, CPU))
    assert np.abs(found[3:]).max() <= 1 / 8
    alone = fit_in_batches(engine, Graph.from_edges([], [], nodes=2), 0, CPU)
    assert alone.shape == (2, 8)
    assert np.abs(alone).max() <= 1 / 8

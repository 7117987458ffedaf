"""Planetoid: contexts, walks and pairs, against naive versions."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from mvgrl.datasets import Dataset
from mvgrl.methods.node_classifier import NodeData
from mvgrl.methods.planetoid import Codes, CodesOfFeatures, PlanetoidI, PlanetoidNetwork, PlanetoidT, walk, window_pairs
from mvgrl.settings import Settings


@pytest.fixture
def data(planted: Dataset) -> NodeData:
    return NodeData.of(planted, Settings(), torch.device("cpu"), normalise="none")


def made(data: NodeData, kind: type[Any]) -> PlanetoidNetwork:
    generator = torch.Generator().manual_seed(0)
    network = PlanetoidNetwork(data, kind(data, 5, generator), 5, generator)
    with torch.no_grad():
        network.frequency.copy_(torch.randn(network.frequency.shape, generator=generator))
    return network


@pytest.mark.parametrize("kind", [Codes, CodesOfFeatures])
def test_the_context_loss_is_the_cross_entropy_of_every_pair(kind: type[Any], data: NodeData) -> None:
    network, nodes, contexts = made(data, kind), np.array([3, 3, 0, 3]), np.array([1, 2, 2, 1])
    logits = network.codes(torch.from_numpy(nodes)) @ network.contexts + network.frequency
    expected = cross_entropy(logits, torch.from_numpy(contexts), reduction="sum")
    torch.testing.assert_close(network.context_loss(nodes, contexts), expected)
    network.context_loss(nodes, contexts).backward()
    found = {key for key, value in network.named_parameters() if value.grad is not None}
    assert found == {"contexts", "frequency", *(key for key, _ in network.named_parameters() if "codes." in key[:6])}


@pytest.mark.parametrize("kind", [Codes, CodesOfFeatures])
def test_classes_come_from_both_heads_and_each_has_a_loss(kind: type[Any], data: NodeData) -> None:
    network, x = made(data, kind), data.features.matrix.dense()
    codes = network.codes.table if kind is Codes else torch.relu(network.codes.layer(x))
    heads = [network.of_features(x), network.of_codes(codes)]
    logits = network.both(torch.cat([torch.softmax(head, 1) for head in heads], 1))
    torch.testing.assert_close(network(), logits)
    losses = [cross_entropy(one[data.train], data.labels[data.train]) for one in (logits, *heads)]
    torch.testing.assert_close(network.loss(), sum(losses))


def test_walks_follow_edges_and_reach_every_neighbour(planted: Dataset) -> None:
    starts = np.flatnonzero(planted.graph.degrees)
    paths = walk(planted.graph, np.repeat(starts, 50), 3, np.random.default_rng(0))
    near = planted.graph.adjacency.toarray() > 0
    assert paths.shape == (50 * len(starts), 4)
    assert near[paths[:, :-1], paths[:, 1:]].all()
    reached = np.zeros_like(near)
    reached[paths[:, 0], paths[:, 1]] = True
    assert reached[starts].sum() > 0.9 * near[starts].sum()


def test_pairs_are_those_within_the_window() -> None:
    paths = np.array([[1, 2, 3, 4], [5, 6, 5, 7]])
    expected = sorted((p[i], p[j]) for p in paths for i in range(4) for j in range(4) if abs(i - j) <= 2)
    assert sorted(zip(*window_pairs(paths, 2), strict=True)) == expected


def test_contexts_of_labels_join_train_nodes_of_a_class(data: NodeData) -> None:
    draws = np.random.default_rng(0)
    train, labels = data.train.numpy(), data.labels.numpy()
    for first, second in islice(PlanetoidT()._same_label(data, draws), 3):
        assert len(first) == 100
        assert np.isin(first, train).all()
        assert np.isin(second, train).all()
        assert (labels[first] == labels[second]).all()
        assert (first != second).any()
        assert set(labels[first]) == set(labels[train])


def test_the_inductive_variant_sees_no_test_nodes(planted: Dataset, data: NodeData) -> None:
    seen = np.ones(planted.graph.nodes, dtype=bool)
    seen[planted.splits["test"]] = False
    found = [
        np.concatenate(pairs) for pairs in islice(PlanetoidI()._walks(data.graph, seen, np.random.default_rng(0)), 5)
    ]
    assert seen[np.concatenate(found)].all()
    every = PlanetoidT(batch=1000)._walks(data.graph, np.ones_like(seen), np.random.default_rng(0))
    assert set(next(every)[0]) == set(np.flatnonzero(planted.graph.degrees))

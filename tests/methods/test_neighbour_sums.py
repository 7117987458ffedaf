"""Sums over neighbours with learned weights: values and gradients, against a dense matrix."""

from __future__ import annotations

import pytest
import torch

from mvgrl.graphs import Graph
from mvgrl.methods import neighbour_sums
from mvgrl.methods.neighbour_sums import Neighbours

GRAPH = Graph.from_edges([0, 0, 1, 3], [1, 2, 2, 0], [1.0, 5.0, 1.0, 2.0], nodes=5)
EDGES = Neighbours(GRAPH, torch.device("cpu"))


def drawn(*shape: int) -> torch.Tensor:
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.float64)
    return made.requires_grad_()


def test_edges_are_those_of_the_graph_with_a_loop_per_node() -> None:
    found = set(zip(EDGES.target.tolist(), EDGES.origin.tolist(), strict=True))
    both = [(0, 1), (0, 2), (1, 2), (0, 3)]
    assert found == {*both, *((j, i) for i, j in both), *((i, i) for i in range(5))}
    assert EDGES.degrees.tolist() == [4, 3, 3, 2, 1]
    assert (EDGES.target[EDGES.reverse] == EDGES.origin).all()
    assert (EDGES.origin[EDGES.reverse] == EDGES.target).all()


@pytest.fixture(params=["cpu", "gpu"], autouse=True)
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the compiled kernels of a CPU, or what a GPU uses instead."""
    monkeypatch.setattr(neighbour_sums, "_on_cpu", lambda tensor: request.param == "cpu")


def test_the_sum_equals_a_product_with_a_matrix_per_head() -> None:
    weights, values = drawn(len(EDGES.target), 2), drawn(5, 2, 3)
    for head in range(2):
        matrix = torch.zeros(5, 5, dtype=torch.float64)
        matrix[EDGES.target, EDGES.origin] = weights.detach()[:, head]
        torch.testing.assert_close(EDGES.sum(weights, values)[:, head], matrix @ values[:, head])


def test_gradients_of_the_sum_are_right() -> None:
    assert torch.autograd.gradcheck(EDGES.sum, (drawn(len(EDGES.target), 2), drawn(5, 2, 3)))


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_softmax_is_over_the_edges_into_a_node(size: float) -> None:
    scores = (size * drawn(len(EDGES.target), 2)).detach()
    found = EDGES.softmax(scores)
    for node in range(5):
        into = EDGES.target == node
        torch.testing.assert_close(found[into], scores[into].softmax(0))


def test_gradients_of_the_softmax_are_right() -> None:
    assert torch.autograd.gradcheck(EDGES.softmax, (drawn(len(EDGES.target), 2),))


def test_a_stack_of_sums_is_the_sum_of_each() -> None:
    weights, values = drawn(4, len(EDGES.target), 2), drawn(4, 5, 2, 3)
    found = torch.vmap(EDGES.sum)(weights, values)
    torch.testing.assert_close(found, torch.stack([EDGES.sum(*one) for one in zip(weights, values, strict=True)]))
    shared = torch.vmap(EDGES.sum, in_dims=(None, 0))(weights[0], values)
    torch.testing.assert_close(shared[1], EDGES.sum(weights[0], values[1]))
    found.square().sum().backward()
    expected = torch.autograd.grad(EDGES.sum(weights[2], values[2]).square().sum(), [weights, values])
    torch.testing.assert_close(weights.grad[2], expected[0][2])
    torch.testing.assert_close(values.grad[2], expected[1][2])

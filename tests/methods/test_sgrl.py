"""SGRL: its two losses and its codes, by the equations of the paper."""

from __future__ import annotations

import pytest
import torch

from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix
from mvgrl.methods.self_supervised import Plan, Stack
from mvgrl.methods.sgrl import SGRL, Scattered, scattering
from mvgrl.views import Adjacency, view_matrix

CPU = torch.device("cpu")
GRAPH = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])


def model(hops: int = 1) -> Scattered:
    features = DenseMatrix(torch.rand(4, 3, generator=torch.Generator().manual_seed(0)))
    return Scattered(features, view_matrix(Adjacency(), GRAPH), SGRL(hidden=5, hops=hops), seed=0)


def test_scattering_is_the_mean_squared_distance_from_the_centre_of_the_sphere_points() -> None:
    codes = torch.randn(6, 3)
    points = [row / row.norm() for row in codes]
    centre = sum(points) / 6
    expected = -sum(float((point - centre).square().sum()) for point in points) / 6
    assert float(scattering(codes)) == pytest.approx(expected, abs=1e-6)


def test_each_loss_moves_one_encoder() -> None:
    one = model()
    loss = one({}, {})
    target = one.target(one.target.project(one.features), one.view)[0]
    weights = [one.target.weights[0]]
    found, wanted = (
        torch.autograd.grad(loss, weights, retain_graph=True),
        torch.autograd.grad(scattering(target), weights),
    )
    torch.testing.assert_close(found[0], wanted[0])
    predicted = one.predictor(one.codes())
    alignment = -torch.nn.functional.cosine_similarity(predicted, target.detach()).mean()
    weights = [one.online.weights[0], one.predictor.first.weight]
    for gradient, expected in zip(
        torch.autograd.grad(loss, weights), torch.autograd.grad(alignment, weights), strict=True
    ):
        torch.testing.assert_close(gradient, expected)
    assert float(loss.detach()) == pytest.approx(float((alignment + scattering(target)).detach()), abs=1e-6)


def test_codes_add_those_of_the_neighbours() -> None:
    view = torch.from_numpy(Adjacency()(GRAPH).toarray()).float()
    for hops in (0, 1, 3):
        one = model(hops)
        own = one.online(one.online.project(one.features), one.view)[0]
        torch.testing.assert_close(one.codes(), own + torch.linalg.matrix_power(view, hops) @ own)


def test_the_target_follows_the_online_encoder() -> None:
    stack = Stack([model()], [0], Plan(10, 0.0), CPU)
    before = stack.parameters["target.weights.0"].detach().clone()
    stack.step()
    stack.models[0].after_step(stack.parameters, 0.0)
    expected = 0.99 * before + 0.01 * stack.parameters["online.weights.0"].detach()
    torch.testing.assert_close(stack.parameters["target.weights.0"].detach(), expected)

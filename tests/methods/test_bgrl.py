"""BGRL: the averaged target, the schedules, batch normalisation and the loss."""

from __future__ import annotations

import pytest
import torch

from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix
from mvgrl.methods.augmentations import EdgeDropper
from mvgrl.methods.bgrl import BGRL, Bootstrapped, batch_normalised
from mvgrl.methods.self_supervised import Plan, Stack
from mvgrl.views import Adjacency, view_matrix

CPU = torch.device("cpu")
GRAPH = Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
METHOD = BGRL(hidden=6, size=4, predictor=8, epochs=10, warm_up=2)


def model() -> Bootstrapped:
    features = DenseMatrix(torch.rand(5, 3, generator=torch.Generator().manual_seed(0)))
    return Bootstrapped(features, view_matrix(Adjacency(), GRAPH), EdgeDropper(GRAPH, CPU), METHOD, seed=0)


def test_the_target_is_a_moving_average_of_the_online_encoder() -> None:
    stack = Stack([model()], [0], Plan(10, 0.1), CPU)
    expected = {name: one.clone() for name, one in stack.parameters.items() if name.startswith("target.")}
    assert any(
        not torch.equal(one, stack.parameters[name.replace("target", "online")]) for name, one in expected.items()
    )
    for step, momentum in ((0, 0.99), (5, 0.995)):
        stack.step()
        stack.models[0].after_step(stack.parameters, step / 10)
        for name in expected:
            online = stack.parameters[name.replace("target", "online")].detach()
            expected[name] = momentum * expected[name] + (1 - momentum) * online
            torch.testing.assert_close(stack.parameters[name], expected[name])


def test_only_the_online_encoder_and_the_predictor_learn() -> None:
    stack = Stack([model()], [0], Plan(10, 0.1), CPU)
    before = {name: one.detach().clone() for name, one in stack.parameters.items()}
    stack.step()
    moved = {name for name, one in stack.parameters.items() if not torch.equal(one, before[name])}
    assert moved == {name for name in before if not name.startswith("target.")}


def test_the_learning_rate_rises_and_falls() -> None:
    assert [METHOD.pace(epoch) for epoch in (0, 1, 2, 6)] == pytest.approx([0, 0.5, 1, 0.5])
    assert METHOD.pace(10) == pytest.approx(0)


def test_batch_normalisation_equals_that_of_torch() -> None:
    codes = torch.randn(6, 3)
    torch.testing.assert_close(batch_normalised(codes), torch.nn.BatchNorm1d(3)(codes))


def test_the_loss_is_two_minus_the_mean_cosines() -> None:
    one = model()
    drawn = one.draw(torch.Generator().manual_seed(0))
    columns, views = [drawn["columns 0"], drawn["columns 1"]], one.matrices(drawn)
    expected = 2.0
    for i, j in ((0, 1), (1, 0)):
        predicted = one.predictor(one.online(one.features, views[str(i)], columns[i]))
        target = one.target(one.features, views[str(j)], columns[j])
        for x, y in zip(predicted, target, strict=True):
            expected -= float(x @ y / x.norm() / y.norm()) / 5
    assert float(one(drawn, views)) == pytest.approx(expected, abs=1e-5)

from __future__ import annotations

from dataclasses import replace
from itertools import combinations as choose
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mvgrl.contrast import MODES
from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.inputs import Inputs, prepare
from mvgrl.model import MVGRL
from mvgrl.mutual_information import BOUNDS, jsd
from mvgrl.readouts import READOUTS
from mvgrl.sampling import SAMPLERS
from mvgrl.settings import CODES, Output, Settings
from mvgrl.training import fit
from mvgrl.vectors import plain_vectors
from mvgrl.views import PPR

ALL_VIEWS = ("adjacency", "ppr", "heat", "distance")


def random_graph(nodes: int, seed: int = 0, width: int = 5) -> Graph:
    rng = np.random.default_rng(seed)
    links = sp.random(
        nodes, nodes, min(1.0, 3 / nodes), random_state=rng, data_rvs=lambda size: rng.uniform(0.5, 2, size)
    )
    return Graph.from_scipy(links, rng.normal(size=(nodes, width)))


def graph_set() -> Graph:
    return Graph.join([random_graph(n, seed=n) for n in (8, 5, 11, 6)])


def prepared(graph: Graph, settings: Settings) -> Inputs:
    return prepare(graph, replace(settings, normalise="none", sampler="full"), device="cpu")


def first_batch(graph: Graph, settings: Settings, seed: int = 0):
    batches = prepared(graph, settings).batches()
    return batches, next(iter(batches.epoch(torch.Generator().manual_seed(seed))))


def combinations() -> list[Settings]:
    """Every valid combination of task, mode, readout, bound and encoder."""
    found = []
    for task, mode, readout, bound, encoder in product(
        ("node", "graph"), MODES, READOUTS, BOUNDS, ("dedicated", "shared")
    ):
        try:
            found.append(
                Settings(task=task, mode=mode, readout=readout, bound=bound, encoder=encoder, hidden=8, layers=2)
            )
        except SettingsError:
            continue
    return found


def pairs_of(settings: Settings) -> set[tuple]:
    """Every pair of two settings with their values."""
    names = ("task", "mode", "readout", "bound", "encoder")
    return set(choose(((name, str(getattr(settings, name))) for name in names), 2))


def covering() -> list[Settings]:
    """Few combinations in which every possible pair of values occurs, chosen greedily."""
    rest, chosen = combinations(), []
    missing = set().union(*map(pairs_of, rest))
    while missing:
        best = max(rest, key=lambda settings: len(pairs_of(settings) & missing))
        chosen.append(best)
        missing -= pairs_of(best)
    return chosen


def test_valid_combinations_are_covered_pair_by_pair() -> None:
    # node: 2 modes × 5 readouts + multi-scale × 1; graph: 4 × 5 + 1; times 4 bounds and 2 encoders
    assert len(combinations()) == (11 + 21) * 4 * 2
    assert set().union(*map(pairs_of, covering())) == set().union(*map(pairs_of, combinations()))


@pytest.mark.parametrize("settings", covering(), ids=lambda s: f"{s.task}-{s.mode}-{s.readout}-{s.bound}-{s.encoder}")
def test_every_parameter_gets_a_gradient_and_moves(settings: Settings) -> None:
    graph = random_graph(24) if settings.task == "node" else graph_set()
    batches, batch = first_batch(graph, settings)
    model = MVGRL(settings, 5, largest=batches.largest).double()  # so that rounding is not mistaken for a gradient
    before = {name: tensor.clone() for name, tensor in model.named_parameters()}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, eps=1e-20)
    model(batch).backward()
    optimizer.step()
    for name, parameter in model.named_parameters():
        size = 0.0 if parameter.grad is None else float(parameter.grad.abs().max())
        if is_idle(name, settings):
            assert size < 1e-12, name
            continue
        assert torch.isfinite(parameter.grad).all(), name
        assert size > 1e-10, name
        assert not torch.equal(parameter, before[name]), name


def is_idle(name: str, settings: Settings) -> bool:
    """Whether a parameter has no effect on the loss, and so no gradient.

    These are f_ψ if neither nodes nor clusters are contrasted, and a shift of all samples under InfoNCE: it adds the
    same constant to every score of a row, which does not change the softmax.
    """
    mode, bound = str(settings.mode), str(settings.bound)
    if mode == "global":
        return name.startswith("node_head")
    if bound != "nce" or mode == "hybrid":
        return False
    if settings.task == "graph":
        return name == "graph_head.bias"
    return name == "node_head.bias" and mode != "multi-scale"


@pytest.mark.parametrize(("i", "sampler"), list(enumerate(SAMPLERS)))
@pytest.mark.parametrize(("j", "bound"), list(enumerate(BOUNDS)))
def test_every_pair_of_sampler_bound_and_negatives_learns(i: int, sampler: str, j: int, bound: str) -> None:
    negatives = ("features", "adjacency", "both")[(i + j) % 3]  # each occurs with every sampler and every bound
    settings = Settings(
        negatives=negatives,
        sampler=sampler,
        bound=bound,
        sample_size=20,
        batch_size=1 if sampler == "full" else 3,
        hidden=16,
        epochs=40,
        patience=40,
        learning_rate=0.01,
    )
    history = fit(random_graph(40), settings, device="cpu").history
    assert np.mean(history.losses[-5:]) < np.mean(history.losses[:5])


@pytest.mark.parametrize("task", ["node", "graph"])
@pytest.mark.parametrize("count", [3, 4])
def test_three_or_more_views_are_contrasted_with_the_first_or_drawn_in_pairs(task: str, count: int) -> None:
    graph = random_graph(24) if task == "node" else graph_set()
    views = ALL_VIEWS[:count]
    options = dict(task=task, views=views, hidden=8)
    anchored = Settings(**options)
    _, batch = first_batch(graph, anchored)
    model = MVGRL(anchored, 5)
    model(batch).backward()
    assert len(model.encoders) == count
    assert all(encoder.weights[0].grad.abs().max() > 0 for encoder in model.encoders)
    drawn = Settings(**options, encoder="shared", draw_two_views=True)
    model = MVGRL(drawn, 5)
    losses = {round(float(model(batch, torch.Generator().manual_seed(s)).detach()), 5) for s in range(12)}
    assert len(losses) > 1  # different views give different losses
    generator = torch.Generator().manual_seed(3)
    first = model(batch, generator)
    assert torch.equal(first, model(batch, torch.Generator().manual_seed(3)))


def test_two_views_are_drawn_separately_for_each_graph() -> None:
    """The codes of a graph are those of one of its views, and two different views are drawn for it."""
    graph = graph_set()
    settings = Settings(task="graph", views=ALL_VIEWS, encoder="shared", draw_two_views=True, hidden=8)
    _, batch = first_batch(graph, settings)
    model = MVGRL(settings, 5).eval()
    (a, b), _ = model.encode(batch, torch.Generator().manual_seed(0))
    every, _ = MVGRL(Settings(task="graph", views=ALL_VIEWS, encoder="shared", hidden=8), 5).eval().encode(batch)
    drawn = set()
    for index in range(len(batch.sizes)):
        owned = batch.owner == index
        found = []
        for side in (a, b):
            matches = [v for v in range(4) if torch.equal(side.nodes.codes[owned], every[v].nodes.codes[owned])]
            assert len(matches) == 1
            assert torch.equal(side.graphs.codes[index], every[matches[0]].graphs.codes[index])
            found += matches
        assert found[0] != found[1]
        drawn.add(tuple(found))
    assert len(drawn) > 1


@given(seed=st.integers(0, 10**6), readout=st.sampled_from(list(READOUTS)), dense=st.booleans())
@hypothesis_settings(max_examples=20)
def test_relabelling_permutes_node_codes_and_keeps_graph_codes(seed: int, readout: str, dense: bool) -> None:
    graph = random_graph(13, seed)
    order = np.random.default_rng(seed).permutation(13)
    relabelled = Graph.from_scipy(graph.adjacency[order][:, order], graph.features[order])
    views = ("adjacency", PPR() if dense else PPR(top_k=13, epsilon=1e-9), "heat", "distance")
    settings = Settings(views=views, layers=2, readout=readout, discriminator="dot", hidden=8)
    model = MVGRL(settings, 5, largest=13, seed=seed).double().eval()
    nodes, graphs, other_nodes, other_graphs = (
        codes
        for one in (graph, relabelled)
        for codes in plain_vectors(model, prepared(one, settings), Output(preset="paper").for_task("node"))
    )
    torch.testing.assert_close(other_nodes, nodes[order], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(other_graphs, graphs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("discriminator", ["dot", "bilinear"])
def test_codes_of_a_graph_do_not_depend_on_its_batch(readout: str, discriminator: str) -> None:
    graph = graph_set()
    settings = Settings(task="graph", views=ALL_VIEWS, layers=3, readout=readout, discriminator=discriminator, hidden=8)
    trained = fit(graph, replace(settings, epochs=2), device="cpu")
    nodes, graphs = trained.represent()
    assert nodes.shape == (30, 8)
    for index in range(graph.count):
        alone_nodes, alone_graphs = trained.represent(graph.select([index]))
        np.testing.assert_allclose(alone_graphs[0], graphs[index], rtol=1e-4, atol=1e-4)
        own = slice(graph.offsets[index], graph.offsets[index + 1])
        np.testing.assert_allclose(alone_nodes, nodes[own], rtol=1e-4, atol=1e-4)


def test_node_loss_equals_the_formula_of_the_paper() -> None:
    """Full graph, bilinear, JSD: written out densely, with X·Θ recomputed for the permuted features."""
    settings = Settings(hidden=8, readout="mean")
    graph = random_graph(12)
    _, batch = first_batch(graph, settings)
    model = MVGRL(settings, 5)
    X, order = torch.from_numpy(graph.features).float(), batch.negative_rows
    total = torch.zeros(())
    codes = []
    for encoder, view in zip(model.encoders, batch.views, strict=True):

        def encode(x: torch.Tensor, encoder=encoder, view=view) -> torch.Tensor:
            z = view.dense() @ (x @ encoder.weights[0]) + encoder.activations[0].bias
            return torch.where(z > 0, z, 0.25 * z)

        h = encode(X)
        g = h.mean(0) @ model.readout.weight + model.readout.activation.bias
        codes.append((h, encode(X[order]), torch.where(g > 0, g, 0.25 * g)))
    for (h, corrupted, _), (_, _, g) in (codes, codes[::-1]):
        scores = torch.cat([h, corrupted]) @ (model.discriminator.weight.T @ g)
        total = total + jsd(scores[None], torch.arange(24)[None] < 12)
    torch.testing.assert_close(model(batch), total)


def test_bound_and_mode_can_be_user_defined_functions() -> None:
    def hinge(scores: torch.Tensor, positives: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
        return (1 - scores[positives]).relu().mean() + (1 + scores[negatives]).relu().mean()

    def anchors_only(views):
        yield views[0].nodes, views[1].graphs

    settings = Settings(bound=hinge, mode=anchors_only, hidden=8)
    _, batch = first_batch(random_graph(12), settings)
    assert float(MVGRL(settings, 5)(batch).detach()) == pytest.approx(2.0, abs=1.5)
    assert settings.id != Settings(hidden=8).id


def test_stacked_seeds_have_the_losses_and_gradients_of_single_ones() -> None:
    """Stacked weights through torch.func give each seed the loss and gradient it has alone."""
    graph = random_graph(30)
    for settings in (
        Settings(hidden=8),
        Settings(hidden=8, views=("adjacency", PPR(top_k=5)), discriminator="dot", readout="mean", layers=2),
        Settings(hidden=8, readout="diffpool-2", mode="multi-scale", bound="nce"),
    ):
        batches, batch = first_batch(graph, settings)
        models = [MVGRL(settings, 5, largest=batches.largest, seed=seed).double() for seed in range(3)]
        orders = torch.rand(3, 30, generator=torch.Generator().manual_seed(0)).argsort(1)
        stacked, _ = torch.func.stack_module_state(models)

        def loss(parameters, order, settings=settings, batch=batch, model=models[0]):
            one = type(batch)(batch.features, batch.views, batch.sizes, negative_rows=order)
            return torch.func.functional_call(model, parameters, (one,))

        together, losses = torch.vmap(torch.func.grad_and_value(loss))(stacked, orders)
        for index, model in enumerate(models):
            value = model(type(batch)(batch.features, batch.views, batch.sizes, negative_rows=orders[index]))
            value.backward()
            torch.testing.assert_close(losses[index], value.detach())
            for name, parameter in model.named_parameters():
                torch.testing.assert_close(together[name][index], parameter.grad)


def test_negatives_are_encoded_with_the_corrupted_adjacency() -> None:
    settings = Settings(hidden=8, negatives="adjacency")
    batches, batch = first_batch(random_graph(20), settings)
    model = MVGRL(settings, 5)
    views, _ = model.encode(batch)
    for encoder, corrupted, codes in zip(model.encoders, batches.corrupted_views, views, strict=True):
        expected = encoder(encoder.project(batch.features), corrupted)[-1]
        torch.testing.assert_close(codes.nodes.corrupted, expected)
        assert not torch.allclose(codes.nodes.corrupted, codes.nodes.codes)


def test_loss_is_the_contrastive_loss_plus_the_auxiliary_loss_of_diffpool() -> None:
    settings = Settings(task="graph", hidden=8, readout="diffpool-2")
    batches, batch = first_batch(graph_set(), settings)
    model = MVGRL(settings, 5, largest=batches.largest)
    (a, b), auxiliary = model.encode(batch)
    own = sum(
        model.readout(encoder(encoder.project(batch.features), view), view, batch).loss
        for encoder, view in zip(model.encoders, batch.views, strict=True)
    )
    torch.testing.assert_close(auxiliary, own)
    assert float(own.detach()) > 0
    same = batch.owner[:, None] == torch.arange(len(batch.sizes))
    contrasted = jsd(a.nodes.codes @ b.graphs.codes.T, same) + jsd(b.nodes.codes @ a.graphs.codes.T, same)
    torch.testing.assert_close(model(batch), contrasted + own)


def test_temperature_setting_is_used() -> None:
    _, batch = first_batch(random_graph(20), Settings(hidden=8))
    losses = {}
    for temperature in (0.1, 0.5):
        settings = Settings(hidden=8, bound=f"nt-xent:temperature={temperature}")
        losses[temperature] = float(MVGRL(settings, 5)(batch).detach())
    assert losses[0.5] == float(MVGRL(Settings(hidden=8, bound="nt-xent"), 5)(batch).detach())
    assert abs(losses[0.1] - losses[0.5]) > 1e-3


@pytest.mark.parametrize("graph", [random_graph(20), graph_set()], ids=["node", "graph"])
def test_unit_length_keeps_the_direction(graph: Graph) -> None:
    settings = Settings(task="node" if graph.count == 1 else "graph", hidden=8, epochs=3)
    trained = fit(graph, settings, device="cpu")
    for codes, scaled in zip(
        trained.represent(), trained.represent(output=Output(preset="paper", unit_length=True)), strict=True
    ):
        np.testing.assert_allclose(scaled, codes / np.linalg.norm(codes, axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_codes_are_projected_encoded_or_of_all_layers(readout: str) -> None:
    graph = graph_set()
    settings = Settings(task="graph", hidden=8, layers=2, readout=readout, head_shortcut=True, epochs=2)
    trained = fit(graph, settings, device="cpu")
    both = {kind: trained.represent(output=Output(preset="paper", codes=kind)) for kind in CODES}
    nodes, graphs = ({kind: pair[i] for kind, pair in both.items()} for i in (0, 1))
    assert nodes["layers"].shape == (graph.nodes, 16)
    np.testing.assert_array_equal(nodes["layers"][:, 8:], nodes["encoded"])
    sums = np.add.reduceat(nodes["layers"], graph.offsets[:-1])
    np.testing.assert_allclose(graphs["layers"], sums / graph.sizes[:, None] if readout == "mean" else sums, rtol=1e-5)
    apart = trained.represent(output=Output(preset="paper", codes="encoded", join="concatenate"))
    for beside, together in zip(apart, (nodes["encoded"], graphs["encoded"]), strict=True):
        np.testing.assert_allclose(beside[:, :8] + beside[:, 8:], together, rtol=1e-5, atol=1e-6)
    model = trained.model
    with torch.no_grad():  # one view at a time, as the heads are not linear
        (batch,) = trained.inputs.whole()
        layers = [model.encoders[i](model.encoders[i].project(batch.features), batch.views[i]) for i in (0, 1)]
        pooled = [model.readout(layers[i], batch.views[i], batch).graphs for i in (0, 1)]
        projected = model.graph_head(pooled[0]) + model.graph_head(pooled[1])
    np.testing.assert_allclose(graphs["encoded"], (pooled[0] + pooled[1]).numpy(), rtol=1e-5)
    np.testing.assert_allclose(graphs["projected"], projected.numpy(), rtol=1e-4, atol=1e-5)

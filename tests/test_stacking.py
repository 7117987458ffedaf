"""Seeds trained as one stack give the same results as seeds trained one by one."""

from __future__ import annotations

import numpy as np
import pytest

from mvgrl import Graph, Settings, fit
from mvgrl.errors import MVGRLError

SEEDS = (3, 4, 9)


def random_graph(nodes: int = 60, edges: int = 200) -> Graph:
    generator = np.random.default_rng(0)
    ends = generator.integers(0, nodes, (2, edges))
    return Graph.from_edges(*ends, nodes=nodes, features=generator.random((nodes, 12)).astype(np.float32))


@pytest.mark.parametrize(
    "choices",
    [
        dict(),
        dict(views=("adjacency", "ppr:top_k=5", "heat")),
        dict(sampler="nodes", sample_size=30, batch_size=2),
        dict(sampler="walk", sample_size=20, batch_size=3, views=("adjacency", "ppr:top_k=5")),
        dict(layers=2, encoder="shared", mode="ensemble", norm="layer"),
        dict(readout="mean", normalise="standard"),
        dict(readout="sum", bound="nt-xent", discriminator="dot", l2=0.01),
        dict(dropout=0.2),  # not stackable, so trained one by one
    ],
)
def test_stacked_seeds_equal_single_seeds(choices: dict) -> None:
    settings = Settings(hidden=16, epochs=8, patience=3, learning_rate=0.01, **choices)
    runs = fit(random_graph(), settings, seed=SEEDS, device="cpu", stack=50)
    for seed, run in zip(SEEDS, runs, strict=True):
        alone = fit(random_graph(), settings, seed=seed, device="cpu")
        assert len(run.history.losses) == len(alone.history.losses)
        np.testing.assert_allclose(run.history.losses, alone.history.losses, rtol=1e-4)
        np.testing.assert_allclose(run.represent()[0], alone.represent()[0], rtol=1e-3, atol=1e-4)


def test_each_seed_stops_early_by_itself_and_leaves_the_stack() -> None:
    settings = Settings(hidden=16, epochs=60, patience=4, learning_rate=0.05)
    sizes: list[int] = []
    callbacks = [lambda epoch: sizes.append(epoch.seeds)]
    runs = fit(random_graph(), settings, seed=SEEDS, device="cpu", stack=3, callbacks=callbacks)
    lengths = [len(run.history.losses) for run in runs]
    assert len(set(lengths)) > 1
    assert sizes == [sum(length > epoch for length in lengths) for epoch in range(max(lengths))]
    for run in runs:
        assert run.history.waited == 4
        assert run.history.best_loss == min(run.history.losses)


def test_stack_size_does_not_change_the_result() -> None:
    settings = Settings(hidden=8, epochs=5)
    together, *others = (
        fit(random_graph(), settings, seed=SEEDS, device="cpu", stack=stack) for stack in (50, 2, None)
    )
    for a, *more in zip(together, *others, strict=True):
        for b in more:
            np.testing.assert_allclose(a.represent()[0], b.represent()[0], rtol=1e-4, atol=1e-6)


def test_diverging_seed_is_reported() -> None:
    graph = random_graph()
    with pytest.raises(MVGRLError, match="the loss became"):
        fit(graph, Settings(hidden=8, epochs=50, learning_rate=1e38), seed=SEEDS, device="cpu", stack=3)


@pytest.mark.parametrize(
    "choices",
    [
        dict(task="graph"),
        dict(negatives="adjacency"),
        dict(negatives="both"),
        dict(dropout=0.2),
        dict(norm="batch"),
        dict(noise=0.1),
        dict(readout="diffpool-1"),
        dict(frozen_encoder=True),
    ],
)
def test_random_stateful_and_frozen_models_are_not_stackable(choices: dict) -> None:
    assert Settings().stackable
    assert not Settings(**choices).stackable

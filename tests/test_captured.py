"""A recorded step: where it applies, and that it computes what the step itself does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mvgrl import training
from mvgrl.captured import can_be_captured
from mvgrl.graphs import Graph
from mvgrl.inputs import prepare
from mvgrl.sampling import Batch
from mvgrl.settings import Settings, literal

RING = Graph.from_edges(np.arange(12), (np.arange(12) + 1) % 12, features=np.eye(12, dtype=np.float32))
on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to record a step on")


def loss_of_a_user(scores: Any, positives: Any, negatives: Any) -> Any:
    return scores.mean()


@pytest.fixture
def on_cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return whether the batches of some settings would be recorded if they were on a GPU."""

    def found(settings: Settings, seeds: int = 1) -> bool:
        inputs = prepare(RING, settings, device="cpu")
        batches = inputs.batches()
        assert not can_be_captured(settings, batches)  # on a CPU
        object.__setattr__(batches, "device", torch.device("cuda"))
        return can_be_captured(settings, batches, seeds)

    return found


def test_the_whole_graph_without_randomness_is_recorded(on_cuda: Any) -> None:
    assert on_cuda(literal({"hidden": 4}))
    assert on_cuda(literal({"hidden": 4, "layers": 2, "bound": "nt-xent"}))
    for change in (
        {"sampler": "nodes", "sample_size": 5},
        {"dropout": 0.5},
        {"noise": 0.1},
        {"negatives": "adjacency"},
        {"norm": "batch"},
        {"bound": loss_of_a_user},
    ):
        assert not on_cuda(literal({"hidden": 4, **change})), change


def test_large_graphs_are_not_recorded(on_cuda: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mvgrl.captured._LARGEST", 12 * 4)
    assert on_cuda(literal({"hidden": 4}))
    assert not on_cuda(literal({"hidden": 5}))
    assert not on_cuda(literal({"hidden": 4}), seeds=2)


@pytest.mark.parametrize("counts", [[3], [1, 1, 1], [2, 2], [1, 3, 2]])
def test_owners_repeat_each_graph(counts: list[int]) -> None:
    inputs = prepare(RING, literal({"hidden": 4}), device="cpu")
    batch = Batch(inputs.features, inputs.views, (12,))
    assert batch.owners(counts).tolist() == np.repeat(np.arange(len(counts)), counts).tolist()


@on_a_gpu
@pytest.mark.parametrize("views", [("adjacency", "ppr"), ("adjacency", "ppr:top_k=4")])
def test_a_recorded_training_has_the_losses_of_a_launched_one(
    views: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = literal({"hidden": 16, "epochs": 30, "views": views})
    recorded = training.fit(RING, settings, seed=1, device="cuda")
    monkeypatch.setattr(training, "can_be_captured", lambda *given: False)
    launched = training.fit(RING, settings, seed=1, device="cuda")
    np.testing.assert_allclose(recorded.history.losses, launched.history.losses, rtol=1e-4)
    np.testing.assert_allclose(recorded.vectors(), launched.vectors(), atol=1e-3)


@on_a_gpu
def test_a_recorded_training_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    settings, path = literal({"hidden": 16, "epochs": 12}), tmp_path / "run.safetensors"

    def stop(epoch: Any) -> None:
        if epoch.number == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.fit(RING, settings, device="cuda", checkpoint=path, callbacks=[stop])
    resumed = training.fit(RING, settings, device="cuda", checkpoint=path, resume=True)
    whole = training.fit(RING, settings, device="cuda")
    np.testing.assert_allclose(resumed.history.losses, whole.history.losses, rtol=1e-4)


@on_a_gpu
def test_a_recorded_stack_has_the_losses_of_a_launched_one(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = literal({"hidden": 16, "epochs": 200, "patience": 3, "learning_rate": 0.05})
    recorded = training.fit(RING, settings, seed=range(9), device="cuda", stack=9)
    monkeypatch.setattr("mvgrl.stacking.can_be_captured", lambda *given: False)
    launched = training.fit(RING, settings, seed=range(9), device="cuda", stack=9)
    assert len({len(run.history.losses) for run in launched}) > 1  # they leave the stack one by one
    for ours, theirs in zip(recorded, launched, strict=True):
        np.testing.assert_allclose(ours.history.losses, theirs.history.losses, rtol=1e-3)
        np.testing.assert_allclose(ours.vectors(), theirs.vectors(), atol=1e-2)


def test_a_seed_that_has_finished_may_stay_in_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a step is recorded: rows are removed only when a quarter of the seeds have finished."""
    settings = literal({"hidden": 16, "epochs": 60, "patience": 3, "learning_rate": 0.05})
    alone = training.fit(RING, settings, seed=range(6), device="cpu", stack=6)
    sizes: list[int] = []

    def plain(step: Any, device: Any) -> Any:
        return lambda: sizes.append(0) or step()

    monkeypatch.setattr("mvgrl.stacking.can_be_captured", lambda *given: True)
    monkeypatch.setattr("mvgrl.stacking.Captured", plain)
    monkeypatch.setattr("mvgrl.stacking._Stack._make_optimizer", _on_a_cpu)
    staying = training.fit(RING, settings, seed=range(6), device="cpu", stack=6)
    assert len({len(run.history.losses) for run in alone}) > 1
    assert len(sizes) == max(len(run.history.losses) for run in alone)
    for ours, theirs in zip(staying, alone, strict=True):
        np.testing.assert_allclose(ours.history.losses, theirs.history.losses, rtol=1e-4)
        np.testing.assert_allclose(ours.vectors(), theirs.vectors(), atol=1e-3)


def _on_a_cpu(stack: Any) -> torch.optim.Optimizer:
    """The optimizer of a stack, without what only a GPU can record."""
    return torch.optim.Adam(stack.parameters.values(), lr=stack.settings.learning_rate, fused=True)

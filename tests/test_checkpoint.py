"""A checkpoint of unknown origin is resumed only if everything in it fits the run; nothing else is built from it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from mvgrl.errors import CheckpointError
from mvgrl.graphs import Graph
from mvgrl.settings import Settings
from mvgrl.training import fit

GRAPH = Graph.from_edges(
    np.arange(12), (np.arange(12) + 1) % 12, features=np.random.default_rng(0).normal(size=(12, 3))
)
SETTINGS = Settings(hidden=4, epochs=4, normalise="none", sampler="full", discriminator="dot", norm="batch")
ENCODER = "encoders.0.weights.0"

Tensors = dict[str, torch.Tensor]
About = dict[str, Any]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tensors, About]:
    """The content of the checkpoint of a run that was interrupted after two epochs."""
    path = tmp_path_factory.mktemp("run") / "run.checkpoint"

    def interrupt(epoch) -> None:
        if epoch.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(GRAPH, SETTINGS, device="cpu", checkpoint=path, callbacks=[interrupt])
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["mvgrl"])  # noqa: SIM118


def resume(path: Path, tensors: Tensors, about: Any) -> None:
    metadata = about if isinstance(about, dict) and "mvgrl" in about else {"mvgrl": json.dumps(about)}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, metadata)
    fit(GRAPH, SETTINGS, device="cpu", checkpoint=path, resume=True)


def test_an_unchanged_checkpoint_is_resumed_bit_for_bit(stored, tmp_path: Path) -> None:
    tensors, about = stored
    path = tmp_path / "run.checkpoint"
    save_file(tensors, path, {"mvgrl": json.dumps(about)})
    resumed = fit(GRAPH, SETTINGS, device="cpu", checkpoint=path, resume=True)
    whole = fit(GRAPH, SETTINGS, device="cpu")
    assert resumed.history.losses == whole.history.losses
    np.testing.assert_array_equal(resumed.vectors(), whole.vectors())


def state_with(offset: int, code: str, value: int) -> Callable[[torch.Tensor], torch.Tensor]:
    def change(state: torch.Tensor) -> torch.Tensor:
        content = bytearray(state.numpy().tobytes())
        struct.pack_into(code, content, offset, value)
        return torch.frombuffer(content, dtype=torch.uint8).clone()

    return change


TENSORS: dict[str, tuple[str, Callable[[torch.Tensor], torch.Tensor | None], str]] = {
    "short first moment": ("optimizer/0/exp_avg", lambda t: t[:1], "is 1×4"),
    "empty second moment": ("optimizer/0/exp_avg_sq", lambda t: t[:0], "is 0×4"),
    "flat second moment": ("optimizer/0/exp_avg_sq", lambda t: t.flatten(), "is 12"),
    "double moment": ("optimizer/0/exp_avg", lambda t: t.double(), "float64"),
    "missing moment": ("optimizer/0/exp_avg", lambda t: None, "no tensor 'optimizer/0/exp_avg'"),
    "moment not finite": ("optimizer/0/exp_avg", lambda t: t * torch.nan, "not finite"),
    "negative second moment": ("optimizer/0/exp_avg_sq", lambda t: -t - 1, "below zero"),
    "many steps": ("optimizer/0/step", lambda t: t.expand(3), "is 3"),
    "double step": ("optimizer/0/step", lambda t: t.double(), "float64"),
    "negative step": ("optimizer/0/step", lambda t: t * 0 - 5, "number of steps"),
    "infinite step": ("optimizer/0/step", lambda t: t * torch.inf, "not finite"),
    "half a step": ("optimizer/0/step", lambda t: t + 0.5, "number of steps"),
    "transposed weight": (f"model/{ENCODER}", lambda t: t.mT, "is 4×3"),
    "half weight": (f"model/{ENCODER}", lambda t: t.half(), "float16"),
    "bfloat weight": (f"model/{ENCODER}", lambda t: t.bfloat16(), "unknown type"),
    "missing weight": (f"model/{ENCODER}", lambda t: None, "no tensor"),
    "weight not finite": (f"model/{ENCODER}", lambda t: t / 0, "not finite"),
    "negative variance": ("model/encoders.0.norms.0.running_var", lambda t: t - 9, "below zero"),
    "missing best weight": (f"best/{ENCODER}", lambda t: None, "no tensor"),
    "short best weight": (f"best/{ENCODER}", lambda t: t[:2], "is 2×4"),
    "best not finite": (f"best/{ENCODER}", lambda t: t * torch.nan, "not finite"),
    "short generator": ("generator", lambda t: t[:-8], "tensor 'generator'"),
    "long generator": ("generator", lambda t: torch.cat([t, t]), "tensor 'generator'"),
    "generator of floats": ("generator", lambda t: t.float(), "tensor 'generator'"),
    "missing generator": ("generator", lambda t: None, "no tensor 'generator'"),
    "generator of another seed": ("generator", state_with(0, "=Q", 7), "random generator"),
    "generator past its end": ("generator", state_with(16, "=Q", 624), "random generator"),
    "generator far past its end": ("generator", state_with(16, "=Q", 2**40), "random generator"),
    "generator without a seed": ("generator", state_with(12, "=i", 0), "random generator"),
    "generator with a bad flag": ("generator", state_with(5040, "=i", 77), "random generator"),
}


@pytest.mark.parametrize("what", TENSORS)
def test_a_tensor_that_does_not_fit_is_refused(what: str, stored, tmp_path: Path) -> None:
    name, change, message = TENSORS[what]
    tensors, about = dict(stored[0]), stored[1]
    changed = change(tensors.pop(name))
    if changed is not None:
        tensors[name] = changed
    with pytest.raises(CheckpointError, match=message) as caught:
        resume(tmp_path / "run.checkpoint", tensors, about)
    assert "start a new run" in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "name",
    ["x", "model/x", "best/x", "optimizer/99/step", "optimizer/00/step", "optimizer/0/max_exp_avg_sq", "generator/x"],
)
def test_an_unknown_tensor_is_refused(name: str, stored, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=f"unknown tensor '{name}'"):
        resume(tmp_path / "run.checkpoint", stored[0] | {name: torch.zeros(())}, stored[1])


@pytest.mark.parametrize("part", ["best", "optimizer"])
def test_a_run_that_has_begun_has_best_weights_and_an_optimizer(part: str, stored, tmp_path: Path) -> None:
    tensors = {name: tensor for name, tensor in stored[0].items() if not name.startswith(part)}
    with pytest.raises(CheckpointError, match=r"no tensor|no state of the optimizer"):
        resume(tmp_path / "run.checkpoint", tensors, stored[1])


ABOUT: dict[str, Any] = {
    "no metadata": {"mvgrl": ""},
    "not JSON": {"mvgrl": "{"},
    "a list": [],
    "a number": 5,
    "5,000 levels": {"mvgrl": "[" * 5000 + "]" * 5000},
    "200,000 levels": {"mvgrl": '{"a":' * 200_000 + "1" + "}" * 200_000},
    "a long number": {"mvgrl": "9" * 10_000},
    "no format": {"format": None},
    "a format that is a list": {"format": ["mvgrl-checkpoint-1"]},
    "no identity": {"identity": None},
    "an identity that is a mapping": {"identity": {}},
    "a long identity": {"identity": "x" * 5000},
    "no losses": {"losses": None},
    "losses that are a mapping": {"losses": {"0": 1.0}},
    "losses that are text": {"losses": "12"},
    "a loss that is a list": {"losses": [1.0, [2.0]]},
    "a loss that is true": {"losses": [1.0, True]},
    "a loss that is not finite": {"losses": [1.0, float("nan")]},
    "a loss beyond the floats": {"losses": [1.0, 10**400]},
    "more losses than epochs": {"losses": [1.0] * 5},
    "no loss at all": {"losses": []},
}


@pytest.mark.parametrize("what", ABOUT)
def test_metadata_of_a_wrong_type_is_refused(what: str, stored, tmp_path: Path) -> None:
    tensors, about = stored
    changed = ABOUT[what]
    if isinstance(changed, dict) and "mvgrl" not in changed:
        changed = {key: value for key, value in {**about, **changed}.items() if value is not None}
    with pytest.raises(CheckpointError, match=r"run\.checkpoint") as caught:
        resume(tmp_path / "run.checkpoint", tensors, changed)
    assert len(str(caught.value)) < len(str(tmp_path)) + 400


def test_a_file_without_metadata_is_refused(stored, tmp_path: Path) -> None:
    save_file(stored[0], tmp_path / "run.checkpoint")
    with pytest.raises(CheckpointError, match="not an mvgrl checkpoint"):
        fit(GRAPH, SETTINGS, device="cpu", checkpoint=tmp_path / "run.checkpoint", resume=True)


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("<Q", 2**62) + b"{}",
        struct.pack("<Q", 60_000_000) + b" " * 60_000_000,
        struct.pack("<Q", 100_000) + b"[" * 100_000,
        struct.pack("<Q", 24) + b'{"__metadata__":{"a":5}}',
        b"\x00" * 8,
        b"",
    ],
    ids=["endless", "long", "deep", "number", "zeros", "empty"],
)
def test_a_bad_header_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.checkpoint").write_bytes(content)
    with pytest.raises(CheckpointError, match="not an mvgrl checkpoint"):
        fit(GRAPH, SETTINGS, device="cpu", checkpoint=tmp_path / "run.checkpoint", resume=True)


def test_a_refused_checkpoint_changes_nothing(stored, tmp_path: Path) -> None:
    from mvgrl.checkpoint import RunState
    from mvgrl.model import MVGRL

    tensors, about = stored
    save_file(tensors | {"best/" + ENCODER: torch.zeros(1)}, tmp_path / "c", {"mvgrl": json.dumps(about)})
    model = MVGRL(SETTINGS, 3)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    run = RunState(model, optimizer, torch.Generator(), about["identity"])
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(CheckpointError):
        run.load(tmp_path / "c")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert not optimizer.state_dict()["state"]
    assert run.history.losses == []
    assert run.best == {}


@pytest.mark.parametrize("epochs", [0, 1])
def test_a_run_without_a_full_epoch_can_be_resumed(epochs: int, tmp_path: Path) -> None:
    settings = replace(SETTINGS, epochs=epochs)
    first = fit(GRAPH, settings, device="cpu", checkpoint=tmp_path / "c")
    again = fit(GRAPH, settings, device="cpu", checkpoint=tmp_path / "c", resume=True)
    np.testing.assert_array_equal(first.vectors(), again.vectors())

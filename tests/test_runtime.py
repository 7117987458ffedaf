"""Devices, generators, threads, TF32 and memory; with a GPU, that it agrees with the CPU."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl import runtime
from mvgrl.automatic import resolve
from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.inputs import prepare
from mvgrl.runtime import (
    allow_tf32,
    compiled,
    generator_for,
    kept_between_steps,
    machine_memory,
    resolve_device,
    use_torch_threads,
)
from mvgrl.settings import Settings
from mvgrl.training import fit
from mvgrl.views import PPR


def twice(number):
    return number * 2


def folder_for_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "numba"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    return folder


def notes_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "not cached" in record.getMessage()]


@pytest.fixture
def quiet_so_far(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Notes are recorded, as if none had been made."""
    monkeypatch.setattr(runtime, "_noted_missing_cache", False)
    monkeypatch.setattr(logging.getLogger("mvgrl"), "propagate", True)  # a test of the CLI may have disabled it
    return caplog


def test_compiled_code_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet_so_far) -> None:
    folder = folder_for_cache(tmp_path, monkeypatch)
    assert [compiled()(twice)(21), compiled()(twice)(21)] == [42, 42]
    assert sorted(path.suffix for path in folder.rglob("*.nb?")) == [".nbc", ".nbi"]
    assert notes_in(quiet_so_far) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_cache_that_others_can_write_to_is_not_used(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet_so_far
) -> None:
    folder = folder_for_cache(tmp_path, monkeypatch)
    compiled()(twice)(1)
    (inner,) = folder.iterdir()
    files = len(list(inner.iterdir()))
    inner.chmod(mode)
    runtime._only_ours.cache_clear()
    kernel = compiled()(twice)
    assert kernel(1.5) == 3.0
    assert len(list(inner.iterdir())) == files == 2
    runtime._only_ours.cache_clear()
    (note,) = notes_in(quiet_so_far)
    assert "others may write" in note
    assert "NUMBA_CACHE_DIR" in note


def test_a_full_disk_under_the_cache_gives_one_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet_so_far
) -> None:
    folder_for_cache(tmp_path, monkeypatch)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", full)
    kernel = compiled()(twice)
    assert [kernel(21), kernel(1.5)] == [42, 3.0]
    (note,) = notes_in(quiet_so_far)
    assert "No space left" in note


def test_a_damaged_cache_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet_so_far) -> None:
    folder = folder_for_cache(tmp_path, monkeypatch)
    compiled()(twice)(1)
    for path in folder.rglob("*.nb?"):
        path.write_bytes(b"\x80damaged")
    assert compiled()(twice)(21) == 42
    assert len(notes_in(quiet_so_far)) == 1


def test_where_no_cache_can_be_created_code_is_compiled(monkeypatch: pytest.MonkeyPatch, quiet_so_far) -> None:
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    kernels = [compiled()(twice), compiled(fastmath=True)(twice)]
    assert [kernel(21) for kernel in kernels] == [42, 42]
    (note,) = notes_in(quiet_so_far)
    assert "no folder for it can be written" in note


def test_auto_prefers_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for available, expected in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda available=available: available)
        assert resolve_device("auto") == torch.device(expected)


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")], ids=["name", "object"])
def test_device_can_be_a_name_or_an_object(device: str | torch.device) -> None:
    assert resolve_device(device) == torch.device("cpu")


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "toaster"])
def test_unavailable_device_is_rejected_with_an_alternative(device: str) -> None:
    with pytest.raises(SettingsError, match=rf"device '{device}' is not available .*; use 'auto' or 'cpu'") as caught:
        resolve_device(device)
    assert caught.value.__suppress_context__


def test_a_generator_is_reproducible_and_differs_by_seed_and_purpose() -> None:
    def draw(seed: int, purpose: str) -> tuple[float, ...]:
        return tuple(torch.rand(3, generator=generator_for(seed, purpose)).tolist())

    assert draw(5, "sampling") == draw(5, "sampling")
    assert len({draw(seed, purpose) for seed in (0, 1) for purpose in ("sampling", "corruption", "init")}) == 6


def test_generators_do_not_touch_the_global_random_state() -> None:
    before = torch.random.get_rng_state()
    torch.rand(3, generator=generator_for(0, "sampling"))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_numba_uses_as_many_threads_as_torch() -> None:
    # In a separate process, because the tests run on one thread. More threads than numba allows are capped.
    code = (
        "import numba, torch; from mvgrl.runtime import use_torch_threads\n"
        "most = numba.get_num_threads()\n"
        "for threads in (1, most, most + 1):\n"
        "    torch.set_num_threads(threads); use_torch_threads()\n"
        "    assert numba.get_num_threads() == min(threads, most), (threads, numba.get_num_threads())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr


def test_use_torch_threads_keeps_a_single_thread() -> None:
    use_torch_threads()
    assert numba.get_num_threads() == torch.get_num_threads() == 1


def test_tf32_is_allowed_only_inside_the_block() -> None:
    assert not torch.backends.cuda.matmul.allow_tf32
    with allow_tf32():
        assert torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32
    with pytest.raises(ZeroDivisionError), allow_tf32():
        raise ZeroDivisionError
    assert not torch.backends.cuda.matmul.allow_tf32


class CLibrary:
    """Records how glibc's allocator is set."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []

    def mallopt(self, parameter: int, value: int) -> None:
        self.calls.append((parameter, value))

    def malloc_trim(self, pad: int) -> None:
        self.calls.append((pad,))


def test_memory_is_kept_inside_the_block_and_released_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    library = CLibrary()
    monkeypatch.setattr(runtime.ctypes, "CDLL", lambda _: library)
    monkeypatch.setattr(runtime.sys, "platform", "linux")
    with pytest.raises(ZeroDivisionError), kept_between_steps():
        raise ZeroDivisionError
    assert [call[0] for call in library.calls] == [-4, -1, -2, -4, -1, -2, 0]  # set, reset, memory released
    assert all(kept != usual for kept, usual in zip(library.calls[:3], library.calls[3:6], strict=True))


def test_allocator_is_not_changed_without_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(runtime.ctypes, "CDLL", lambda name: asked.append(name) or object())
    bodies = []
    for platform in ("linux", "darwin"):
        monkeypatch.setattr(runtime.sys, "platform", platform)
        with kept_between_steps():
            bodies.append(platform)
    assert bodies == ["linux", "darwin"]
    assert asked == [None]  # on Linux alone


def test_machine_memory_is_plausible() -> None:
    assert 2**27 < machine_memory() < 2**50


@pytest.mark.parametrize(("limit", "expected"), [("1048576", 2**20), ("max", None), (str(2**60), None)])
def test_machine_memory_respects_the_cgroup_limit(
    limit: str, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    physical = runtime.os.sysconf("SC_PHYS_PAGES") * runtime.os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(runtime.Path, "read_text", lambda _: f"{limit}\n")
    assert machine_memory() == (expected or physical)


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")

SPARSE = ("adjacency", PPR(top_k=8))
CASES = [
    Settings(hidden=16),
    Settings(hidden=16, views=(*SPARSE, "heat", "distance"), discriminator="dot", readout="mean", layers=2),
    Settings(hidden=16, sampler="nodes", sample_size=30, batch_size=3, bound="nce"),
    Settings(hidden=16, sampler="walk", sample_size=30, batch_size=3, bound="nt-xent", views=SPARSE),
    Settings(hidden=16, readout="diffpool-2", mode="multi-scale", bound="dv", negatives="both"),
    Settings(task="graph", hidden=16, mode="hybrid", layers=3),
    Settings(task="graph", hidden=16, readout="diffpool-2", mode="multi-scale", norm="batch", dropout=0.3),
    Settings(task="graph", hidden=16, views=(*SPARSE, "heat"), encoder="shared", draw_two_views=True),
]


def random_graph(nodes: int, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_scipy(sp.random(nodes, nodes, 4 / nodes, random_state=rng), rng.normal(size=(nodes, 5)))


def graph_for(settings: Settings) -> Graph:
    return random_graph(60) if settings.task == "node" else Graph.join([random_graph(n, n) for n in (8, 15, 11)])


def loss_and_gradients(settings: Settings, device: str) -> list[torch.Tensor]:
    settings = resolve(graph_for(settings), replace(settings, normalise="standard"), device="cpu").settings
    inputs = prepare(graph_for(settings), settings, device=device)
    model, generator = inputs.model(0), torch.Generator().manual_seed(0)
    loss = model(next(iter(inputs.batches().epoch(generator))), generator)
    loss.backward()
    return [loss.detach().cpu(), *(p.grad.cpu() for p in model.parameters() if p.grad is not None)]


@needs_gpu
@pytest.mark.parametrize("settings", CASES, ids=lambda s: f"{s.task}-{s.mode}-{s.readout}-{s.bound}-{s.sampler}")
def test_losses_and_gradients_on_a_gpu_agree_with_the_cpu(settings: Settings) -> None:
    expected, found = (loss_and_gradients(settings, device) for device in ("cpu", "cuda"))
    for on_cpu, on_gpu in zip(expected, found, strict=True):
        torch.testing.assert_close(on_gpu, on_cpu, rtol=1e-3, atol=1e-5)


@needs_gpu
def test_a_run_on_a_gpu_resumes_bit_for_bit(tmp_path) -> None:
    settings, path = Settings(hidden=16, epochs=5), tmp_path / "run.safetensors"
    uninterrupted = fit(random_graph(60), settings, device="cuda", checkpoint=path)
    resumed = fit(random_graph(60), settings, device="cuda", checkpoint=path, resume=True)
    np.testing.assert_array_equal(resumed.represent()[0], uninterrupted.represent()[0])

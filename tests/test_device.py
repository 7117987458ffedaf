"""A GPU gives what the CPU gives; these run wherever there is one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl.graphs import Graph
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.model import MVGRL
from mvgrl.settings import Settings
from mvgrl.training import fit, make_batches
from mvgrl.views import PPR

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU, and there is none here")

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
    graph = graph_for(settings)
    encoder = FeatureEncoder(normalise="standard").fit(graph)
    batches = make_batches(graph, settings, encoder, device=device)
    model = MVGRL(settings, encoder.width, largest=batches.largest).to(device)
    generator = torch.Generator().manual_seed(0)
    loss = model(next(iter(batches.epoch(generator))), generator)
    loss.backward()
    return [loss.detach().cpu(), *(p.grad.cpu() for p in model.parameters() if p.grad is not None)]


@pytest.mark.parametrize("settings", CASES, ids=lambda s: f"{s.task}-{s.mode}-{s.readout}-{s.bound}-{s.sampler}")
def test_losses_and_gradients_agree(settings: Settings) -> None:
    for ours, theirs in zip(loss_and_gradients(settings, "cpu"), loss_and_gradients(settings, "cuda"), strict=True):
        torch.testing.assert_close(theirs, ours, rtol=1e-3, atol=1e-5)


def test_a_run_on_the_gpu_is_resumed(tmp_path) -> None:
    settings, path = Settings(hidden=16, epochs=5), tmp_path / "run.safetensors"
    whole = fit(random_graph(60), settings, device="cuda", checkpoint=path)
    again = fit(random_graph(60), settings, device="cuda", checkpoint=path, resume=True)
    np.testing.assert_array_equal(again.represent()[0], whole.represent()[0])

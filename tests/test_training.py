from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from safetensors import safe_open

from mvgrl.errors import CheckpointError, InputError, MachineError, MVGRLError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.history import History
from mvgrl.inputs import prepare
from mvgrl.model import MVGRL
from mvgrl.settings import Settings
from mvgrl.training import fit, train

NODE = Settings(hidden=8, epochs=12, patience=12, dropout=0.2, sampler="nodes", sample_size=20, batch_size=2)
GRAPH = Settings(task="graph", hidden=8, epochs=6, patience=6, batch_size=2, norm="batch")


def random_graph(nodes: int = 30, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_scipy(sp.random(nodes, nodes, 0.1, random_state=rng), rng.normal(size=(nodes, 4)))


def graph_set() -> Graph:
    return Graph.join([random_graph(n, n) for n in (8, 5, 11, 6, 7)])


def bits(trained) -> list[bytes]:
    state = trained.model.state_dict()
    return [np.array(trained.history.losses).tobytes(), *(state[name].numpy().tobytes() for name in sorted(state))]


tasks = pytest.mark.parametrize(
    ("graph", "settings"), [(random_graph(), NODE), (graph_set(), GRAPH)], ids=["node", "graph"]
)


@tasks
def test_one_seed_gives_the_same_bits_and_another_others(graph: Graph, settings: Settings) -> None:
    first = fit(graph, settings, seed=3, device="cpu")
    torch.manual_seed(99)  # whatever the caller does with the global stream
    assert bits(first) == bits(fit(graph, settings, seed=3, device="cpu"))
    assert bits(first) != bits(fit(graph, settings, seed=4, device="cpu"))


@tasks
def test_training_leaves_the_global_random_state_alone(graph: Graph, settings: Settings) -> None:
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].tobytes()
    fit(graph, settings, device="cpu")
    assert torch.equal(before, torch.get_rng_state())
    assert numpy_before == np.random.get_state()[1].tobytes()


def test_it_stops_when_the_loss_has_not_fallen_for_a_while_and_restores_the_best() -> None:
    settings = replace(NODE, epochs=500, patience=5, learning_rate=0.05)
    graph = random_graph()
    inputs = prepare(graph, replace(settings, normalise="row"), device="cpu")
    model = MVGRL(settings, inputs.encoder.width)
    seen: list = []

    def watch(epoch) -> None:
        seen.append((epoch, {name: tensor.clone() for name, tensor in model.state_dict().items()}))

    history = train(model, inputs.batches(), callbacks=[watch])
    losses = history.losses
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + 5 < 500
    assert history.best_epoch == best + 1
    assert [epoch.number for epoch, _ in seen] == list(range(1, len(losses) + 1))
    assert seen[-1][0].waited == 5
    assert seen[-1][0].best == min(losses)
    assert seen[-1][0].loss == losses[-1]
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, seen[best][1][name]), name


@tasks
def test_a_run_stopped_after_any_epoch_resumes_to_the_same_bits(
    graph: Graph, settings: Settings, tmp_path: Path
) -> None:
    whole = bits(fit(graph, settings, device="cpu"))
    for stop in range(1, settings.epochs + 1):
        path = tmp_path / f"stopped-{stop}.safetensors"

        def interrupt(epoch, stop=stop) -> None:
            if epoch.number == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fit(graph, settings, device="cpu", checkpoint=path, callbacks=[interrupt])
        assert bits(fit(graph, settings, device="cpu", checkpoint=path, resume=True)) == whole


@tasks
def test_frozen_encoders_keep_their_first_weights_and_the_rest_learns(
    graph: Graph, settings: Settings, tmp_path: Path
) -> None:
    frozen = replace(settings, frozen_encoder=True, l2=0.1)  # which would shrink what the optimizer was given
    start = fit(graph, replace(frozen, epochs=0), device="cpu").model.state_dict()
    path = tmp_path / "run.safetensors"
    trained = fit(graph, frozen, device="cpu", checkpoint=path)
    learned = [name for name, _ in trained.model.named_parameters() if not name.startswith("encoders.")]
    for name, parameter in trained.model.named_parameters():
        assert torch.equal(parameter, start[name]) == (name not in learned), name
    with safe_open(path, "pt") as file:
        optimised = {int(name.split("/")[1]) for name in file.keys() if "optimizer/" in name}  # noqa: SIM118
    assert optimised == set(range(len(learned)))  # the optimizer knows of no others

    def interrupt(epoch) -> None:
        if epoch.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(graph, frozen, device="cpu", checkpoint=path, callbacks=[interrupt])
    assert bits(fit(graph, frozen, device="cpu", checkpoint=path, resume=True)) == bits(trained)


KILLED = """
import sys
sys.path.insert(0, sys.argv[3])
from test_training import NODE, random_graph
from mvgrl.training import fit
from pathlib import Path
import time
def slow(epoch):
    print(epoch.number, flush=True)
    time.sleep(0.05)
fit(random_graph(), NODE, device="cpu", checkpoint=sys.argv[1], checkpoint_every=0, callbacks=[slow],
    resume=sys.argv[2] == "resume")
"""


def test_a_killed_process_is_resumed_to_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    command = [sys.executable, "-c", KILLED, str(path), "start", str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) >= 4:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    resumed = fit(random_graph(), NODE, device="cpu", checkpoint=path, resume=True)
    assert bits(resumed) == bits(fit(random_graph(), NODE, device="cpu"))
    assert list(tmp_path.iterdir()) == [path]


def test_resuming_a_finished_run_trains_no_further(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    first = fit(random_graph(), NODE, device="cpu", checkpoint=path)
    epochs = []
    again = fit(random_graph(), NODE, device="cpu", checkpoint=path, resume=True, callbacks=[epochs.append])
    assert epochs == []
    assert bits(again) == bits(first)


@pytest.mark.parametrize("what", ["settings", "seed", "structure", "features"])
def test_a_checkpoint_of_another_run_is_refused(what: str, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    fit(random_graph(), NODE, device="cpu", checkpoint=path)
    graph, settings, seed = random_graph(), NODE, 0
    if what == "settings":
        settings = replace(NODE, learning_rate=0.1)
    elif what == "seed":
        seed = 1
    elif what == "structure":
        graph = random_graph(seed=1)
    else:
        graph = Graph(graph.adjacency, graph.features + 1)
    with pytest.raises(CheckpointError, match="belongs to another run"):
        fit(graph, settings, seed=seed, device="cpu", checkpoint=path, resume=True)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "text", "foreign"])
def test_a_damaged_checkpoint_is_refused_by_name(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    if damage != "missing":
        fit(random_graph(), NODE, device="cpu", checkpoint=path)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "text":
        path.write_text("epoch,loss\n1,2\n")
    elif damage == "foreign":
        from safetensors.torch import save_file

        save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(CheckpointError, match=r"run\.safetensors"):
        fit(random_graph(), NODE, device="cpu", checkpoint=path, resume=True)


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.safetensors"
    fit(random_graph(), NODE, device="cpu", checkpoint=path)
    old = path.read_bytes()

    def full(*_, **__) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(MachineError, match=r"run\.safetensors cannot be written: No space left"):
        fit(random_graph(), replace(NODE, epochs=2), device="cpu", checkpoint=path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_resume_without_a_checkpoint_is_refused() -> None:
    with pytest.raises(CheckpointError, match="give its file name"):
        fit(random_graph(), NODE, device="cpu", resume=True)


def test_what_each_task_is_given_must_fit_it() -> None:
    with pytest.raises(InputError, match="but 5 were given"):
        fit(graph_set(), NODE, device="cpu")
    with pytest.raises(InputError, match="use task='node'"):
        fit(random_graph(), GRAPH, device="cpu")


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_here_is_refused(device: str) -> None:
    with pytest.raises(SettingsError, match="use 'auto' or 'cpu'"):
        fit(random_graph(), NODE, device=device)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(SettingsError, match="integer, at least 0"):
        fit(random_graph(), NODE, device="cpu", seed=seed)  # type: ignore[arg-type]


def test_a_loss_that_explodes_is_reported() -> None:
    graph = random_graph()
    huge = Graph(graph.adjacency, graph.features * np.float64(1e38))
    with pytest.raises(MVGRLError, match="normalise the features"):
        fit(huge, Settings(hidden=8, normalise="none", readout="mean", epochs=3), device="cpu")


def test_new_graphs_are_represented_without_retraining() -> None:
    graph = random_graph()
    trained = fit(graph, NODE, device="cpu")
    nodes, graphs = trained.represent()
    assert nodes.shape == (30, 8)
    assert graphs.shape == (1, 8)
    same, _ = trained.represent(Graph(graph.adjacency, graph.features))
    np.testing.assert_array_equal(same, nodes)
    larger = Graph.join([graph, random_graph(9, 5)])
    joined = Graph(larger.adjacency, larger.features)  # one graph of two components
    more, _ = trained.represent(joined)
    np.testing.assert_allclose(more[:30], nodes, rtol=1e-4, atol=1e-5)
    assert more.shape == (39, 8)
    apart, summaries = trained.represent(larger)  # the same two as graphs of a set
    np.testing.assert_allclose(apart, more, rtol=1e-4, atol=1e-5)
    assert summaries.shape == (2, 8)


GRAPHS_AS_THEY_COME = {
    "one node": Graph.from_edges([], [], nodes=1, features=np.ones((1, 3))),
    "no edges": Graph.from_edges([], [], nodes=6),
    "isolated nodes": Graph.from_edges([0, 1], [1, 2], nodes=6),
    "two components": Graph.from_edges([0, 1, 3, 4], [1, 2, 4, 5]),
    "weighted": Graph.from_edges([0, 1, 2], [1, 2, 3], [0.1, 5.0, 2.0]),
    "self-loops and repeats": Graph.from_edges([0, 0, 0, 1], [0, 1, 1, 2]),
    "0/1 features": Graph.from_edges([0, 1], [1, 2], features=np.eye(3, dtype=bool)),
    "sparse features": Graph.from_edges([0, 1], [1, 2], features=sp.eye_array(3).tocsr()),
}


@pytest.mark.parametrize("name", GRAPHS_AS_THEY_COME)
def test_graphs_as_they_come_give_finite_codes(name: str) -> None:
    graph = GRAPHS_AS_THEY_COME[name]
    settings = Settings(hidden=8, epochs=3, views=("adjacency", "ppr", "heat", "distance"))
    nodes, _ = fit(graph, settings, device="cpu").represent()
    assert nodes.shape == (graph.nodes, 8)
    assert np.isfinite(nodes).all()


def test_sparse_and_dense_diffusion_agree_when_nothing_is_dropped() -> None:
    graph = random_graph()
    dense = Settings(hidden=8, epochs=5)
    sparse = replace(dense, views=("adjacency", {"name": "ppr", "top_k": 30, "epsilon": 1e-9}))
    a, b = fit(graph, dense, device="cpu"), fit(graph, sparse, device="cpu")
    np.testing.assert_allclose(a.history.losses, b.history.losses, rtol=1e-4)
    np.testing.assert_allclose(a.represent()[0], b.represent()[0], rtol=1e-2, atol=1e-4)


def test_the_learning_rate_and_weight_decay_are_the_ones_set() -> None:
    start = fit(random_graph(), replace(NODE, epochs=0), device="cpu").model.state_dict()

    def after_one_step(**changes) -> torch.Tensor:
        settings = replace(NODE, epochs=1, **changes)
        return fit(random_graph(), settings, device="cpu").model.state_dict()["encoders.0.weights.0"]

    before = start["encoders.0.weights.0"]
    for rate in (0.001, 0.02):  # Adam's first step is as long as its rate
        step = (after_one_step(learning_rate=rate) - before).abs().max()
        assert float(step) == pytest.approx(rate, rel=0.01)

    def shrunk(l2: float) -> float:
        return float((after_one_step(l2=l2).abs() < before.abs()).float().mean())

    assert shrunk(0.0) < 0.8  # the loss pushes both ways; decay, once it outweighs it, only towards zero
    assert shrunk(100.0) > 0.9


def test_a_loss_that_stands_still_counts_as_waiting() -> None:
    history = History()
    for loss in (1.0, 0.5, 0.5, 0.5):
        history.add(loss)
    assert (history.best_epoch, history.waited) == (2, 2)

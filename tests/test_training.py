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

NODE = Settings(hidden=8, epochs=8, patience=8, dropout=0.2, sampler="nodes", sample_size=20, batch_size=2)
GRAPH = Settings(task="graph", hidden=8, epochs=4, patience=4, batch_size=2, norm="batch")


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
def test_same_seed_gives_the_same_bits_and_another_seed_does_not(graph: Graph, settings: Settings) -> None:
    first = fit(graph, settings, seed=3, device="cpu")
    torch.manual_seed(99)  # the global generator must not matter
    assert bits(first) == bits(fit(graph, settings, seed=3, device="cpu"))
    assert bits(first) != bits(fit(graph, settings, seed=4, device="cpu"))


@tasks
def test_training_does_not_change_the_global_random_state(graph: Graph, settings: Settings) -> None:
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].tobytes()
    fit(graph, settings, device="cpu")
    assert torch.equal(before, torch.get_rng_state())
    assert numpy_before == np.random.get_state()[1].tobytes()


def test_early_stopping_restores_the_best_weights() -> None:
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
def test_resume_after_any_epoch_continues_bit_for_bit(graph: Graph, settings: Settings, tmp_path: Path) -> None:
    uninterrupted = bits(fit(graph, settings, device="cpu"))
    for stop in range(1, settings.epochs + 1):
        path = tmp_path / f"stopped-{stop}.safetensors"

        def interrupt(epoch, stop=stop) -> None:
            if epoch.number == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fit(graph, settings, device="cpu", checkpoint=path, callbacks=[interrupt])
        assert bits(fit(graph, settings, device="cpu", checkpoint=path, resume=True)) == uninterrupted


@tasks
def test_frozen_encoders_keep_their_initial_weights_while_the_rest_learns(
    graph: Graph, settings: Settings, tmp_path: Path
) -> None:
    frozen = replace(settings, frozen_encoder=True, l2=0.1)  # weight decay would shrink any weight that is optimised
    start = fit(graph, replace(frozen, epochs=0), device="cpu").model.state_dict()
    path = tmp_path / "run.safetensors"
    trained = fit(graph, frozen, device="cpu", checkpoint=path)
    learned = [name for name, _ in trained.model.named_parameters() if not name.startswith("encoders.")]
    for name, parameter in trained.model.named_parameters():
        assert torch.equal(parameter, start[name]) == (name not in learned), name
    with safe_open(path, "pt") as file:
        optimised = {int(name.split("/")[1]) for name in file.keys() if "optimizer/" in name}  # noqa: SIM118
    assert optimised == set(range(len(learned)))  # only the learned parameters are optimised

    def interrupt(epoch) -> None:
        if epoch.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(graph, frozen, device="cpu", checkpoint=path, callbacks=[interrupt])
    assert bits(fit(graph, frozen, device="cpu", checkpoint=path, resume=True)) == bits(trained)


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from test_training import NODE, random_graph
from mvgrl.training import fit
def wait_for_the_kill(epoch):
    if epoch.number == 4:
        print("ready", flush=True)
        sys.stdin.read()
fit(random_graph(), NODE, device="cpu", checkpoint=sys.argv[1], checkpoint_every=0, callbacks=[wait_for_the_kill])
"""


def test_resume_after_a_kill_continues_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL
    resumed = fit(random_graph(), NODE, device="cpu", checkpoint=path, resume=True)
    assert bits(resumed) == bits(fit(random_graph(), NODE, device="cpu"))
    assert list(tmp_path.iterdir()) == [path]


def test_resuming_a_finished_run_does_not_train(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    first = fit(random_graph(), NODE, device="cpu", checkpoint=path)
    epochs = []
    again = fit(random_graph(), NODE, device="cpu", checkpoint=path, resume=True, callbacks=[epochs.append])
    assert epochs == []
    assert bits(again) == bits(first)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The checkpoint of a finished run."""
    path = tmp_path_factory.mktemp("finished") / "run.safetensors"
    fit(random_graph(), NODE, device="cpu", checkpoint=path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("settings", "learning_rate was 0.001, not 0.1;"),
        ("seed", "its seed is different;"),
        ("structure", "its graph is different;"),
        ("features", "its graph is different;"),
    ],
)
def test_checkpoint_of_another_run_is_rejected_and_says_what_differs(
    what: str, named: str, finished_run: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "run.safetensors"
    path.write_bytes(finished_run)
    graph, settings, seed = random_graph(), NODE, 0
    if what == "settings":
        settings = replace(NODE, learning_rate=0.1)
    elif what == "seed":
        seed = 1
    elif what == "structure":
        graph = random_graph(seed=1)
    else:
        graph = Graph(graph.adjacency, graph.features + 1)
    with pytest.raises(CheckpointError, match=f"belongs to another run: {named}"):
        fit(graph, settings, seed=seed, device="cpu", checkpoint=path, resume=True)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "text", "foreign"])
def test_damaged_checkpoint_is_rejected_by_name(damage: str, finished_run: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    if damage != "missing":
        path.write_bytes(finished_run)
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


def test_failed_write_keeps_the_previous_checkpoint(
    finished_run: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.safetensors"
    path.write_bytes(finished_run)

    def full(*_, **__) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(MachineError, match=r"run\.safetensors cannot be written: No space left"):
        fit(random_graph(), replace(NODE, epochs=2), device="cpu", checkpoint=path)
    assert path.read_bytes() == finished_run
    assert list(tmp_path.iterdir()) == [path]


def test_resume_without_a_checkpoint_is_rejected() -> None:
    with pytest.raises(CheckpointError, match="give its file name"):
        fit(random_graph(), NODE, device="cpu", resume=True)


def test_number_of_graphs_must_fit_the_task() -> None:
    with pytest.raises(InputError, match="but 5 were given"):
        fit(graph_set(), NODE, device="cpu")
    with pytest.raises(InputError, match="use task='node'"):
        fit(random_graph(), GRAPH, device="cpu")


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_unavailable_device_is_rejected(device: str) -> None:
    with pytest.raises(SettingsError, match="use 'auto' or 'cpu'"):
        fit(random_graph(), NODE, device=device)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_seed_must_be_a_non_negative_integer(seed: object) -> None:
    with pytest.raises(SettingsError, match="integer, at least 0"):
        fit(random_graph(), NODE, device="cpu", seed=seed)  # type: ignore[arg-type]


def test_diverging_loss_is_reported() -> None:
    graph = random_graph()
    huge = Graph(graph.adjacency, graph.features * np.float64(1e38))
    with pytest.raises(MVGRLError, match="normalise the features"):
        fit(huge, Settings(hidden=8, normalise="none", readout="mean", epochs=3), device="cpu")


def test_new_graphs_are_embedded_without_retraining() -> None:
    graph = random_graph()
    trained = fit(graph, NODE, device="cpu")
    nodes, graphs = trained.represent()
    assert nodes.shape == (30, 8)
    assert graphs.shape == (1, 8)
    same, _ = trained.represent(Graph(graph.adjacency, graph.features))
    np.testing.assert_array_equal(same, nodes)
    larger = Graph.join([graph, random_graph(9, 5)])
    joined = Graph(larger.adjacency, larger.features)  # one graph with two components
    more, _ = trained.represent(joined)
    np.testing.assert_allclose(more[:30], nodes, rtol=1e-4, atol=1e-5)
    assert more.shape == (39, 8)
    apart, summaries = trained.represent(larger)  # the same two as separate graphs
    np.testing.assert_allclose(apart, more, rtol=1e-4, atol=1e-5)
    assert summaries.shape == (2, 8)


UNUSUAL_GRAPHS = {
    "one node": Graph.from_edges([], [], nodes=1, features=np.ones((1, 3))),
    "no edges": Graph.from_edges([], [], nodes=6),
    "isolated nodes": Graph.from_edges([0, 1], [1, 2], nodes=6),
    "two components": Graph.from_edges([0, 1, 3, 4], [1, 2, 4, 5]),
    "weighted": Graph.from_edges([0, 1, 2], [1, 2, 3], [0.1, 5.0, 2.0]),
    "self-loops and duplicates": Graph.from_edges([0, 0, 0, 1], [0, 1, 1, 2]),
    "0/1 features": Graph.from_edges([0, 1], [1, 2], features=np.eye(3, dtype=bool)),
    "sparse features": Graph.from_edges([0, 1], [1, 2], features=sp.eye_array(3).tocsr()),
}


@pytest.mark.parametrize("name", UNUSUAL_GRAPHS)
def test_unusual_graphs_give_finite_codes(name: str) -> None:
    graph = UNUSUAL_GRAPHS[name]
    settings = Settings(hidden=8, epochs=3, views=("adjacency", "ppr", "heat", "distance"))
    nodes, _ = fit(graph, settings, device="cpu").represent()
    assert nodes.shape == (graph.nodes, 8)
    assert np.isfinite(nodes).all()


def test_sparse_and_dense_diffusion_agree_if_all_entries_are_kept() -> None:
    graph = random_graph()
    dense = Settings(hidden=8, epochs=5)
    sparse = replace(dense, views=("adjacency", {"name": "ppr", "top_k": 30, "epsilon": 1e-9}))
    a, b = fit(graph, dense, device="cpu"), fit(graph, sparse, device="cpu")
    np.testing.assert_allclose(a.history.losses, b.history.losses, rtol=1e-4)
    np.testing.assert_allclose(a.represent()[0], b.represent()[0], rtol=1e-2, atol=1e-4)


def test_learning_rate_and_weight_decay_settings_are_used() -> None:
    start = fit(random_graph(), replace(NODE, epochs=0), device="cpu").model.state_dict()

    def after_one_step(**changes) -> torch.Tensor:
        settings = replace(NODE, epochs=1, **changes)
        return fit(random_graph(), settings, device="cpu").model.state_dict()["encoders.0.weights.0"]

    before = start["encoders.0.weights.0"]
    for rate in (0.001, 0.02):  # the first step of Adam equals the learning rate
        step = (after_one_step(learning_rate=rate) - before).abs().max()
        assert float(step) == pytest.approx(rate, rel=0.01)

    def shrunk(l2: float) -> float:
        return float((after_one_step(l2=l2).abs() < before.abs()).float().mean())

    assert shrunk(0.0) < 0.8  # the loss moves weights both ways; strong weight decay only towards zero
    assert shrunk(100.0) > 0.9


def test_equal_loss_counts_as_no_improvement() -> None:
    history = History()
    for loss in (1.0, 0.5, 0.5, 0.5):
        history.add(loss)
    assert (history.best_epoch, history.waited) == (2, 2)


def test_vectors_that_overflow_are_refused():
    trained = fit(
        Graph.from_edges([0, 1, 2], [1, 2, 0], features=np.eye(3)), Settings(hidden=4, epochs=1), device="cpu"
    )
    with torch.no_grad():
        for parameter in trained.model.parameters():
            parameter.fill_(3e38)
    with pytest.raises(InputError, match="the vectors are not finite"):
        trained.vectors()

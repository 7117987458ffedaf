"""Default vectors: their parts, their length, their folder, and what they do with unusual graphs and options."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from safetensors.torch import load_file, save_file
from sklearn.neighbors import NearestCentroid

from mvgrl.beside import Counts, Propagated
from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.inputs import Inputs
from mvgrl.pretrained import load_model, save_model
from mvgrl.settings import CODES, JOINS, Output, Settings
from mvgrl.training import Trained, fit
from mvgrl.vectors import code_names

QUICK = dict(hidden=8, epochs=2)
GRAPHS = Settings(task="graph", **QUICK)
FEATURES = Output(beside="propagated")  # no positions, however few features there are


def random_graph(nodes: int = 40, width: int = 5, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_scipy(sp.random(nodes, nodes, 0.1, random_state=rng), rng.normal(size=(nodes, width)))


def wide_graph(nodes: int = 40, width: int = 300) -> Graph:
    """A graph with more features than are kept as they are."""
    rng = np.random.default_rng(1)
    words = sp.random(nodes, width, 0.1, random_state=rng, format="csr")
    return Graph.from_scipy(sp.random(nodes, nodes, 0.1, random_state=rng), sp.csr_array(words))


def graph_set(count: int = 12) -> Graph:
    """Rings with a tail: many substructures are in several of them."""
    graphs = []
    for number in range(count):
        ring, tail = 3 + number % 4, 1 + number % 3
        sources = [*range(ring), 0, *range(ring, ring + tail - 1)]
        targets = [*range(1, ring), 0, ring, *range(ring + 1, ring + tail)]
        graphs.append(Graph.from_edges(sources, targets))
    return Graph.join(graphs)


def trained_on(task: str, **more: Any) -> tuple[Trained, Graph]:
    graph = random_graph() if task == "node" else graph_set()
    return fit(graph, Settings(task=task, **(QUICK | more)), device="cpu"), graph


both = pytest.mark.parametrize("task", ["node", "graph"])


# Parts and length


def test_vectors_of_nodes_have_the_codes_of_every_view_and_features_before_and_after_propagation() -> None:
    trained, _ = trained_on("node")
    composition = trained.compose(FEATURES)
    names = ["codes: adjacency", "codes: ppr", "raw features", "propagated: adjacency", "propagated: ppr"]
    assert composition.space.widths == (8, 8, 5, 5, 5)
    assert list(composition.parts(trained.model.settings, 0)) == names
    assert trained.vectors(output=FEATURES).shape == (40, 31)
    views = trained.represent(output=Output(preset="paper", join="concatenate"))[0]
    np.testing.assert_allclose(composition.space.mean[:16], views.mean(0), atol=1e-5)


def test_parts_of_the_first_vectors_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Inputs] = []
    now = Propagated.parts
    monkeypatch.setattr(Propagated, "parts", lambda beside, inputs: calls.append(inputs) or now(beside, inputs))
    trained, _ = trained_on("node")
    first = trained.vectors(output=FEATURES)
    assert len(calls) == 1
    np.testing.assert_array_equal(trained.vectors(output=FEATURES), first)  # computed again
    assert len(calls) == 2


def test_the_first_vectors_may_be_those_of_another_graph() -> None:
    (one, _), (other, _) = trained_on("node"), trained_on("node")
    new = random_graph(30, seed=1)
    found = one.vectors(new, FEATURES)
    other.compose(FEATURES)
    assert len(found) == 30
    np.testing.assert_array_equal(found, other.vectors(new, FEATURES))


def test_vectors_of_graphs_have_the_codes_of_every_layer_counts_and_a_histogram() -> None:
    trained, graph = trained_on("graph")
    composition = trained.compose(Output())
    names = ["codes: adjacency", "codes: ppr", "counts", "histogram"]
    assert list(composition.parts(trained.model.settings, 0)) == names
    *codes, counts, histogram = composition.space.widths
    assert codes == [16, 16]  # two layers
    assert counts == min(graph.count, len(composition.beside.colours))
    assert histogram == 101  # degrees; the nodes have no labels
    sums = trained.represent(output=Output(preset="paper", codes="layers", join="concatenate"))[1]
    logarithms = np.sign(sums) * np.log1p(np.abs(sums))
    np.testing.assert_allclose(composition.space.mean[:32], logarithms.mean(0), atol=1e-5)


def lengths_in_the_vector(trained: Trained) -> np.ndarray:
    """Return the root mean squared length of each part of the training graph's vectors."""
    space = trained.compose(FEATURES).space
    rotated = trained.vectors(output=replace(FEATURES, dim=0)) @ space.directions(0).numpy().T
    ends = np.cumsum(space.widths)[:-1]
    return np.array([np.sqrt((part**2).sum(1).mean()) for part in np.split(rotated, ends, axis=1)])


def surviving_shares(trained: Trained, graph: Graph) -> np.ndarray:
    """Return the share of each part's variance that survives a product with the normalised adjacency."""
    looped = graph.adjacency.toarray() + np.eye(graph.nodes)
    root = looped.sum(1) ** -0.5
    step = root[:, None] * looped * root
    space = trained.compose(FEATURES).space
    centred = trained.vectors(output=replace(FEATURES, dim=0)) @ space.directions(0).numpy().T
    shares = []
    for part in np.split(centred, np.cumsum(space.widths)[:-1], axis=1):
        shares.append(((step @ part) ** 2).sum() / (part**2).sum())
    return np.array(shares)


def test_a_part_is_the_longer_the_more_of_it_survives_a_step_over_the_edges() -> None:
    trained, graph = trained_on("node")
    shares = surviving_shares(trained, graph)
    assert shares.max() / shares.min() > 1.5
    weights = np.sqrt([1 / 2, 1 / 2, 0.7**2 / 2, 0.7**2 / 2, 0.7**2 / 2])
    np.testing.assert_allclose(lengths_in_the_vector(trained), 3 * weights * np.sqrt(shares / shares.max()), rtol=1e-3)


@pytest.mark.parametrize("views", [("adjacency", "ppr"), ("ppr", "heat")], ids=str)
def test_parts_are_weighted_by_the_edges_whatever_the_views(views: tuple[str, ...]) -> None:
    trained, graph = trained_on("node", views=views)
    shares, lengths = surviving_shares(trained, graph), lengths_in_the_vector(trained)
    np.testing.assert_allclose(lengths[:2] / np.sqrt(shares[:2]), lengths[0] / np.sqrt(shares[0]), rtol=1e-3)


def test_the_parts_of_a_clique_keep_their_weights() -> None:
    features = np.random.default_rng(0).normal(size=(12, 4))
    clique = Graph.from_edges(*np.triu_indices(12, k=1), features=features)
    lengths = lengths_in_the_vector(fit(clique, Settings(**QUICK), device="cpu"))
    assert lengths[2] == pytest.approx(3 * 0.7 / np.sqrt(2), rel=1e-3)  # the average over all nodes is zero


def test_positions_are_weighted_alike_on_every_graph() -> None:
    graph = Graph(random_graph().adjacency)
    trained = fit(graph, Settings(**QUICK, features="position"), device="cpu")
    assert list(trained.compose(Output()).parts(trained.model.settings, 0))[2:] == [
        "raw positions",
        "propagated: adjacency",
        "propagated: ppr",
    ]
    np.testing.assert_allclose(lengths_in_the_vector(trained), 3 / np.sqrt(2), rtol=1e-3)


def test_noise_among_the_features_does_not_fill_the_first_components() -> None:
    """Communities of a graph whose features are nearly all noise are found in a few numbers."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 100)
    likely = np.where(groups[:, None] == groups, 0.1, 0.01)
    edges = np.nonzero(np.triu(rng.random(likely.shape) < likely, k=1))
    features = rng.normal(size=(400, 40)) + 0.3 * rng.normal(size=(4, 40))[groups]
    graph = Graph.from_edges(*edges, nodes=400, features=features)
    vectors = fit(graph, Settings(hidden=64, epochs=20), device="cpu").vectors(output=Output(dim=8))
    near = NearestCentroid().fit(vectors[::2], groups[::2])
    assert near.score(vectors[1::2], groups[1::2]) > 0.9


@both
def test_all_components_keep_everything(task: str) -> None:
    trained, _ = trained_on(task)
    parts = trained.compose(Output(dim=0)).parts(trained.model.settings, 0)
    assert parts == dict.fromkeys(parts, pytest.approx(1.0, abs=1e-4))
    some = trained.compose(Output(dim=2)).parts(trained.model.settings, 2)
    assert 0 < min(some.values()) < 0.9


@both
def test_dim_cuts_the_vector(task: str) -> None:
    trained, graph = trained_on(task)
    whole, space = trained.vectors(), trained.compose(Output()).space
    directions, rotation = (one.double().numpy() for one in (space.directions(0), space.rotation))
    components = whole.astype(np.float64) @ directions.T @ rotation
    for dim in (1, 3):
        found = trained.vectors(output=Output(dim=dim)).astype(np.float64)
        np.testing.assert_allclose(found @ found.T, components[:, :dim] @ components[:, :dim].T, atol=1e-4)
    rows = graph.nodes if task == "node" else graph.count
    assert whole.shape[1] <= rows
    np.testing.assert_array_equal(trained.vectors(output=Output(dim=0)), trained.vectors(output=Output(dim=10_000)))


def test_vectors_are_at_most_512_long() -> None:
    graph = random_graph(700, 200)
    trained = fit(graph, Settings(hidden=100, epochs=0, views=("adjacency", "ppr", "heat")), device="cpu")
    assert trained.vectors().shape == (700, 512)
    assert trained.vectors(output=Output(dim=0)).shape[1] > 512


@both
def test_unit_length_applies_to_the_composed_vector(task: str) -> None:
    trained, _ = trained_on(task)
    unit, free = trained.vectors(output=Output(unit_length=True)), trained.vectors()
    np.testing.assert_allclose(unit, free / np.linalg.norm(free, axis=1, keepdims=True), atol=1e-6)


def test_vectors_without_other_parts_contain_only_codes() -> None:
    trained, _ = trained_on("node")
    output = Output(beside="none", dim=0)
    codes = trained.represent(output=Output(preset="paper", join="concatenate"))[0]
    assert trained.vectors(output=output).shape == (40, 16)
    np.testing.assert_array_equal(trained.vectors(output=output), codes)  # neither centred nor rotated
    assert trained.vectors(output=Output(beside="none", dim=4)).shape == (40, 4)
    assert code_names(trained.model.settings, output.for_task("node")) == ["codes: adjacency", "codes: ppr"]


@pytest.mark.parametrize(("task", "beside"), [("node", "counts"), ("graph", "propagated")])
def test_what_belongs_to_the_other_task_is_rejected(task: str, beside: str) -> None:
    with pytest.raises(SettingsError, match="does not fit task"):
        trained_on(task)[0].vectors(output=Output(beside=beside))


# Options


@both
@pytest.mark.parametrize(
    "views", [("heat:t=3", "distance"), ("adjacency", "ppr", "heat"), ("ppr:top_k=4", "heat:top_k=4")], ids=str
)
def test_other_views_and_their_number_have_their_own_parts(task: str, views: tuple[str, ...]) -> None:
    trained, graph = trained_on(task, views=views)
    composition = trained.compose(Output())
    others = 2 * (len(views) + 1) if task == "node" else 2
    assert len(composition.space.widths) == len(views) + others
    assert np.isfinite(trained.vectors()).all()
    np.testing.assert_allclose(trained.vectors(graph), trained.vectors(), atol=1e-5)


@both
@pytest.mark.parametrize(("codes", "join"), [*product(CODES, JOINS)])
def test_every_kind_of_codes_can_be_joined_with_other_parts(task: str, codes: str, join: str) -> None:
    trained, _ = trained_on(task, layers=2)
    output = Output(codes=codes, join=join)
    widths = trained.compose(output).space.widths
    count = 1 if join == "sum" else 2
    assert widths[:count] == (16 if codes == "layers" else 8,) * count
    assert len(widths) == count + (6 if task == "node" else 2)
    vectors = trained.vectors(output=output)
    assert np.isfinite(vectors).all()
    assert np.linalg.matrix_rank(vectors) > 3


def test_one_view_is_enough() -> None:
    trained, _ = trained_on("node", views=("adjacency",), mode="ensemble")
    assert trained.compose(FEATURES).space.widths == (8, 5, 5)
    assert trained.compose(Output()).space.widths == (8, 5, 5, 40, 40)


@pytest.mark.parametrize("output", [Output(), Output(preset="paper", dim=3), Output(beside="none")])
def test_represent_rejects_a_composed_output(output: Output) -> None:
    trained, _ = trained_on("node")
    with pytest.raises(SettingsError, match="use the preset 'paper'"):
        trained.represent(output=output)


def test_vectors_can_be_made_where_gradients_are_off() -> None:
    graph = wide_graph()
    expected = fit(graph, Settings(**QUICK), device="cpu").vectors()
    for off in (torch.no_grad, torch.inference_mode):
        trained = fit(graph, Settings(**QUICK), device="cpu")
        with off():
            np.testing.assert_array_equal(trained.vectors(), expected)


# Symmetry and new graphs


def test_permuted_nodes_have_the_same_inner_products() -> None:
    for graph in (random_graph(), wide_graph()):
        order = np.random.default_rng(3).permutation(graph.nodes)
        other = Graph.from_scipy(graph.adjacency[order][:, order], graph.features[order])
        settings = Settings(hidden=8, epochs=0)  # training draws permutations
        ours, theirs = (fit(one, settings, device="cpu").vectors(output=Output(dim=0)) for one in (graph, other))
        assert ours.shape == theirs.shape
        np.testing.assert_allclose((ours @ ours.T)[order][:, order], theirs @ theirs.T, atol=2e-3)


@both
def test_a_new_graph_alone_has_the_vector_it_has_among_others(task: str) -> None:
    trained, graph = trained_on(task)
    np.testing.assert_allclose(trained.vectors(graph), trained.vectors(), atol=1e-5)
    if task == "graph":
        for number in (0, 5, 11):
            alone = trained.vectors(graph.select([number]))
            np.testing.assert_allclose(alone, trained.vectors()[[number]], atol=1e-4)


# Unusual graphs


@pytest.mark.parametrize(
    "graph",
    [
        random_graph(12, 3),
        Graph.from_scipy(sp.csr_array((6, 6)), np.random.default_rng(0).normal(size=(6, 3))),
        Graph.from_edges([], [], nodes=4),
        Graph.from_edges([], [], nodes=1),
        Graph.from_edges([], [], nodes=1, features=np.array([[1.0, 2.0]])),
        Graph.from_edges([0, 1], [1, 2], features=np.ones((3, 2))),
        Graph.from_edges([0, 1], [1, 2], features=np.zeros((3, 300))),
    ],
    ids=["usual", "no edges", "nothing", "one node", "one node with features", "constant features", "wide zeros"],
)
@pytest.mark.parametrize("features", ["auto", "given"])
def test_unusual_graphs_have_finite_vectors(graph: Graph, features: str) -> None:
    if features == "given" and graph.features is None:
        pytest.skip("the graph has no features")
    trained = fit(graph, Settings(**QUICK, features=features), device="cpu")
    for output in (Output(), Output(dim=2), Output(dim=0, unit_length=True)):
        vectors = trained.vectors(output=output)
        assert vectors.shape[0] == graph.nodes
        assert 1 <= vectors.shape[1] <= graph.nodes
        assert np.isfinite(vectors).all()
    assert "variance kept" in trained.vector_text(Output())


def test_equal_graphs_have_finite_vectors() -> None:
    triangle = Graph.from_edges([0, 1, 2], [1, 2, 0])
    vectors = fit(Graph.join([triangle] * 4), GRAPHS, device="cpu").vectors()
    assert vectors.shape == (4, 1)
    np.testing.assert_allclose(vectors, 0, atol=1e-4)


# Folders


@pytest.mark.parametrize("task", ["node", "wide", "graph"])
def test_a_composition_from_a_folder_gives_the_same_bits(task: str, tmp_path: Path) -> None:
    graph = {"node": random_graph, "wide": wide_graph, "graph": graph_set}[task]()
    trained = fit(graph, GRAPHS if task == "graph" else Settings(**QUICK), device="cpu")
    expected = trained.vectors()
    save_model(trained, tmp_path / "model")
    loaded = load_model(tmp_path / "model", device="cpu")
    assert loaded.output == trained.output_of(None)
    for output in (loaded.output, replace(loaded.output, dim=4), replace(loaded.output, unit_length=True)):
        np.testing.assert_array_equal(loaded.trained.vectors(graph, output), trained.vectors(output=output))
    np.testing.assert_array_equal(loaded.trained.vectors(graph), expected)
    before, after = (one.compose(Output()).parts(trained.model.settings, 4) for one in (trained, loaded.trained))
    assert before == after


@pytest.mark.parametrize("changes", [dict(codes="encoded"), dict(join="sum"), dict(beside="none", dim=3)], ids=str)
def test_a_loaded_model_cannot_compose_other_parts(changes: dict[str, Any], tmp_path: Path) -> None:
    trained, graph = trained_on("node")
    save_model(trained, tmp_path / "model")
    loaded = load_model(tmp_path / "model", device="cpu").trained
    with pytest.raises(SettingsError, match="other parts of its vectors") as caught:
        loaded.compose(Output(**changes))
    assert "train again" in str(caught.value)
    paper = Output(preset="paper")
    np.testing.assert_array_equal(loaded.vectors(graph, paper), trained.vectors(output=paper))


def changed(folder: Path, values: dict[str, torch.Tensor | None]) -> None:
    """Replace tensors of ``vector/`` in a model's folder, or remove them."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name, value in values.items():
        tensors.pop(f"vector/{name}", None)
        if value is not None:
            tensors[f"vector/{name}"] = value
    save_file(tensors, path)


def test_models_whose_vectors_have_no_unpropagated_features_can_be_read(tmp_path: Path, monkeypatch) -> None:
    """The third format of models has propagated features only."""
    trained, graph = trained_on("node")
    now = Propagated.fit

    def without_raw(inputs: Inputs) -> Propagated:
        return replace(now(inputs), bases=now(inputs).bases[1:], raw=False)

    monkeypatch.setattr(Propagated, "fit", without_raw)
    expected = trained.vectors(output=FEATURES)
    save_model(trained, tmp_path / "model", output=FEATURES)
    monkeypatch.undo()
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace("mvgrl-model-7", "mvgrl-model-3"))
    loaded = load_model(tmp_path / "model", device="cpu").trained
    np.testing.assert_array_equal(loaded.vectors(graph), expected)
    assert "raw features" not in loaded.compose(Output()).parts(loaded.model.settings, 0)


def test_models_whose_vectors_have_components_of_positions_can_be_read(tmp_path: Path, monkeypatch) -> None:
    """Until positions were all kept, 256 components of them were."""
    ends = np.random.default_rng(0).integers(0, 300, (2, 900))
    graph = Graph.from_edges(*ends, nodes=300)
    trained = fit(graph, Settings(**QUICK), device="cpu")
    now = Propagated.fit

    def compressed(inputs: Inputs) -> Propagated:
        width = inputs.features.shape[1]
        return replace(now(inputs), bases=tuple(torch.eye(width)[:, :256].contiguous() for _ in range(3)))

    monkeypatch.setattr(Propagated, "fit", compressed)
    expected = trained.vectors()
    save_model(trained, tmp_path / "model")
    monkeypatch.undo()
    loaded = load_model(tmp_path / "model", device="cpu").trained
    np.testing.assert_array_equal(loaded.vectors(graph), expected)
    assert loaded.compose(Output()).space.widths[2:] == (256, 256, 256)


def test_vectors_of_graphs_of_the_fifth_format_have_roots_and_no_histogram(tmp_path: Path, monkeypatch) -> None:
    trained, graph = trained_on("graph")
    now = Counts.fit
    monkeypatch.setattr(Counts, "fit", lambda inputs: replace(now(inputs), labels=None))
    trained.composition = replace(trained.compose(Output()), logarithms=False)
    expected = trained.vectors()
    save_model(trained, tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace("mvgrl-model-7", "mvgrl-model-5"))
    loaded = load_model(tmp_path / "model", device="cpu").trained
    np.testing.assert_array_equal(loaded.vectors(graph), expected)
    assert list(loaded.compose(Output()).parts(loaded.model.settings, 0))[2:] == ["counts"]
    save_model(loaded, tmp_path / "again")  # in the present format
    again = load_model(tmp_path / "again", device="cpu").trained
    np.testing.assert_array_equal(again.vectors(graph), expected)


def test_vectors_of_the_fourth_format_remain_principal_components(tmp_path: Path) -> None:
    trained, graph = trained_on("node")
    save_model(trained, tmp_path / "model")
    changed(tmp_path / "model", {"mixed": None})
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace("mvgrl-model-7", "mvgrl-model-4"))
    found = load_model(tmp_path / "model", device="cpu").trained.vectors(graph)
    space = trained.compose(Output()).space
    np.testing.assert_allclose(
        found @ space.rotation.numpy().T, trained.vectors() @ space.directions(0).numpy().T, atol=1e-5
    )
    assert (np.diff(found.var(0)) < 0).all()


NAN = float("nan")
DAMAGES: dict[str, tuple[str, dict[str, torch.Tensor | None], str]] = {
    "no rotation": ("wide", {"rotation": None}, "rotation"),
    "no mean": ("wide", {"mean": None}, "mean"),
    "no basis": ("wide", {"basis.1": None}, "basis"),
    "no bases": ("wide", {"basis.0": None, "basis.1": None}, "basis"),
    "basis of other features": ("wide", {"basis.0": torch.zeros(299, 40)}, "basis.0 has shape"),
    "basis without columns": ("wide", {"basis.0": torch.zeros(300, 0)}, "basis.0 has shape"),
    "basis of other components": ("wide", {"basis.0": torch.zeros(300, 39)}, "has shape"),
    "flat basis": ("wide", {"basis.0": torch.zeros(300)}, "basis.0 has shape"),
    "basis of integers": ("wide", {"basis.0": torch.zeros(300, 40, dtype=torch.int64)}, "basis.0"),
    "basis with nan": ("wide", {"basis.0": torch.full((300, 40), NAN)}, "basis.0 has values that are not finite"),
    "unknown basis": ("wide", {"basis.3": torch.zeros(300, 40)}, "basis.3 is unknown"),
    "unknown tensor": ("wide", {"colours": torch.arange(3)}, "colours is unknown"),
    "basis that is not needed": ("node", {"basis.0": torch.zeros(5, 5)}, "basis.0 is unknown"),
    "mean with nan": ("node", {"mean": torch.full((31,), NAN)}, "mean is not made of finite"),
    "mean too long": ("node", {"mean": torch.zeros(32)}, "mean has shape"),
    "scale too short": ("node", {"scale": torch.ones(3)}, "scale has shape"),
    "double scale": ("node", {"scale": torch.ones(5, dtype=torch.float64)}, "scale is not made of"),
    "rotation of nothing": ("node", {"rotation": torch.zeros(31, 0), "variance": torch.zeros(5, 0)}, "has shape"),
    "other blocks": ("node", {"mixed": torch.tensor([8])}, "mixed is"),
    "flat rotation": ("node", {"rotation": torch.zeros(31)}, "has shape"),
    "other widths": ("node", {"widths": torch.tensor([8, 8, 5, 4, 6])}, "columns"),
    "too many parts": (
        "node",
        {"widths": torch.tensor([8, 8, 5, 5, 5, 5])},
        "4 parts in addition to the codes of 2 views",
    ),
    "no positions": ("position", {"position.positions": None}, "positions"),
    "positions of other nodes": ("position", {"position.positions": torch.zeros(39, 40)}, "positions is not"),
    "positions with nan": ("position", {"position.positions": torch.full((40, 40), NAN)}, "finite"),
    "positions of another width": ("position", {"position.width": torch.tensor([39])}, "is not"),
    "repeated ids of positions": ("position", {"position.ids": torch.zeros(40, dtype=torch.int64)}, "different ids"),
    "unknown array of positions": ("position", {"position.colours": torch.zeros(1)}, "colours"),
    "no colours": ("graph", {"colours": None}, "colours"),
    "empty colours": ("graph", {"colours": torch.arange(0), "basis.0": torch.zeros(0, 12)}, "colours"),
    "unsorted colours": ("graph", {"colours": torch.tensor([3, 2, 1])}, "colours are not sorted"),
    "other colours": ("graph", {"colours": torch.tensor([1, 2, 3])}, "basis.0 has shape"),
    "no labels": ("graph", {"labels": None}, "2 parts in addition to the codes"),
    "unsorted labels": ("graph", {"labels": torch.tensor([3, 2])}, "labels are not sorted"),
    "labels of other graphs": ("graph", {"labels": torch.tensor([2, 3])}, "mean has shape"),
    "share above one": ("graph", {"share": torch.tensor([1.5])}, "share is not a share"),
    "share that is nan": ("graph", {"share": torch.tensor([NAN])}, "share is not a share"),
}  # fmt: skip


@pytest.fixture(scope="module")
def trained_models() -> dict[str, Trained]:
    graphs = {"node": random_graph(), "position": random_graph(), "wide": wide_graph(), "graph": graph_set()}
    return {
        name: fit(graph, GRAPHS if name == "graph" else Settings(**QUICK), device="cpu")
        for name, graph in graphs.items()
    }


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_parts_of_a_vector_are_rejected(damage, trained_models, tmp_path: Path, input_error) -> None:
    name, values, reason = DAMAGES[damage]
    output = Output() if name in ("graph", "position") else FEATURES
    save_model(trained_models[name], tmp_path / "model", output=output)
    load_model(tmp_path / "model", device="cpu")
    changed(tmp_path / "model", values)
    words = ("does not contain a complete model", reason)
    input_error(lambda: load_model(tmp_path / "model", device="cpu"), *words)


def test_parts_in_the_folder_of_a_model_without_them_are_rejected(trained_models, tmp_path: Path) -> None:
    save_model(trained_models["node"], tmp_path / "model", output=Output(preset="paper"))
    load_model(tmp_path / "model", device="cpu")
    changed(tmp_path / "model", {"mean": torch.zeros(26)})
    with pytest.raises(InputError, match="vector/mean is unknown"):
        load_model(tmp_path / "model", device="cpu")

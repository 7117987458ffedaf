"""Square roots of propagated features equal a naive computation with dense matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl.beside import KINDS, Propagated, roots
from mvgrl.beside.roots import root_directions
from mvgrl.graphs import Graph
from mvgrl.inputs import Inputs, prepare
from mvgrl.matrices import DenseMatrix
from mvgrl.pretrained import load_model, save_model
from mvgrl.settings import Output, Settings, literal
from mvgrl.training import fit

NODES, WIDTH = 400, 300


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of these tests are large."""
    monkeypatch.setattr(roots, "LARGE_GRAPH", NODES - 1)


def word_graph(seed: int = 0, width: int = WIDTH) -> Graph:
    """Groups of nodes with words of their own; the last node has no words and no edges."""
    rng = np.random.default_rng(seed)
    label = rng.integers(20, size=NODES)
    same = label[:, None] == label
    edges = np.argwhere(np.triu(rng.random((NODES, NODES)) < np.where(same, 0.2, 0.002), 1))
    words = rng.poisson(np.where(np.arange(width) % 20 == label[:, None], 0.4, 0.01) * rng.pareto(2, width))
    words[-1] = 0
    return Graph.from_edges(
        *edges[(edges < NODES - 1).all(1)].T, nodes=NODES, features=sp.csr_array(words.astype(np.float32))
    )


def inputs_of(graph: Graph, **more: object) -> Inputs:
    return prepare(graph, literal({"hidden": 4, **more}), device="cpu")


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-12)


PROPAGATIONS = [(0, 8), (1, 1), (0, 2)]  # over the adjacency, the diffusion, and the adjacency again: view and steps


def densely(inputs: Inputs, part: int) -> np.ndarray:
    """Return the square roots of V^k·X, as shares of their rows, for a view V."""
    view, steps = PROPAGATIONS[part]
    matrix = inputs.views[view].dense().double().numpy()
    found = np.linalg.matrix_power(matrix, steps) @ inputs.features.dense().double().numpy()
    total = found.sum(1, keepdims=True)
    return np.sqrt(np.divide(found, total, out=np.zeros_like(found), where=total > 0))


def fitted(inputs: Inputs) -> Propagated:
    beside = Propagated.fit(inputs)
    assert beside.roots
    return beside


@pytest.mark.parametrize("block", [2**25, 7 * NODES])
def test_parts_are_components_of_square_roots(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if 7 columns are propagated at a time."""
    monkeypatch.setattr(roots, "_BLOCK", block)
    monkeypatch.setattr(roots, "_FEWEST", 1)
    inputs = inputs_of(word_graph())
    beside = fitted(inputs)
    parts = beside.parts(inputs)[1:]
    assert len(parts) == len(PROPAGATIONS)
    for number, part in enumerate(parts):
        whole = densely(inputs, number)
        expected = unit(whole @ np.linalg.svd(whole, full_matrices=False)[2][:256].T)
        np.testing.assert_allclose(part @ part.T, expected @ expected.T, atol=1e-3)
        assert not part[-1].any()  # nothing to propagate


@pytest.mark.parametrize("steps", [1, 3])
def test_directions_lead_after_all_steps(steps: int) -> None:
    rng = np.random.default_rng(0)
    view, table = rng.random((30, 30)), rng.random((30, 12))
    found = np.linalg.matrix_power(view, steps) @ table
    expected = np.linalg.svd(np.sqrt(found / found.sum(1, keepdims=True)))[2][:2].T
    given = [DenseMatrix(torch.from_numpy(one).float()) for one in (table, view)]
    basis = root_directions(*given, steps, 2, torch.device("cpu")).numpy()
    np.testing.assert_allclose(basis @ basis.T, expected @ expected.T, atol=1e-3)


def test_raw_features_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = inputs_of(word_graph())
    beside = fitted(inputs)
    raw, *others = beside.names(Settings())
    propagated = [f": {view}" for view in ("adjacency", "ppr")] + [", 2 steps: adjacency"]
    assert (raw, others) == ("raw features", [f"propagated, square roots{one}" for one in propagated])
    monkeypatch.setattr(roots, "LARGE_GRAPH", NODES)
    plain = Propagated.fit(inputs)
    assert not plain.roots
    torch.testing.assert_close(beside.parts(inputs)[0], plain.parts(inputs)[0])
    assert plain.names(Settings()) == ["raw features", "propagated: adjacency", "propagated: ppr"]


def test_directions_of_a_sample_of_rows_keep_nearly_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = inputs_of(word_graph())
    everything = fitted(inputs)
    monkeypatch.setattr(roots, "_SAMPLE", 300 * WIDTH)
    sampled = fitted(inputs)
    for number in range(len(PROPAGATIONS)):
        whole = densely(inputs, number)
        kept = [np.square(whole @ beside.bases[number + 1].numpy()).sum() for beside in (everything, sampled)]  # type: ignore[union-attr]
        assert 0.98 * kept[0] < kept[1] < kept[0]


@pytest.mark.parametrize(
    ("width", "settings", "limits"),
    [
        (WIDTH, {"normalise": "standard"}, {}),  # centred, so that some are negative
        (WIDTH, {}, {"WIDEST": WIDTH - 1}),
        (WIDTH, {}, {"MOST_ENTRIES": NODES * WIDTH - 1}),
        (256, {}, {}),
        (WIDTH, {"features": "position"}, {}),
    ],
)
def test_other_features_are_propagated_as_they_are(
    width: int, settings: dict[str, str], limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(roots, name, limit)
    inputs = inputs_of(word_graph(width=width), **settings)
    beside = Propagated.fit(inputs)
    assert not beside.roots
    assert "roots" not in beside.tensors()


def test_negative_features_are_propagated_as_they_are() -> None:
    graph = word_graph()
    features = graph.features.tolil()
    features[0, 0] = -1
    negative = Graph.from_scipy(graph.adjacency, features.tocsr())
    assert not Propagated.fit(inputs_of(negative, normalise="none")).roots
    assert Propagated.fit(inputs_of(graph, normalise="none")).roots


def test_dense_features_have_the_same_square_roots() -> None:
    graph = word_graph()
    dense = Graph.from_scipy(graph.adjacency, graph.features.toarray())
    for one, other in zip(*(fitted(inputs := inputs_of(each)).parts(inputs) for each in (graph, dense)), strict=True):
        torch.testing.assert_close(one @ one.T, other @ other.T, atol=1e-3, rtol=0)


@pytest.mark.parametrize("kind", ["propagated", "propagated+position"])
def test_a_saved_model_makes_the_same_vectors(kind: str, tmp_path: Path) -> None:
    graph, output = word_graph(), Output(dim=40, beside=kind)
    trained = fit(graph, Settings(hidden=4, epochs=2, normalise="row", sampler="full"), seed=0, device="cpu")
    save_model(trained, tmp_path / "model", output=output)
    loaded, chosen, _ = load_model(tmp_path / "model", device="cpu")
    assert loaded.composition is not None
    assert isinstance(loaded.composition.beside, KINDS[kind])
    assert loaded.composition.beside.roots
    np.testing.assert_array_equal(loaded.vectors(graph, chosen), trained.vectors(graph, output))


def test_another_graph_is_embedded_with_the_directions_of_the_first() -> None:
    inputs = inputs_of(word_graph())
    beside = fitted(inputs)
    new = prepare(word_graph(seed=1), inputs.settings, device="cpu", encoder=inputs.encoder)
    for number, part in enumerate(beside.parts(new)[1:]):
        basis = beside.bases[number + 1]
        assert basis is not None
        np.testing.assert_allclose(part, unit(densely(new, number) @ basis.double().numpy()), atol=1e-4)


@pytest.mark.parametrize("missing", ["raw features", "two steps"])
def test_a_file_with_a_part_less_is_rejected(missing: str) -> None:
    inputs = inputs_of(word_graph())
    beside = fitted(inputs)
    tensors = beside.tensors()
    found = Propagated.from_tensors(tensors, inputs.settings, WIDTH, 4)
    assert found.weights == beside.weights
    assert found.names(inputs.settings) == beside.names(inputs.settings)
    count = {"raw features": 2, "two steps": 3}[missing]
    with pytest.raises(ValueError, match=f"there are {count} parts"):
        Propagated.from_tensors(tensors, inputs.settings, WIDTH, count)

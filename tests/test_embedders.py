from __future__ import annotations

import inspect
import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import mvgrl
from mvgrl import Graph, GraphEmbedder, NodeEmbedder
from mvgrl.cli import main
from mvgrl.errors import GraphWarning, InputError, SettingsError
from mvgrl.graphs.tables import from_tables
from mvgrl.settings import Output, Settings

QUICK = dict(hidden=8, epochs=3, device="cpu")
pytestmark = pytest.mark.filterwarnings("ignore::mvgrl.errors.GraphWarning")  # those that no test is about
EYE = np.eye(4)
both = pytest.mark.parametrize("kind", [NodeEmbedder, GraphEmbedder])

# The checks of scikit-learn that call fit with a table of numbers, one row per sample. An embedder of graphs rightly
# rejects such a table; the tests below check the same properties with graphs where they make sense.
NEED_A_TABLE = {
    "check_complex_data",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
}


def random_graph(nodes: int = 25, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_scipy(sp.random(nodes, nodes, 0.12, random_state=rng), rng.normal(size=(nodes, 4)))


def cosines(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    return (some * others).sum(1) / np.linalg.norm(some, axis=1) / np.linalg.norm(others, axis=1)


def rings_and_stars() -> tuple[list[nx.Graph], np.ndarray]:
    graphs = [nx.cycle_graph(n) for n in range(5, 17)] + [nx.star_graph(n) for n in range(5, 17)]
    return graphs, np.repeat([0, 1], 12)


@both
@pytest.mark.filterwarnings("ignore")
def test_applicable_scikit_learn_checks_pass(kind: type) -> None:
    results = estimator_checks.check_estimator(kind(**QUICK), on_fail=None, on_skip=None)
    passed = {result["check_name"] for result in results if result["status"] == "passed"}
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == NEED_A_TABLE
    assert len(passed) >= 13


@both
def test_fit_changes_no_parameter_and_is_repeatable(kind: type) -> None:
    data = random_graph() if kind is NodeEmbedder else rings_and_stars()[0]
    embedder = kind(**QUICK)
    before = embedder.get_params()
    assert embedder.fit(data) is embedder
    assert embedder.get_params() == before
    first = embedder.embedding_
    np.testing.assert_array_equal(embedder.fit(data).embedding_, first)
    state = set(vars(embedder))
    np.testing.assert_array_equal(embedder.transform(data), first)
    assert set(vars(embedder)) == state
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(embedder)).transform(data), first)


@both
def test_parameters_are_keyword_only_and_become_the_settings(kind: type) -> None:
    parameters = inspect.signature(kind).parameters
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters.values())
    task = {NodeEmbedder: "node", GraphEmbedder: "graph"}[kind]
    assert kind()._settings() == Settings(task=task)
    assert kind()._output() == Output()


@both
def test_get_params_clone_and_repr_work(kind: type) -> None:
    embedder = kind(hidden=32, bound="nce").set_params(layers=3)
    copy = clone(embedder)
    assert copy is not embedder
    assert copy.get_params() == embedder.get_params()
    assert repr(copy) == f"{kind.__name__}(bound='nce', hidden=32, layers=3)"


def test_invalid_parameters_are_rejected_in_fit() -> None:
    with pytest.raises(SettingsError, match="did you mean 'nce'"):
        NodeEmbedder(bound="nec").fit(random_graph())


def test_nodes_keep_their_ids() -> None:
    graph = nx.karate_club_graph()
    names = nx.relabel_nodes(graph, {node: f"member {node}" for node in graph})
    embedder = NodeEmbedder(**QUICK, dim=8).fit(names)
    assert embedder.embedding_.shape == (34, 8)
    assert embedder.ids_.tolist() == [f"member {node}" for node in graph]
    assert len(embedder.history_) == 3
    np.testing.assert_array_equal(embedder.transform(names), embedder.embedding_)
    np.testing.assert_array_equal(NodeEmbedder(**QUICK, dim=8).fit_transform(names), embedder.embedding_)


def test_random_state_accepts_an_int_a_random_state_or_none() -> None:
    graph = random_graph()

    def embed(state: object) -> np.ndarray:
        return NodeEmbedder(random_state=state, **QUICK).fit_transform(graph)

    np.testing.assert_array_equal(embed(3), embed(3))
    assert not np.array_equal(embed(3), embed(4))
    np.testing.assert_array_equal(embed(np.random.RandomState(1)), embed(np.random.RandomState(1)))
    assert not np.array_equal(embed(None), embed(None))


def test_output_options_change_vectors_without_retraining() -> None:
    embedder = NodeEmbedder(**QUICK).fit(random_graph())
    assert embedder.embedding_.shape == (25, 24)  # centred, 25 rows have 24 components
    weights = embedder.trained_.model.state_dict()["encoders.0.weights.0"].clone()
    options = dict(preset="paper", join="concatenate", unit_length=True)
    joined = embedder.set_params(**options).transform(random_graph())
    assert joined.shape == (25, 16)
    np.testing.assert_allclose(np.linalg.norm(joined, axis=1), 1, rtol=1e-5)
    assert torch.equal(embedder.trained_.model.state_dict()["encoders.0.weights.0"], weights)
    np.testing.assert_array_equal(NodeEmbedder(**QUICK, **options).fit_transform(random_graph()), joined)


def test_the_first_64_numbers_of_a_vector_are_the_vector_of_64() -> None:
    graph = random_graph(160)
    embedder = NodeEmbedder(hidden=64, epochs=3, device="cpu").fit(graph)
    whole = embedder.embedding_
    assert whole.shape[1] > 100
    np.testing.assert_allclose(embedder.set_params(dim=64).transform(graph), whole[:, :64], atol=1e-5)
    unit = embedder.set_params(unit_length=True).transform(graph)
    np.testing.assert_allclose(unit, whole[:, :64] / np.linalg.norm(whole[:, :64], axis=1, keepdims=True), atol=1e-5)


def test_choices_list_what_was_chosen_and_why() -> None:
    embedder = NodeEmbedder(**QUICK).fit(random_graph())
    assert embedder.choices_["normalise"] == "4 features scaled by column"
    assert embedder.choices_["views"] == "ppr exact (25 nodes)"
    assert embedder.choices_["beside"] == "positions added to the features (only 4 columns)"
    given = dict(normalise="row", sampler="full", views=("adjacency", "ppr:method=exact"), beside="propagated+position")
    explicit = NodeEmbedder(**QUICK, **given, dim=0)
    text = "vectors of 24: codes of adjacency and ppr, raw and propagated features, positions (variance kept: "
    names = ("codes", "propagated", "propagated positions")
    codes, features, positions = ([f"{part}: {view} 100%" for view in explicit.views] for part in names)
    parts = [*codes, "raw features 100%", *features, "raw positions 100%", *positions]
    assert explicit.fit(random_graph()).choices_ == {"vector": f"{text}{', '.join(parts)})"}
    explicit.set_params(preset="paper", beside=None)
    assert explicit.fit(random_graph()).choices_ == {"vector": "vectors of 8: sum of the codes of adjacency and ppr"}


def test_new_nodes_are_embedded_and_old_ones_stay_close() -> None:
    rng = np.random.default_rng(0)
    groups = np.arange(320) % 3
    edges = rng.integers(300, size=(2, 900))
    edges[1] += np.where(rng.random(900) < 0.8, groups[edges[0]] - groups[edges[1]], 0)  # most of them within a group
    edges = edges[:, (edges[1] >= 0) & (edges[1] < 300)]
    features = rng.normal(size=(3, 6))[groups] + rng.normal(size=(320, 6))
    new = np.stack([np.arange(300, 320), rng.integers(300, size=20)])  # twenty new nodes, one edge each
    embedder = NodeEmbedder(hidden=16, epochs=30, device="cpu")
    old = embedder.fit_transform(Graph.from_edges(*edges, nodes=300, features=features[:300]))
    larger = Graph.from_edges(*np.concatenate([edges, new], axis=1), nodes=320, features=features)
    everything = embedder.transform(larger)
    assert everything.shape == (320, 299)  # positions in a graph of 300 nodes have as many dimensions
    assert np.median(cosines(old, everything[:300])) > 0.98  # centred, so angles are wider than those of codes
    assert np.isfinite(everything).all()
    embedder.set_params(preset="paper")
    codes = embedder.transform(larger)
    assert codes.shape == (320, 16)
    assert np.median(cosines(embedder.trained_.vectors(output=Output(preset="paper")), codes[:300])) > 0.99
    assert np.isfinite(codes).all()


def test_unfitted_embedder_raises_not_fitted_error(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        NodeEmbedder().transform(random_graph())
    with pytest.raises(NotFittedError):
        NodeEmbedder().save(tmp_path / "model")


def test_graph_embedder_works_in_a_pipeline_and_a_grid_search() -> None:
    graphs, kinds = rings_and_stars()
    pipeline = make_pipeline(GraphEmbedder(**QUICK, batch_size=8), StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipeline, {"graphembedder__layers": [1, 2]}, cv=3).fit(graphs, kinds)
    assert search.best_score_ > 0.9
    assert search.predict([nx.cycle_graph(30), nx.star_graph(30)]).tolist() == [0, 1]


@both
def test_loaded_embedder_gives_the_same_bits(kind: type, tmp_path: Path) -> None:
    data = random_graph() if kind is NodeEmbedder else rings_and_stars()[0]
    embedder = kind(**QUICK).fit(data)
    embedder.save(tmp_path / "model", scores={"accuracy": "86.2 ± 0.1"})
    loaded = mvgrl.load(tmp_path / "model", device="cpu")
    assert type(loaded) is kind
    np.testing.assert_array_equal(loaded.transform(data), embedder.transform(data))
    assert loaded.history_ == embedder.history_
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| accuracy | 86.2 ± 0.1 |" in card
    assert "nodes" in card
    loaded.save(tmp_path / "again")
    np.testing.assert_array_equal(mvgrl.load(tmp_path / "again", device="cpu").transform(data), loaded.transform(data))


@both
def test_features_can_be_given_beside_the_graph(kind: type, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given = (
        [nx.gnp_random_graph(6, 0.6, seed=seed) for seed in range(3)] if kind is GraphEmbedder else nx.cycle_graph(18)
    )
    X, other = rng.normal(size=(2, 18, 4))
    parts = given if kind is GraphEmbedder else [given]
    whole = Graph.join([Graph.from_scipy(nx.to_scipy_sparse_array(part)) for part in parts])
    expected = kind(**QUICK).fit_transform(replace(whole, features=X))
    plain = kind(**QUICK).fit_transform(given)
    assert expected.shape != plain.shape or not np.allclose(expected, plain)  # the features matter
    embedder = kind(**QUICK)
    np.testing.assert_array_equal(embedder.fit((given, X)).embedding_, expected)
    np.testing.assert_array_equal(embedder.fit(given, features=X).embedding_, expected)
    np.testing.assert_array_equal(embedder.fit_transform((given, X)), expected)
    np.testing.assert_array_equal(embedder.fit_transform(given, features=X), expected)
    embedder.save(tmp_path / "model")
    changed = embedder.transform(replace(whole, features=other))
    assert not np.allclose(changed, expected)
    for one in (embedder, mvgrl.load(tmp_path / "model", device="cpu")):
        np.testing.assert_array_equal(one.transform((given, other)), changed)
        np.testing.assert_array_equal(one.transform(given, features=other), changed)
        np.testing.assert_array_equal(one.vectors(given, features=other).to_numpy(), changed)


@both
@pytest.mark.parametrize(
    "y",
    [
        np.eye(4),
        np.eye(4).tolist(),
        sp.eye_array(4),
        torch.eye(4),
        pd.DataFrame(np.eye(4)),
        pl.DataFrame(np.eye(4)),
        "f",
    ],
    ids=lambda y: type(y).__name__,
)
def test_features_in_the_place_of_y_are_rejected(kind: type, y: object) -> None:
    for call in (kind().fit, kind().fit_transform):
        with pytest.raises(InputError, match=r"fit\(graph, features=X\) or fit\(\(graph, X\)\)"):
            call(nx.path_graph(4), y)


@pytest.mark.parametrize(
    "y", [[0, 1, 0, 1], ("a", "b", "a", "b"), np.arange(4), pd.Series([0, 1, 0, 1]), torch.arange(4)]
)
def test_labels_are_ignored(y: object) -> None:
    embedder = NodeEmbedder(**QUICK)
    np.testing.assert_array_equal(embedder.fit_transform(nx.path_graph(4), y), embedder.fit_transform(nx.path_graph(4)))


def test_advice_about_the_number_of_graphs_names_the_other_embedder() -> None:
    graphs = rings_and_stars()[0]
    with pytest.raises(InputError, match="GraphEmbedder"):
        NodeEmbedder(**QUICK).fit(graphs)
    with pytest.raises(InputError, match="NodeEmbedder"):
        GraphEmbedder(**QUICK).fit(graphs[0])


def test_notes_are_warnings_once_and_are_kept(tmp_path: Path) -> None:
    directed = nx.DiGraph([(0, 1), (1, 2), (2, 2)])
    nx.set_node_attributes(directed, "text", "town")
    embedder = NodeEmbedder(**QUICK)
    with pytest.warns(GraphWarning) as caught:
        embedder.fit(directed)
    notes = [str(one.message) for one in caught]
    assert [note.split()[0] for note in notes] == ["self-loops", "directed", "ignored"]
    assert "town" in notes[2]
    assert embedder.notes_ == notes
    assert {one.filename for one in caught} == {__file__}  # the line to look at is the user's
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedder.transform(directed)  # nothing that fit has not said
        NodeEmbedder(**QUICK).fit(nx.path_graph(3))
    embedder.save(tmp_path / "model")
    assert mvgrl.load(tmp_path / "model", device="cpu").notes_ == notes
    assert "town" in (tmp_path / "model" / "README.md").read_text()
    other = NodeEmbedder(**QUICK, features="degree").fit(nx.path_graph(3))
    assert other.notes_ == []
    with pytest.warns(GraphWarning, match="self-loops"):
        other.transform(nx.Graph([(0, 1), (1, 1)]))
    assert other.notes_ == []


def test_notes_are_printed_once_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,c\n")
    command = ["embed", str(tmp_path / "edges.csv"), "--epochs", "1", "--hidden", "4", "-o", str(tmp_path / "v.csv")]
    assert main(command) == 0
    printed = capsys.readouterr().err
    assert printed.count("self-loops dropped") == 1
    assert printed.count("made undirected") == 1


def test_verbose_shows_progress(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []
    graph = nx.path_graph(4)
    quiet = NodeEmbedder(**QUICK, callbacks=[lambda epoch: seen.append(epoch.number)]).fit_transform(graph)
    assert capsys.readouterr() == ("", "")
    loud = NodeEmbedder(**QUICK, verbose=1, callbacks=[lambda epoch: seen.append(epoch.number)]).fit_transform(graph)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "epoch 3 of at most 3" in printed.err
    assert seen == [1, 2, 3, 1, 2, 3]
    np.testing.assert_array_equal(quiet, loud)
    with pytest.raises(SettingsError, match="verbose is 'yes'"):
        NodeEmbedder(**QUICK, verbose="yes").fit(graph)


def test_input_other_than_a_graph_is_rejected() -> None:
    with pytest.raises(InputError):
        NodeEmbedder(**QUICK).fit("not a graph")


def test_neighbors_are_the_nearest_vectors_with_their_ids() -> None:
    edges = pd.DataFrame({"source": list("aabbcdef"), "target": list("bccddefa")})
    embedder = NodeEmbedder(hidden=8, epochs=3, device="cpu").fit(edges)
    found = embedder.neighbors(["b", "f"], k=3)
    assert list(found.columns) == ["query", "rank", "id", "cosine"]
    assert found["query"].tolist() == ["b"] * 3 + ["f"] * 3
    assert found["rank"].tolist() == [1, 2, 3] * 2
    vectors = embedder.embedding_ / np.linalg.norm(embedder.embedding_, axis=1, keepdims=True)
    cosines = pd.Series(vectors @ vectors[list(embedder.ids_).index("b")], index=embedder.ids_).drop("b")
    expected = cosines.sort_values(ascending=False)[:3]
    assert found["id"][:3].tolist() == expected.index.tolist()
    np.testing.assert_allclose(found["cosine"][:3], expected, rtol=1e-5)
    assert embedder.neighbors("b", k=1, table="arrow").column("id").to_pylist() == [expected.index[0]]


def test_neighbors_of_unknown_ids_and_of_loaded_models_are_refused(tmp_path: Path) -> None:
    embedder = NodeEmbedder(hidden=4, epochs=1, device="cpu").fit(nx.relabel_nodes(nx.path_graph(5), "node{}".format))
    with pytest.raises(InputError, match="there is no id 'node9'; did you mean 'node"):
        embedder.neighbors("node9")
    embedder.save(tmp_path / "model")
    with pytest.raises(InputError, match="a loaded model has no vectors to search"):
        mvgrl.load(tmp_path / "model").neighbors("node1")


def test_neighbors_in_a_bipartite_graph_are_named_with_their_sides() -> None:
    edges = pa.table({"user": [1, 1, 2, 3, 3], "item": [1, 2, 2, 3, 1]})
    embedder = NodeEmbedder(hidden=4, epochs=1, device="cpu").fit(from_tables(edges, bipartite=True))
    found = embedder.neighbors([("user", 1)], k=5)
    assert list(found.columns) == ["query", "rank", "side", "id", "cosine"]
    sides = zip(found["side"], found["id"], strict=True)
    assert sorted(sides) == [("item", 1), ("item", 2), ("item", 3), ("user", 2), ("user", 3)]
    with pytest.raises(InputError, match=r"there is no id 1; give a tuple \(side, id\)"):
        embedder.neighbors(1)
    assert embedder.vectors().index.names == ["side", "id"]

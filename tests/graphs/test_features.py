"""Initial features: training graphs and new ones get the same columns, and sparse products equal dense ones."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors
from sklearn.preprocessing import StandardScaler

from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs import FeatureEncoder, Graph
from mvgrl.graphs.features import CentredMatrix
from mvgrl.matrices import DenseMatrix, SparseMatrix

STAR = {"sources": [0, 0, 0], "targets": [1, 2, 3], "nodes": 5}  # degrees 3, 1, 1, 1, 0


def encode(graph, *arguments, **more):
    return FeatureEncoder(*arguments, **more).fit(graph).transform(graph, torch.float64)


def random_table(seed, rows=12, columns=7, density=0.2):
    generator = np.random.default_rng(seed)
    table = generator.normal(2.0, 3.0, (rows, columns)) * (generator.random((rows, columns)) < density)
    table[:, 0] = 0.1  # a constant column
    return table.astype(np.float32).astype(np.float64)  # features are single precision, statistics double


def test_auto_prefers_features_then_labels_then_degrees():
    graphs = {
        "given": Graph.from_edges(**STAR, features=np.eye(5), node_labels=list("CCCNN")),
        "labels": Graph.from_edges(**STAR, node_labels=list("CCCNN")),
        "degree-one-hot": Graph.from_edges(**STAR),
    }
    for kind, graph in graphs.items():
        assert torch.equal(encode(graph).dense(), encode(graph, kind).dense())
    assert encode(graphs["labels"]).dense().tolist() == [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]


def test_degrees_count_neighbours_regardless_of_weights():
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3], [0.5, 9.0, 2.0], nodes=5)
    assert encode(graph, "degree", "row").dense().tolist() == [[3], [1], [1], [1], [0]]
    assert encode(graph, "degree-one-hot").dense().argmax(dim=1).tolist() == [3, 1, 1, 1, 0]


def test_degrees_above_the_cap_or_above_the_largest_seen_share_the_last_column():
    star, hub = Graph.from_edges(**STAR), Graph.from_edges([0] * 6, range(1, 7))
    capped = FeatureEncoder("degree-one-hot", degree_cap=2).fit(hub)
    assert capped.width == 3
    assert capped.transform(hub).dense().argmax(dim=1).tolist() == [2] + [1] * 6
    seen = FeatureEncoder("degree-one-hot").fit(star)
    assert seen.width == 4
    assert seen.transform(hub).dense()[0].tolist() == [0, 0, 0, 1]


def test_labels_and_degrees_are_concatenated():
    graph = Graph.from_edges(**STAR, node_labels=[7, 7, 5, 5, 5])
    expected = torch.cat([encode(graph, "labels").dense(), encode(graph, "degree-one-hot").dense()], dim=1)
    assert torch.equal(encode(graph, "labels+degree").dense(), expected)


def test_an_unseen_label_becomes_a_row_of_zeros_with_a_warning(caplog):
    encoder = FeatureEncoder("labels").fit(Graph.from_edges([0], [1], node_labels=["C", "N"]))
    with caplog.at_level(logging.WARNING, logger="mvgrl"):
        rows = encoder.transform(Graph.from_edges([0, 1], [1, 2], node_labels=["N", "Zn", "C"])).dense()
    assert rows.tolist() == [[0, 1], [0, 0], [1, 0]]
    assert "node 1, label 'Zn'" in caplog.text


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_sum_to_one_and_rows_of_zeros_stay_zero(form):
    table = np.array([[1.0, -3.0, 0, 0, 0], [0] * 5, [0, 0, 5, 5, 0]])
    rows = encode(Graph.from_edges([0], [1], features=form(table))).dense()
    assert rows.tolist() == [[0.25, -0.75, 0, 0, 0], [0] * 5, [0, 0, 0.5, 0.5, 0]]


@pytest.mark.parametrize("density", [0.2, 0.9], ids=["sparse", "dense"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["array", "csr"])
def test_standard_scaling_equals_scikit_learn_and_constant_columns_become_zero(density, form):
    table, new = random_table(0, density=density), random_table(1, density=density)
    new[:, 0] = 7.0
    encoder = FeatureEncoder("given", "standard").fit(Graph.from_edges([0], [1], features=form(table)))
    scores = encoder.transform(Graph.from_edges([0], [1], features=form(new)), torch.float64).dense()
    expected = StandardScaler().fit(table).transform(new)
    expected[:, 0] = 0
    assert torch.allclose(scores, torch.from_numpy(expected), atol=1e-12)


def test_a_column_far_from_zero_is_standardised_without_losing_digits():
    table = sp.csr_array(np.array([[1e6], [1e6 + 1], [1e6 + 2]]))
    scores = encode(Graph.from_edges([0], [1], features=table), "given", "standard").dense().flatten()
    assert torch.allclose(scores, torch.tensor([-1.0, 0, 1.0], dtype=torch.float64) * 1.5**0.5, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["none", "row", "standard"]))
def test_products_and_gradients_of_a_sparse_table_equal_the_dense_ones(seed, normalise):
    graph = Graph.from_edges([0], [1], features=sp.csr_array(random_table(seed)))
    features = encode(graph, "given", normalise)
    table = features.dense()
    generator = torch.Generator().manual_seed(seed)
    stack = torch.randn(3, 7, 4, generator=generator, dtype=torch.float64)
    pull = torch.randn(3, 12, 4, generator=generator, dtype=torch.float64)

    def gradient(matrix):
        weights = stack.clone().requires_grad_()
        product = torch.vmap(lambda weight: matrix @ weight)(weights)
        return product, torch.autograd.grad((product * pull).sum(), weights)[0]

    for ours, expected in zip(gradient(features), gradient(table), strict=True):
        assert torch.allclose(ours, expected, atol=1e-10)
    nodes = torch.tensor([3, 0, 3])
    assert torch.allclose(features.rows(nodes) @ stack[0], table[nodes] @ stack[0], atol=1e-10)
    assert torch.allclose(features.multiply(stack[0]), table @ stack[0], atol=1e-10)


def test_tables_of_mostly_zeros_are_stored_as_sparse():
    words = (np.arange(200).reshape(10, 20) % 9 == 0).astype(np.float32)
    for table in (words, sp.csr_array(words)):
        graph = Graph.from_edges([0], [1], features=table)
        assert isinstance(encode(graph, "given", "row"), SparseMatrix)
        scored = encode(graph, "given", "standard").to("cpu")
        assert isinstance(scored, CentredMatrix)
        assert scored.matrix.values.numel() == words.sum()
        assert scored.shape == (10, 20)
    assert isinstance(encode(Graph.from_edges([0], [1], features=1 - words)), DenseMatrix)


@pytest.mark.parametrize(
    ("density", "normalise"),
    [(0.15, "none"), (0.15, "row"), (0.15, "standard"), (0.7, "none"), (0.7, "row")],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_table_gives_the_same_bits_as_doubles_singles_and_sparse(density, normalise, dtype):
    powers = np.random.default_rng(9).integers(-9, 9, (300, 40))  # sums depend on the order of summation
    table = random_table(8, rows=300, columns=40, density=density) * 10.0**powers
    stored_zeros = sp.csr_array(table.astype(np.float32))
    stored_zeros.data[::7] = 0
    table = stored_zeros.toarray().astype(np.float64)
    forms = (table, table.astype(np.float32), sp.csr_array(table), sp.csr_array(table, dtype=np.float32), stored_zeros)
    results = []
    for form in forms:
        graph = Graph.from_edges([0], [1], features=form)
        results.append(FeatureEncoder("given", normalise).fit(graph).transform(graph, dtype))
    for result in results[1:]:
        assert torch.equal(result.dense(), results[0].dense())
    weights = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=dtype)
    if density < 0.25:
        for result in results[1:]:
            assert torch.equal(result @ weights, results[0] @ weights)


def test_values_are_rounded_to_single_precision_and_rejected_if_too_large():
    table = np.array([[1.0, 0.1], [2.0, 0.2]])
    expected = table.astype(np.float32).astype(np.float64)
    assert np.array_equal(encode(Graph.from_edges([0], [1], features=table), "given", "none").dense(), expected)
    table[1, 0] = -1e39
    for form in (table, sp.csr_array(table)):
        with pytest.raises(InputError, match=r"row 1, column 0 is -1e\+39.*scale the column down"):
            encode(Graph.from_edges([0], [1], features=form))


def test_transform_modifies_neither_the_graph_nor_its_features():
    table = random_table(3)
    for form in (table.copy(), sp.csr_array(table)):
        graph = Graph.from_edges([0], [1], features=form)
        for normalise in ("none", "row", "standard"):
            matrix = encode(graph, "given", normalise)
            for tensor in vars(matrix).values():
                if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                    tensor.zero_()
        assert np.array_equal(graph.features.toarray() if sp.issparse(form) else graph.features, table)


@pytest.mark.parametrize("labels", [["C", "N", "Ö", "C", "C"], [3, 1, 2, 1, 1], [0.5, 1.5, 0.5, 0.5, 0.5]])
@pytest.mark.parametrize("kind", ["auto", "given", "labels", "degree-one-hot", "degree", "labels+degree"])
@pytest.mark.parametrize("normalise", ["row", "standard"])
def test_a_saved_encoder_gives_the_same_features(kind, normalise, labels):
    graph = Graph.from_edges(**STAR, features=random_table(5, rows=5), node_labels=labels)
    other = Graph.from_edges([0, 1], [1, 2], features=random_table(6, rows=3), node_labels=labels[:3])
    encoder = FeatureEncoder(kind, normalise, 2).fit(graph)
    saved = load_safetensors(save_safetensors(encoder.to_arrays()))
    again = FeatureEncoder.from_arrays(saved, **encoder.settings())
    assert again.width == encoder.width == encoder.transform(other).shape[1]
    assert torch.equal(again.transform(other).dense(), encoder.transform(other).dense())


def test_fitting_again_discards_the_first_fit():
    encoder = FeatureEncoder(normalise="standard")
    encoder.fit(Graph.from_edges(**STAR, features=random_table(0, rows=5)))
    encoder.fit(Graph.from_edges([0], [1], node_labels=["a", "b"]))
    assert encoder.width == 2
    assert sorted(encoder.to_arrays()) == ["degrees", "kind", "label_text", "width"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "label"}, "did you mean 'labels'"),
        ({"kind": "degree_onehot"}, "did you mean 'degree-one-hot'"),
        ({"normalise": "rows"}, "did you mean 'row'"),
        ({"normalise": "zzz"}, "choose one of 'none', 'row', 'standard'"),
        ({"kind": ["given"]}, "unknown"),
        ({"degree_cap": 0}, "degree_cap is 0"),
        ({"degree_cap": 2.5}, "degree_cap is 2.5"),
    ],
)
def test_unknown_settings_are_rejected_with_a_suggestion(arguments, message):
    with pytest.raises(SettingsError, match=message):
        FeatureEncoder(**arguments)


def test_graphs_without_the_required_data_are_rejected():
    plain = Graph.from_edges([0], [1])
    with pytest.raises(InputError, match="no features"):
        FeatureEncoder("given").fit(plain)
    with pytest.raises(InputError, match="no node labels"):
        FeatureEncoder("labels+degree").fit(plain)
    with pytest.raises(SettingsError, match="not fitted"):
        FeatureEncoder().transform(plain)
    encoder = FeatureEncoder().fit(Graph.from_edges([0], [1], features=np.ones((2, 3))))
    with pytest.raises(InputError, match="2 features, but the encoder was fitted on 3"):
        encoder.transform(Graph.from_edges([0], [1], features=np.ones((2, 2))))
    with pytest.raises(InputError, match="no features"):
        encoder.transform(plain)
    numbers = FeatureEncoder().fit(Graph.from_edges([0], [1], node_labels=[1, 2]))
    with pytest.raises(InputError, match="both as numbers or both as text"):
        numbers.transform(Graph.from_edges([0], [1], node_labels=["1", "2"]))


def named(table: np.ndarray, *names: str) -> Graph:
    return Graph(Graph.from_edges([0], [1]).adjacency, table, feature_names=names)


def test_columns_are_matched_by_name() -> None:
    table = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=np.float32)
    encoder = FeatureEncoder(normalise="standard").fit(named(table, "a", "b", "c"))
    expected = encoder.transform(named(table, "a", "b", "c")).dense()
    loaded = FeatureEncoder.from_arrays(encoder.to_arrays(), **encoder.settings())
    for form in (table[:, [2, 0, 1]], sp.csr_array(table[:, [2, 0, 1]])):
        for one in (encoder, loaded):
            assert torch.equal(one.transform(named(form, "c", "a", "b")).dense(), expected)
    nameless = Graph(Graph.from_edges([0], [1]).adjacency, table)
    assert torch.equal(encoder.transform(nameless).dense(), expected)


@pytest.mark.parametrize(
    ("names", "message"),
    [(("a", "b", "d"), "the graph has no feature 'c'"), (("a", "b", "c", "d"), "unknown feature 'd'")],
)
def test_columns_with_other_names_are_rejected(names: tuple[str, ...], message: str) -> None:
    encoder = FeatureEncoder().fit(named(np.ones((2, 3)), "a", "b", "c"))
    with pytest.raises(InputError, match=f"{message}; use the columns the model was trained with, a, b, c"):
        encoder.transform(named(np.ones((2, len(names))), *names))


def test_feature_names_must_match_the_columns() -> None:
    with pytest.raises(InputError, match="2 feature_names for 3 features"):
        named(np.ones((2, 3)), "a", "b")
    one, other = named(np.ones((2, 2)), "a", "b"), named(np.ones((2, 2)), "b", "a")
    assert Graph.join([one, one]).select([1]).feature_names == ("a", "b")
    with pytest.raises(InputError, match="different features, a, b and b, a"):
        Graph.join([one, other])

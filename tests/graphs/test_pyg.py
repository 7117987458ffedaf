"""Graphs of PyTorch Geometric, in all their forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data, HeteroData

from mvgrl.errors import InputError
from mvgrl.graphs import Graph

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # 0 – 1 – 2


class SparseTensorLike:
    """The part of ``torch_sparse.SparseTensor`` that is used; the package is compiled and not always available."""

    def size(self, _):
        return 3

    def coo(self):
        return PATH[0], PATH[1], None


def test_features_and_edges_are_converted_and_the_data_is_unchanged():
    data = Data(x=torch.arange(6.0, requires_grad=True).reshape(3, 2), edge_index=PATH)
    graph = Graph.from_pyg(data)
    assert np.array_equal(graph.adjacency.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert np.array_equal(graph.features, np.arange(6.0).reshape(3, 2))
    assert sorted(data.keys()) == ["edge_index", "x"]
    assert data.x.requires_grad


@pytest.mark.parametrize(
    "data",
    [
        Data(edge_index=EdgeIndex(PATH, sparse_size=(3, 3)), num_nodes=3),
        Data(adj_t=torch.sparse_coo_tensor(PATH, torch.ones(4), (3, 3)), num_nodes=3),
        Data(adj=torch.sparse_coo_tensor(PATH, torch.ones(4), (3, 3)).to_sparse_csr(), num_nodes=3),
        Data(adj_t=SparseTensorLike(), num_nodes=3),
    ],
    ids=["EdgeIndex", "coo", "csr", "SparseTensor"],
)
def test_edges_are_found_in_every_form(data):
    assert Graph.from_pyg(data).fingerprint == Graph.from_edges([0, 1], [1, 2]).fingerprint


def test_nodes_without_edges_are_a_graph():
    assert Graph.from_pyg(Data(num_nodes=3)).degrees.tolist() == [0, 0, 0]
    assert Graph.from_pyg(Data(edge_index=PATH, num_nodes=5)).nodes == 5
    with warnings.catch_warnings(action="error"), pytest.raises(InputError, match="no nodes"):
        Graph.from_pyg(Data())


def test_sparse_features_stay_sparse():
    features = Graph.from_pyg(Data(x=torch.eye(3).to_sparse(), edge_index=PATH)).features
    assert sp.issparse(features)
    assert np.array_equal(features.toarray(), np.eye(3))


@pytest.mark.parametrize(
    "weights",
    [
        {"edge_weight": torch.tensor([2.0, 2.0, 3.0, 3.0])},
        {"edge_attr": torch.tensor([2.0, 2.0, 3.0, 3.0])},
        {"edge_attr": torch.tensor([[2.0], [2.0], [3.0], [3.0]])},
        {"adj_t": torch.sparse_coo_tensor(PATH, torch.tensor([2.0, 2.0, 3.0, 3.0]), (3, 3)), "edge_index": None},
    ],
    ids=["edge_weight", "edge_attr", "column", "adj_t"],
)
def test_weights_are_respected(weights):
    graph = Graph.from_pyg(Data(**({"edge_index": PATH, "num_nodes": 3} | weights)))
    assert np.array_equal(graph.adjacency.toarray(), [[0, 2, 0], [2, 0, 3], [0, 3, 0]])


def test_edge_types_are_not_weights_and_are_noted():
    graph = Graph.from_pyg(Data(edge_index=PATH, edge_attr=torch.tensor([3, 3, 1, 1]), num_nodes=3))
    assert np.array_equal(graph.adjacency.data, np.ones(4))
    assert any("ignored edge attributes" in note for note in graph.notes)


def test_batch_list_and_generator_give_the_same_graph():
    graphs = [Data(x=torch.ones(3, 2), edge_index=PATH), Data(x=torch.zeros(2, 2), edge_index=PATH[:, :2])]
    batch, listed, drawn = (Graph.from_pyg(form) for form in (Batch.from_data_list(graphs), graphs, iter(graphs)))
    assert batch.sizes.tolist() == [3, 2]
    assert batch.fingerprint == listed.fingerprint == drawn.fingerprint
    assert np.array_equal(batch.features, listed.features)


@pytest.mark.parametrize("wrong", [HeteroData(), torch.eye(2), "cora", 5], ids=["hetero", "tensor", "text", "number"])
def test_anything_but_a_homogeneous_graph_is_rejected(wrong):
    with pytest.raises(InputError, match="not a homogeneous graph"):
        Graph.from_pyg(wrong)


def test_edge_index_that_is_not_a_tensor_is_rejected(input_error):
    input_error(lambda: Graph.from_pyg(Data(edge_index=[[0, 1], [1, 0]], num_nodes=2)), "edge_index is a list")

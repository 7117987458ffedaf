from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_dense_adj

from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.views import PPR, Heat, ViewTransform


def path(weights: bool = False) -> Data:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = Data(x=torch.eye(4), edge_index=edges, y=torch.tensor([3]), num_nodes=4)
    if weights:
        data.edge_attr = torch.tensor([2.0, 2.0, 0.5, 0.5])
    return data


@pytest.mark.parametrize("view", ["ppr", "heat", "adjacency", PPR(top_k=2), {"name": "distance", "lengths": "hops"}])
@pytest.mark.parametrize("call", [ViewTransform.__call__, ViewTransform.forward])
def test_the_input_is_not_modified(view, call) -> None:
    data = path(weights=True)
    before, edges, attributes = copy.deepcopy(data), data.edge_index, data.edge_attr
    new = call(ViewTransform(view), data)
    assert new is not data
    assert data.edge_index is edges
    assert data.edge_attr is attributes
    assert data.to_dict().keys() == before.to_dict().keys()
    assert all(torch.equal(data[key], before[key]) for key in ("x", "edge_index", "edge_attr", "y"))


def test_entry_i_j_becomes_the_weight_of_the_edge_from_j_to_i() -> None:
    data = path(weights=True)
    new = ViewTransform(Heat(t=2))(data)
    expected = Heat(t=2)(Graph.from_pyg(data))
    dense = to_dense_adj(new.edge_index, edge_attr=new.edge_weight, max_num_nodes=4)[0]
    np.testing.assert_allclose(dense.T.numpy(), expected, atol=1e-6)  # row: source, column: target
    assert "edge_attr" not in new
    assert torch.equal(new.x, data.x)
    assert torch.equal(new.y, data.y)
    assert new.num_nodes == 4


def test_a_gcn_layer_on_the_result_multiplies_by_the_view() -> None:
    data = path()
    new = ViewTransform(Heat())(data)
    layer = GCNConv(4, 3, normalize=False, bias=False)
    expected = torch.from_numpy(Heat()(Graph.from_pyg(data))).float() @ layer.lin(data.x)
    torch.testing.assert_close(layer(new.x, new.edge_index, new.edge_weight), expected)


def test_a_batch_stays_a_batch() -> None:
    batch = Batch.from_data_list([path(), path(weights=True).clone()], exclude_keys=["edge_attr"])
    new = ViewTransform("ppr")(batch)
    assert new.num_graphs == 2
    assert batch.edge_index.shape[1] == 8
    one = ViewTransform("ppr")(path())
    for part in new.to_data_list():
        assert torch.equal(part.edge_index, one.edge_index)
        torch.testing.assert_close(part.edge_weight, one.edge_weight)


def test_an_unknown_view_is_rejected_by_the_constructor() -> None:
    with pytest.raises(SettingsError, match="did you mean 'ppr'"):
        ViewTransform("prr")
    assert "alpha=0.2" in repr(ViewTransform("ppr"))

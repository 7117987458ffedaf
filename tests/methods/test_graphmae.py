"""GraphMAE: attention against PyTorch Geometric, and the error against a dense version that forms reconstructions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn.functional import normalize

from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix, SparseMatrix
from mvgrl.methods.augmentations import EdgeDropper
from mvgrl.methods.graph_data import edge_index_of
from mvgrl.methods.graphmae import Attention, FeatureDropout, GraphMAE, Masked, dropped

CPU = torch.device("cpu")
RNG = np.random.default_rng(0)
GRAPH = Graph.from_edges(*RNG.integers(12, size=(2, 20)), nodes=12)
FEATURES = sp.random(12, 9, 0.4, format="csr", random_state=RNG)


def attention_of_pyg(ours: Attention, width: int, out: int) -> torch.nn.Module:
    from torch_geometric.nn import GATConv

    theirs = GATConv(width, out // ours.heads, ours.heads, bias=False)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.weight.T)
        theirs.att_src.copy_(ours.of_source[None])
        theirs.att_dst.copy_(ours.of_target[None])
    return theirs


def test_attention_equals_that_of_pytorch_geometric() -> None:
    ours = Attention(5, 8, 2, EdgeDropper(GRAPH, CPU), 0.0, torch.Generator().manual_seed(0))
    theirs = attention_of_pyg(ours, 5, 8)
    x = torch.randn(12, 5)
    found, expected = ours(x @ ours.weight), theirs(x, edge_index_of(GRAPH))
    torch.testing.assert_close(found, expected)
    weight = torch.randn(12, 8)
    for name, other in (("weight", "lin.weight"), ("of_source", "att_src"), ("of_target", "att_dst")):
        (gradient,) = torch.autograd.grad((found * weight).sum(), ours.get_parameter(name), retain_graph=True)
        (wanted,) = torch.autograd.grad((expected * weight).sum(), theirs.get_parameter(other), retain_graph=True)
        wanted = wanted.T if name == "weight" else wanted[0]
        torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sparse", [True, False])
def test_the_error_is_that_of_the_reconstruction(sparse: bool) -> None:
    table = torch.from_numpy(FEATURES.toarray()).float()
    features = SparseMatrix.from_scipy(FEATURES) if sparse else DenseMatrix(table)
    method = GraphMAE(hidden=8, heads=2, drop_features=0.0, drop_attention=0.0, replaced=0.4, power=3.0)
    model = Masked(features, EdgeDropper(GRAPH, CPU), method, seed=0)
    with torch.no_grad():
        model.bias.normal_(generator=torch.Generator().manual_seed(1))
        model.token.normal_(generator=torch.Generator().manual_seed(2))
    drawn, edges = model.draw(torch.Generator().manual_seed(0)), edge_index_of(GRAPH)
    masked = drawn["masked"]
    assert len(masked) == 6
    assert int(drawn["token"].sum()) == 4  # the other two get the features of some node
    x = torch.where(drawn["token"][:, None], model.token, table[drawn["rows"]])
    first, second = attention_of_pyg(model.first, 9, 8), attention_of_pyg(model.second, 8, 8)
    codes = model.activations[1](second(model.activations[0](first(x, edges)), edges)) @ model.between
    codes[masked] = 0
    rebuilt = attention_of_pyg(model.decoder, 8, 9)(codes, edges) + model.bias
    cosines = (normalize(rebuilt[masked]) * normalize(table[masked])).sum(1)
    torch.testing.assert_close(model(drawn, {}), (1 - cosines).pow(3).mean(), rtol=1e-4, atol=1e-5)


def test_masking_changes_the_given_shares() -> None:
    method = GraphMAE(hidden=8, heads=2, masked=0.75, replaced=0.0)
    model = Masked(SparseMatrix.from_scipy(FEATURES), EdgeDropper(GRAPH, CPU), method, seed=0)
    drawn = model.draw(torch.Generator().manual_seed(0))
    assert len(drawn["masked"].unique()) == 9
    assert drawn["token"][drawn["masked"]].all()
    assert drawn["rows"].tolist() == list(range(12))


def test_dropout_keeps_the_expectation_and_the_transpose() -> None:
    noise = torch.Generator().manual_seed(0)
    values = dropped(torch.ones(100_000), 0.2, noise)
    assert set(values.unique().tolist()) == {0.0, 1.25}
    assert float(values.mean()) == pytest.approx(1, abs=0.01)
    some = FeatureDropout(SparseMatrix.from_scipy(FEATURES), 0.5)(noise)
    torch.testing.assert_close(some.T.dense(), some.dense().T)
    whole = torch.from_numpy(FEATURES.toarray()).float()
    kept = some.dense() != 0
    torch.testing.assert_close(some.dense(), torch.where(kept, 2 * whole, 0.0))
    assert 0 < kept.sum() < (whole != 0).sum()

"""The networks of MLP, GCN, Chebyshev, MoNet, JKNet and GAT, against PyTorch Geometric's layers or a naive version."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, elu
from torch_geometric.nn import ChebConv, GATConv, GCNConv, JumpingKnowledge

from mvgrl.datasets import Dataset
from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.methods import METHODS
from mvgrl.methods.chebyshev import scaled_laplacian
from mvgrl.methods.graph_data import edge_index_of
from mvgrl.methods.jumping_knowledge import JKNet
from mvgrl.methods.node_classifier import Network, NodeData
from mvgrl.methods.noise import Drawn
from mvgrl.settings import Settings

NEURAL = ["mlp", "gcn", "chebyshev", "monet", "jknet", "gat", "semi-emb"]


@pytest.fixture
def data(planted: Dataset) -> NodeData:
    return NodeData.of(planted, Settings(), torch.device("cpu"))


def network(name: str, data: NodeData) -> Network:
    """Return a network whose biases are not zero, so that they count in a comparison."""
    method = METHODS[name]
    if isinstance(method, JKNet):
        method = replace(method, depths=(3,))
    generator = torch.Generator().manual_seed(0)
    made = method.network(data, generator)
    with torch.no_grad():
        for key, value in made.named_parameters():
            if "bias" in key:
                value.copy_(torch.randn(value.shape, generator=generator))
    return made


def loaded(layer: torch.nn.Module, **values: Tensor) -> torch.nn.Module:
    with torch.no_grad():
        for key, value in values.items():
            parameter = dict(layer.named_parameters())[key.replace("__", ".")]
            parameter.copy_(value.reshape(parameter.shape))
    return layer


def parts(data: NodeData) -> tuple[Tensor, Tensor]:
    return data.features.matrix.dense(), edge_index_of(data.graph)


@pytest.mark.parametrize("name", NEURAL)
def test_every_weight_gets_a_gradient_and_dropout_only_acts_in_training(name: str, data: NodeData) -> None:
    made = network(name, data)
    loss = made.loss(Drawn(torch.Generator().manual_seed(0)))
    loss.backward()
    for key, value in made.named_parameters():
        assert value.grad is not None, key
        assert value.grad.abs().sum() > 0 or key in ("first.shift", "second.shift"), key  # softmax may cancel a shift
    assert torch.equal(made(), made())
    if METHODS[name].dropout:
        assert not torch.equal(
            made(Drawn(torch.Generator().manual_seed(0))), made(Drawn(torch.Generator().manual_seed(1)))
        )
        plain = cross_entropy(made()[data.train], data.labels[data.train])
        assert not torch.equal(plain, loss)


def test_weight_decay_is_on_the_first_layer_only(data: NodeData) -> None:
    for name in ("mlp", "gcn", "chebyshev", "monet"):
        made = network(name, data)
        decayed = {id(one) for one in made.decayed()}
        assert {key.split(".")[0] for key, value in made.named_parameters() if id(value) in decayed} == {"first"}
    for name in ("gat", "jknet"):
        assert len(network(name, data).decayed()) == len(list(network(name, data).parameters()))


def test_mlp_is_two_linear_layers(data: NodeData) -> None:
    made, (x, _) = network("mlp", data), parts(data)
    hidden = torch.relu(x @ made.first.weight + made.first.bias)
    torch.testing.assert_close(made(), hidden @ made.second.weight + made.second.bias)


def test_gcn_equals_the_layers_of_pyg(data: NodeData) -> None:
    made, (x, edges) = network("gcn", data), parts(data)
    for layer, activation in ((made.first, torch.relu), (made.second, lambda z: z)):
        theirs = loaded(GCNConv(*layer.weight.shape), lin__weight=layer.weight.T, bias=layer.bias)
        x = activation(theirs(x, edges))
    torch.testing.assert_close(made(), x)


def test_chebyshev_equals_the_layers_of_pyg(data: NodeData) -> None:
    made, (x, edges) = network("chebyshev", data), parts(data)
    highest = np.linalg.eigvalsh(scaled_laplacian(data.graph).toarray())
    np.testing.assert_allclose(highest.max(), 1, atol=1e-6)
    degrees = data.graph.adjacency.sum(axis=1)
    root = np.divide(1, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)
    largest = np.linalg.eigvalsh(np.eye(len(root)) - root[:, None] * data.graph.adjacency.toarray() * root)[-1]
    for layer, activation in ((made.first, torch.relu), (made.second, lambda z: z)):
        orders, width, out = layer.weights.shape
        assert orders == 4
        theirs = loaded(
            ChebConv(width, out, orders),
            **{f"lins__{k}__weight": layer.weights[k].T for k in range(orders)},
            bias=layer.bias,
        )
        x = activation(theirs(x, edges, lambda_max=torch.tensor(largest, dtype=torch.float32)))
    connected = torch.from_numpy(data.graph.degrees > 0)  # PyG gives the isolated node another diagonal entry
    torch.testing.assert_close(made()[connected], x[connected], atol=1e-5, rtol=1e-4)


def test_the_largest_eigenvalue_of_a_large_graph_is_found_by_iteration() -> None:
    ring = Graph.from_edges(np.arange(101), (np.arange(101) + 1) % 101)
    assert np.linalg.eigvalsh(scaled_laplacian(ring).toarray())[-1] == pytest.approx(1, abs=1e-5)


def test_gat_equals_the_layers_of_pyg(data: NodeData) -> None:
    made, (x, edges) = network("gat", data), parts(data)
    for layer, concat in ((made.first, True), (made.second, False)):
        heads, out = layer.bias.shape
        theirs = loaded(
            GATConv(layer.weight.shape[0], out, heads, concat=concat),
            lin__weight=layer.weight.T,
            att_dst=layer.ends[0],
            att_src=layer.ends[1],
            bias=layer.bias,
        )
        x = theirs(x, edges)
        x = elu(x) if concat else x
    torch.testing.assert_close(made(), x, atol=1e-5, rtol=1e-4)


def test_jknet_equals_the_layers_of_pyg(data: NodeData) -> None:
    for jump, mode in (("concat", "cat"), ("maxpool", "max")):
        made, (x, edges) = JKNet(depths=(3,), jump=jump).network(data, torch.Generator().manual_seed(0)), parts(data)
        found = []
        for layer in made.layers:
            theirs = loaded(GCNConv(*layer.weight.shape), lin__weight=layer.weight.T, bias=layer.bias)
            found.append(x := torch.relu(theirs(x, edges)))
        last = loaded(GCNConv(*made.last.weight.shape), lin__weight=made.last.weight.T, bias=made.last.bias)
        torch.testing.assert_close(made(), last(JumpingKnowledge(mode)(found), edges))
    with pytest.raises(SettingsError, match="jump"):
        JKNet(jump="sum")


def test_jknet_trains_every_depth_and_keeps_the_best_on_val_nodes(data: NodeData) -> None:
    scores = [JKNet(depths=(depth,), epochs=8, hidden=4).trained(data, [0])[0].score for depth in (1, 2, 3)]
    assert len(set(scores)) == 3
    assert JKNet(depths=(1, 2, 3), epochs=8, hidden=4).trained(data, [0])[0].score == max(scores)


def test_monet_equals_a_loop_over_edges(data: NodeData) -> None:
    made, (x, edges) = network("monet", data), parts(data)
    nodes, kernels = len(x), made.kernels
    near = torch.eye(nodes, dtype=torch.bool)
    near[edges[0], edges[1]] = True
    root = near.sum(1) ** -0.5
    matrices = torch.zeros(len(kernels.means), nodes, nodes)
    for i, j in near.nonzero().tolist():
        place = torch.tanh(torch.stack([root[i], root[j]]) @ kernels.transform + kernels.shift)
        for k, (mean, spread) in enumerate(zip(kernels.means, kernels.variances, strict=True)):
            matrices[k, i, j] = torch.exp(-0.5 * ((place - mean) ** 2 / spread**2).sum()).detach()
    matrices /= matrices.sum(2, keepdim=True)
    hidden = torch.relu(sum(m @ x @ theta for m, theta in zip(matrices, made.first, strict=True)))
    expected = sum(m @ hidden @ theta for m, theta in zip(matrices, made.second, strict=True))
    torch.testing.assert_close(made(), expected)
    assert kernels.means[:, 0].tolist() == pytest.approx([-0.75, 0.25])


def test_hyper_parameters_follow_the_dataset() -> None:
    gat, monet = METHODS["gat"].for_dataset("pubmed"), METHODS["monet"].for_dataset("pubmed")
    assert (gat.out_heads, gat.learning_rate, gat.weight_decay) == (8, 0.01, 1e-3)
    assert monet.dimensions == 3
    assert METHODS["gat"].for_dataset("cora") == METHODS["gat"]

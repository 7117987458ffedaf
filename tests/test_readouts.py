from __future__ import annotations

import pytest
import torch
from torch.nn.functional import prelu

from mvgrl.matrices import DenseMatrix, SparseMatrix
from mvgrl.readouts import READOUTS, DiffPool2, JumpingKnowledge, SigmoidMean
from mvgrl.sampling import Batch

SLOPE = torch.tensor([0.25])


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """Rounding differs with the numbers, so they must not depend on the tests that ran before."""
    torch.manual_seed(0)


def batch_of(sizes: tuple[int, ...]) -> Batch:
    return Batch(DenseMatrix(torch.zeros(sum(sizes), 1)), (), sizes)


def random_view(sizes: tuple[int, ...]) -> tuple[torch.Tensor, SparseMatrix]:
    import scipy.sparse as sp

    dense = torch.block_diag(*(torch.rand(n, n) for n in sizes))
    return dense, SparseMatrix.from_scipy(sp.csr_array(dense.numpy()))


@pytest.mark.parametrize("sizes", [(5,), (3, 3), (2, 4, 1)])
@pytest.mark.parametrize("mean", [False, True])
def test_layers_are_pooled_concatenated_and_projected(sizes: tuple[int, ...], mean: bool) -> None:
    layers = [torch.randn(sum(sizes), 4) for _ in range(2)]
    readout = JumpingKnowledge(4, 2, mean=mean)
    graphs = readout(layers, None, batch_of(sizes)).graphs
    pool = torch.mean if mean else torch.sum
    pooled = torch.stack([pool(part, dim=0) for part in torch.cat(layers, dim=1).split(sizes)])
    torch.testing.assert_close(graphs, prelu(pooled @ readout.weight + readout.activation.bias, SLOPE))


def test_sigmoid_mean_uses_the_last_layer() -> None:
    layers = [torch.randn(5, 4) for _ in range(2)]
    graphs = SigmoidMean()(layers, None, batch_of((2, 3))).graphs
    torch.testing.assert_close(graphs[1], torch.sigmoid(layers[1][2:].mean(0)))


def test_diffpool_to_one_cluster_sums_a_convolution() -> None:
    sizes = (3, 4)
    V, view = random_view(sizes)
    readout, H = READOUTS["diffpool-1"]().build(4, 1, 4), torch.randn(7, 4)
    Z = prelu(V @ H @ readout.weight + readout.activation.bias, SLOPE)
    torch.testing.assert_close(
        readout([H], view, batch_of(sizes)).graphs, torch.stack([part.sum(0) for part in Z.split(sizes)])
    )


def test_diffpool_2_equals_its_formulas_for_each_graph() -> None:
    sizes = (5, 9, 1)
    V, view = random_view(sizes)
    readout, H = READOUTS["diffpool-2"]().build(4, 1, max(sizes)), torch.randn(sum(sizes), 4)
    assert readout.max_clusters == 3
    pooled = readout([H], view, batch_of(sizes))
    assert pooled.cluster_counts == (2, 3, 1)
    links, entropies, clusters, start = [], [], [], 0
    for graph, (size, count) in enumerate(zip(sizes, (2, 3, 1), strict=True)):
        v, h = V[start : start + size, start : start + size], H[start : start + size]
        S = (v @ h @ readout.assign_weight + readout.assign_bias)[:, :count].softmax(1)
        Z = prelu(v @ h @ readout.weight + readout.activation.bias, SLOPE)
        clusters.append(S.T @ Z)
        coarse = prelu(S.T @ v @ S @ clusters[-1] @ readout.coarse_weight + readout.coarse_activation.bias, SLOPE)
        torch.testing.assert_close(pooled.graphs[graph], coarse.sum(0))
        links.append(torch.linalg.norm(v - S @ S.T) / size**2)
        entropies.append(-(S * S.log()).sum(1))
        start += size
    torch.testing.assert_close(pooled.clusters, torch.cat(clusters))
    torch.testing.assert_close(pooled.loss, torch.stack(links).mean() + torch.cat(entropies).mean())


def test_graph_larger_than_the_training_graphs_uses_all_clusters() -> None:
    readout = DiffPool2(4, max_clusters=2)
    sizes = (20,)
    pooled = readout([torch.randn(20, 4)], random_view(sizes)[1], batch_of(sizes))
    assert pooled.cluster_counts == (2,)
    assert pooled.clusters.shape == (2, 4)

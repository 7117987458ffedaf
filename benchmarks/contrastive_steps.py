"""Time of a training step of DGI and CCA-SSG, relative to plain formulations of the same, as ratios in one run.

DGI is compared with PyTorch Geometric's DeepGraphInfomax as in its documentation (GCNConv with cached normalisation,
dense features), CCA-SSG with its authors' formulation: dense features whose columns are set to zero in a copy, a new
sparse adjacency of the edges that are left, and three products of the standardised codes. All have the same sizes, and
the steps of the four are interleaved.

    python benchmarks/contrastive_steps.py
    python benchmarks/contrastive_steps.py --json --device cuda --steps 50
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from measure import interleaved
from torch import Tensor, nn
from torch_geometric.nn import DeepGraphInfomax, GCNConv

from mvgrl.datasets import Dataset, load
from mvgrl.methods.augmentations import EdgeDropper
from mvgrl.methods.cca_ssg import CCASSG, Decorrelated
from mvgrl.methods.dgi import DGI, Infomax
from mvgrl.methods.graph_data import edge_index_of, features_of
from mvgrl.methods.self_supervised import Plan, Stack
from mvgrl.runtime import kept_between_steps, resolve_device
from mvgrl.settings import literal
from mvgrl.views import Adjacency, view_matrix

Step = Callable[[], Any]


def our_dgi(data: Dataset, device: torch.device) -> Step:
    method = DGI()
    features = features_of(data, literal({}), device)
    view = view_matrix(Adjacency(), data.graph).to(device)
    plan = Plan(method.epochs, method.learning_rate, patience=method.patience)
    return Stack([Infomax(features, view, method.hidden, 0).to(device)], [0], plan, device).step


class Encoder(nn.Module):
    """The encoder of the documentation's example."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.layer, self.activation = GCNConv(width, hidden, cached=True), nn.PReLU(hidden)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        found: Tensor = self.activation(self.layer(x, edges))
        return found


def pyg_dgi(data: Dataset, device: torch.device) -> Step:
    method = DGI()
    x, edges = features_of(data, literal({}), device).dense(), edge_index_of(data.graph, device)
    model = DeepGraphInfomax(
        hidden_channels=method.hidden,
        encoder=Encoder(x.shape[1], method.hidden),
        summary=lambda z, *_: z.mean(dim=0).sigmoid(),
        corruption=lambda x, edges: (x[torch.randperm(len(x), device=x.device)], edges),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=method.learning_rate)

    def step() -> None:
        optimizer.zero_grad()
        model.loss(*model(x, edges)).backward()
        optimizer.step()

    return step


def our_cca(data: Dataset, device: torch.device) -> Step:
    method = CCASSG().for_dataset(data.name)
    features = features_of(data, literal({}), device)
    view, dropper = view_matrix(Adjacency(), data.graph).to(device), EdgeDropper(data.graph, device)
    model = Decorrelated(features, view, dropper, method, 0).to(device)
    return Stack([model], [0], Plan(method.epochs, method.learning_rate), device).step


class PlainGCN(nn.Module):
    """GCN layers over a sparse tensor."""

    def __init__(self, width: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width if i == 0 else hidden, hidden, bias=False) for i in range(layers))
        self.biases = nn.ParameterList(torch.zeros(hidden) for _ in range(layers))

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        for i, (layer, bias) in enumerate(zip(self.layers, self.biases, strict=True)):
            x = torch.sparse.mm(adjacency, layer(x)) + bias
            if i < len(self.layers) - 1:
                x = x.relu()
        return x


def plain_cca(data: Dataset, device: torch.device) -> Step:
    method = CCASSG().for_dataset(data.name)
    x, edges = features_of(data, literal({}), device).dense(), edge_index_of(data.graph, device)
    nodes, loops = len(x), torch.arange(len(x), device=device).expand(2, -1)
    model = PlainGCN(x.shape[1], method.hidden, method.layers).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=method.learning_rate)
    identity = torch.eye(method.hidden, device=device)

    def copy() -> Tensor:
        left = torch.cat([edges[:, torch.rand(edges.shape[1], device=device) >= method.drop_edges], loops], dim=1)
        ones = torch.ones(left.shape[1], device=device)
        degrees = [torch.zeros(nodes, device=device).index_add_(0, ends, ones) for ends in left]
        values = (degrees[0][left[0]] * degrees[1][left[1]]).rsqrt()
        adjacency = torch.sparse_coo_tensor(left, values, (nodes, nodes), check_invariants=False)
        masked = x.clone()
        masked[:, torch.rand(x.shape[1], device=device) < method.drop_features] = 0
        codes: Tensor = model(masked, adjacency)
        return (codes - codes.mean(0)) / codes.std(0)

    def step() -> None:
        optimizer.zero_grad()
        first, second = copy(), copy()
        between, within = first.T @ second / nodes, [one.T @ one / nodes for one in (first, second)]
        apart = sum((one - identity).pow(2).sum() for one in within)
        (method.decorrelation * apart - between.diagonal().sum()).backward()
        optimizer.step()

    return step


def repeated(step: Step, count: int, device: torch.device) -> None:
    for _ in range(count):
        step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def compared(name: str, device: torch.device, steps: int, repeats: int) -> dict[str, dict[str, float]]:
    """Return milliseconds per step of both formulations of each method, and how many times faster ours is."""
    data = load(name)
    made = {"dgi": (our_dgi, pyg_dgi), "cca-ssg": (our_cca, plain_cca)}
    pairs = {f"{method} {i}": one(data, device) for method, both in made.items() for i, one in enumerate(both)}
    with kept_between_steps():
        times = interleaved({key: partial(repeated, step, steps, device) for key, step in pairs.items()}, repeats)
    found = {}
    for method in made:
        ours, theirs = (times[f"{method} {i}"][1] for i in (0, 1))
        found[method] = {
            "ours_ms": 1000 * statistics.median(ours) / steps,
            "plain_ms": 1000 * statistics.median(theirs) / steps,
            "ratio": statistics.median(b / a for a, b in zip(ours, theirs, strict=True)),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["cora", "pubmed"])
    parser.add_argument("--steps", type=int, default=5, help="steps per measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    device = resolve_device(options.device)
    results: dict[str, Any] = {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    for name in options.datasets:
        results[name] = compared(name, device, options.steps, options.repeats)
        for method, one in results[name].items():
            text = f"{name}, {method}: {one['ours_ms']:.1f} ms, plain {one['plain_ms']:.1f} ms: {one['ratio']:.1f}×"
            print(text, file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        print()


if __name__ == "__main__":
    main()

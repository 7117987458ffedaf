"""A graph prepared for training: features and views as matrices, computed once and shared by any number of fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch

from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.graphs.named import NamedGraph
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.model import MVGRL
from mvgrl.positions import PositionEncoder, feature_encoder
from mvgrl.runtime import generator_for, resolve_device
from mvgrl.sampling import Batch, GraphBatches, NodeBatches, corrupt_adjacency
from mvgrl.settings import AUTO, Settings
from mvgrl.similar import join_similar
from mvgrl.views import ViewCache, view_matrix
from mvgrl.views.diffusion import Diffusion

Batches = NodeBatches | GraphBatches
Value = TypeVar("Value")
_GRAPHS_PER_BATCH = 64  # at inference, for a model that was trained on one graph


@dataclass(frozen=True, eq=False)
class Inputs:
    """The features and views of a graph on a device, and the settings they were made for."""

    graph: Graph
    settings: Settings
    encoder: FeatureEncoder
    features: Matrix  # X, nodes × width
    views: tuple[Matrix, ...]  # V, nodes × nodes
    device: torch.device
    cache: ViewCache | None = None
    choices: Mapping[str, str] = field(default_factory=dict)  # what was chosen automatically, and why
    ids: np.ndarray | None = None  # of the nodes; None: they are numbered
    _kept: dict[object, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def adjacency(self) -> SparseMatrix:
        """The adjacency on the CPU, for samplers."""
        return SparseMatrix.from_scipy(self.graph.adjacency, symmetric=True)

    def once(self, key: object, make: Callable[[], Value]) -> Value:
        """Return ``make()``, computed once per key: results that do not depend on the seed are shared by all seeds."""
        if key not in self._kept:
            self._kept[key] = make()
        found: Value = self._kept[key]
        return found

    def positions(self, *, coarse: bool) -> PositionEncoder:
        """Return the positions of the nodes, which are used in addition to their features."""
        key = PositionEncoder, coarse
        return self.once(key, lambda: PositionEncoder("position").fit(self.graph, self.ids, coarse=coarse))

    @property
    def largest(self) -> int:
        """The number of nodes of the largest graph or sample."""
        largest = int(self.graph.sizes.max())
        return min(self.settings.sample_size, largest) if self.settings.sampler.samples else largest

    def model(self, seed: int) -> MVGRL:
        """A model with its initial weights."""
        return MVGRL(self.settings, self.encoder.width, largest=self.largest, seed=seed).to(self.device)

    def batches(self, seed: int = 0) -> Batches:
        """The batches of a training; only a corrupted adjacency depends on the seed."""
        settings = self.settings
        common: dict[str, Any] = dict(
            sampler=settings.sampler,
            sample_size=settings.sample_size,
            batch_size=settings.batch_size,
            device=self.device,
        )
        if settings.task == "graph":
            offsets = torch.from_numpy(self.graph.offsets)
            return GraphBatches(self.features, self.views, offsets, self.adjacency, **common)
        corrupted = None
        if settings.negatives.rewires_edges:
            other = corrupt_adjacency(self.graph, generator_for(seed, "corruption"))
            corrupted = _view_matrices(other, self.features, settings, self.device, self.cache)
        permute = settings.negatives.permutes_features
        return NodeBatches(
            self.features, self.views, self.adjacency, permute=permute, corrupted_views=corrupted, **common
        )

    def whole(self) -> Iterator[Batch]:
        """All nodes of all graphs, for inference."""
        if self.graph.count == 1:
            return iter([Batch(self.features, self.views, (self.graph.nodes,), device=self.device)])
        size = self.settings.batch_size if self.settings.task == "graph" else _GRAPHS_PER_BATCH
        offsets = torch.from_numpy(self.graph.offsets)
        return GraphBatches(self.features, self.views, offsets, batch_size=size, device=self.device).whole()


def prepare(
    graph: Graph | NamedGraph,
    settings: Settings,
    *,
    device: str | torch.device = "auto",
    cache: ViewCache | None = None,
    encoder: FeatureEncoder | None = None,
    choices: Mapping[str, str] | None = None,
) -> Inputs:
    """Compute features and views with the settings as given; nothing is chosen automatically.

    The ids of a :class:`NamedGraph` identify the same nodes in a changed graph; without ids, their numbers do.
    ``encoder`` is given to embed a new graph with a trained model: it was fitted on the training graph.

    >>> from mvgrl.settings import literal
    >>> inputs = prepare(Graph.from_edges([0, 1], [1, 2]), literal({"hidden": 8}), device="cpu")
    >>> [view.shape for view in inputs.views]
    [(3, 3), (3, 3)]
    """
    for name in ("sampler", "normalise"):
        if getattr(settings, name) == AUTO:
            raise SettingsError(f"{name} is still 'auto'; give the graph to fit, or use mvgrl.settings.literal")
    ids, columns = (graph.keys, graph.columns) if isinstance(graph, NamedGraph) else (None, None)
    graph = graph.graph if isinstance(graph, NamedGraph) else graph
    if encoder is None:
        _check_task(graph, settings)
        encoder = feature_encoder(settings.features, settings.normalise, settings.degree_cap).fit(graph, ids)
        encoder.columns_ = columns if encoder.kind_ == "given" else None
    where = resolve_device(device)
    features = encoder.transform(graph, ids=ids).to(where)
    views = _view_matrices(graph, features, settings, where, cache)
    return Inputs(graph, settings, encoder, features, views, where, cache, choices or {}, ids)


def _check_task(graph: Graph, settings: Settings) -> None:
    if settings.task == "node" and graph.count > 1:
        raise InputError(
            f"a node task trains on one graph, but {graph.count} were given; use task='graph' (GraphEmbedder), "
            "or give one of them"
        )
    if settings.task == "graph" and graph.count == 1:
        raise InputError(
            "a graph task needs several graphs to contrast, but one was given; use task='node' (NodeEmbedder)"
        )


def _view_matrices(
    graph: Graph, features: Matrix, settings: Settings, device: torch.device, cache: ViewCache | None
) -> tuple[Matrix, ...]:
    """Return the views of a graph; diffusions also follow the edges between similar nodes, if there are any."""
    joined = graph
    if settings.similar:
        if not any(isinstance(view, Diffusion) for view in settings.views):
            raise SettingsError(
                f"similar is {settings.similar}, but edges between similar nodes are for diffusions, and no view is "
                "one; omit it, or use the view 'ppr' or 'heat'"
            )
        joined = join_similar(graph, features, settings.similar, device)
    return tuple(
        view_matrix(view, joined if isinstance(view, Diffusion) else graph, cache=cache).to(device)
        for view in settings.views
    )

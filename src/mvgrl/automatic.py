"""Resolve "auto" settings for a graph, for both Python and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from mvgrl.agreement import FEW_FEATURES, are_unrelated
from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.features import FeatureEncoder, varying_columns
from mvgrl.graphs.stored import StoredGraph
from mvgrl.positions import COARSE_DIMENSIONS, DIMENSIONS, are_positions, bytes_needed
from mvgrl.runtime import machine_memory
from mvgrl.settings import AUTO, BY_SAMPLER, PROPAGATED, Output, Settings
from mvgrl.views.diffusion import Diffusion

# Entries of a diffusion up to which all are kept. One graph: 5,000² on a CPU, where a step with them takes half a
# second, and 20,000² on a GPU. Many graphs: 1.2 GB.
EXACT_ENTRIES = {"cpu": 5_000**2, "cuda": 20_000**2}
EXACT_ENTRIES_OF_MANY = 10**8
TOP_K = 64
# Measured at 50,000 and 100,000 nodes: a step keeps 64 to 140 bytes per node, dimension and layer, embedding 12.
_BYTES_OF_STEP, _BYTES_OF_EMBEDDING = 100, 16
SIMILAR = 10  # similar nodes that each node is joined with by default, at most
# Up to this many nodes, similar ones are searched for, by comparing all pairs; above, positions are added to any
# features, and codes weigh half: positions gain two points on WordNet, and next to nothing up to 20,000 nodes.
LARGE_GRAPH = 50_000
_SLOW_NODES = 50_000  # above which a step with all nodes takes seconds on a few cores, and there are hundreds


@dataclass(frozen=True)
class Resolved:
    """Fully resolved settings, with one phrase per automatic choice that says what was chosen and why."""

    settings: Settings
    choices: dict[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """All choices on one line; empty if there were none."""
        return "; ".join(self.choices.values())


class FeatureFacts:
    """The facts about given features that the choices depend on; for a graph on disk, they are found block by block."""

    width: int

    @property
    def filled(self) -> float:
        """The share of nonzero entries."""
        raise NotImplementedError

    @property
    def negative(self) -> bool:
        """Whether any entry is negative."""
        raise NotImplementedError

    def constant(self, normalise: str) -> bool:
        """Whether the features are the same for every node once they are scaled."""
        raise NotImplementedError


class _FactsInMemory(FeatureFacts):
    def __init__(self, graph: Graph) -> None:
        table: Any = graph.features
        self.graph, self.width = graph, int(table.shape[1])
        self.values = np.asarray(table.data if sp.issparse(table) else table)

    @property
    def filled(self) -> float:
        return float(np.count_nonzero(self.values) / (self.graph.nodes * self.width))

    @property
    def negative(self) -> bool:
        return not bool((self.values >= 0).all())

    def constant(self, normalise: str) -> bool:
        return FeatureEncoder("given", normalise).fit(self.graph).is_constant(self.graph)


def resolve(
    graph: Graph | StoredGraph,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    device: torch.device | str = "cpu",
    memory: int | None = None,
    streamed: FeatureFacts | None = None,
    preset: str = "default",
) -> Resolved:
    """Choose what the settings leave open, based on the graph, the device and its memory in bytes.

    A mapping, unlike :class:`mvgrl.Settings`, may also leave the task open. ``streamed`` is given for a graph that
    stays on disk: views are then sparse, and every step uses a sample. The preset of the vectors matters because the
    paper's vectors are trained without edges between similar nodes.

    >>> resolved = resolve(Graph.from_edges([0, 1], [1, 2]), {"hidden": 64})
    >>> resolved.settings.hidden, str(resolved.settings.sampler)
    (64, 'full')
    >>> resolved.choices["task"]
    'task node (one graph)'
    """
    choices: dict[str, str] = {}
    if not isinstance(settings, Settings):
        given = dict(settings or {})
        if given.get("task") is None:
            given["task"] = "node" if graph.count == 1 else "graph"
            counted = "one graph" if graph.count == 1 else f"{graph.count:,} graphs"
            choices["task"] = f"task {given['task']} ({counted})"
        settings = Settings.from_dict(given)
    device = torch.device(device)
    memory = machine_memory(str(device)) if memory is None else memory
    settings = _resolve_features(graph, settings, memory, streamed, choices)
    settings = _resolve_views(graph, settings, device, streamed is not None, choices)
    if settings.similar is None:
        settings = _resolve_similar(graph, settings, preset, choices)
    if streamed is None:
        settings = _resolve_sampler(graph, settings, device, memory, choices)
    elif settings.sampler == AUTO:
        settings = _with_samples(settings, "the graph stays on disk", choices)
    return Resolved(settings, choices)


def resolve_output(
    graph: Graph,
    settings: Settings,
    output: Output,
    *,
    device: torch.device | str = "cpu",
    memory: int | None = None,
    choices: dict[str, str] | None = None,
) -> Output:
    """Return the output with every open option chosen by the preset, for the task and the graph.

    Positions are added to uninformative features, and to any features in a large graph, if they need no more than half
    of the memory; ``choices`` then says why. The settings must be resolved already.

    >>> graph, choices = Graph.from_edges([0, 1], [1, 2], features=[[1.0], [2.0], [3.0]]), {}
    >>> resolve_output(graph, resolve(graph).settings, Output(), choices=choices).beside
    'propagated+position'
    >>> choices
    {'beside': 'positions added to the features (only one column)'}
    """
    chosen, choices = output.for_task(settings.task), {} if choices is None else choices
    given = _given_features(graph, settings)
    if given is None or output.beside is not None or chosen.beside != "propagated":
        return chosen
    reason = _why_features_say_little(graph, settings, given)
    coarse = reason is None
    if reason is None and graph.nodes > LARGE_GRAPH:
        reason = f"{graph.nodes:,} nodes"
    if reason is None:
        return chosen
    memory = machine_memory(str(torch.device(device))) if memory is None else memory
    larger = replace(chosen, beside="propagated+position")
    vectors = _size_of_vectors(graph, settings, larger, coarse=coarse)[1]
    needed = max(bytes_needed(graph.nodes, coarse=coarse), vectors)
    if needed > memory / 2:
        there = f"about {_gigabytes(needed)} of {_gigabytes(memory)}"
        choices["beside"] = f"no positions added to the features (they need {there})"
        return chosen
    choices["beside"] = f"positions added to the features ({reason})"
    return larger


def _given_features(graph: Graph, settings: Settings) -> Any:
    """Return the features or labels of a graph's nodes; None without any, or if another kind of features is set."""
    if graph.count > 1 or not graph.edges:
        return None
    kind = "given" if settings.features == AUTO else settings.features
    return {"given": graph.features, "labels": graph.node_labels}.get(kind)


def _why_features_say_little(graph: Graph, settings: Settings, given: Any) -> str | None:
    """Return why features are uninformative: too few, or unrelated to the edges; None if they are informative."""
    kind = "labels" if settings.features == "labels" else "given"
    columns = varying_columns(given) if kind == "given" else len(np.unique(given))
    if columns < FEW_FEATURES:
        return "only one column" if columns == 1 else f"only {columns} columns"
    encoder = FeatureEncoder(kind, settings.normalise, settings.degree_cap).fit(graph)
    return "unrelated to the edges" if are_unrelated(graph, encoder.transform(graph)) else None


def check_vectors_fit(
    graph: Graph, settings: Settings, output: Output, *, device: torch.device | str = "cpu", memory: int | None = None
) -> None:
    """Reject vectors that would not fit into memory, before hours are spent on training.

    >>> huge = Graph.from_edges([0], [1], nodes=1000)
    >>> check_vectors_fit(huge, Settings(), Output().for_task("node"), memory=10**6)
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: vectors of 512 numbers for 1,000 nodes need about 0.1 GB with everything they are made ...
    """
    memory = machine_memory(str(torch.device(device))) if memory is None else memory
    if settings.task == "graph":
        return
    length, size = _size_of_vectors(graph, settings, output)
    if size > memory:
        raise InputError(
            f"vectors of {length} numbers for {graph.nodes:,} nodes need about {_gigabytes(size)} with everything they "
            f"are made of, but there is only {_gigabytes(memory)} of memory; use a smaller dim and hidden, or beside "
            "'none'"
        )


def _size_of_vectors(graph: Graph, settings: Settings, output: Output, *, coarse: bool = False) -> tuple[int, int]:
    """Return the length of node vectors, and roughly how many bytes they and everything they are made of take."""
    codes = settings.hidden * (settings.layers if output.codes == "layers" else 1) * len(settings.views)
    # In addition to the codes: features, positions and both propagated, and as much again to compute them.
    positions = COARSE_DIMENSIONS if coarse else DIMENSIONS
    columns = DIMENSIONS if are_positions(settings.features) else PROPAGATED + positions * output.has_positions
    beside = 2 * columns * (len(settings.views) + 1) if output.propagates else 0
    length = output.dim or codes + beside // 2
    return length, 4 * graph.nodes * (codes + beside + length)


def _resolve_features(
    graph: Graph | StoredGraph, settings: Settings, memory: int, facts: FeatureFacts | None, choices: dict[str, str]
) -> Settings:
    """Use the given features, scaled, unless they are the same for every node; else labels, positions or degrees."""
    if settings.features != AUTO and settings.features != "given":
        # Scaling is for given features; on others only "standard" has an effect, and it is never chosen for them.
        return replace(settings, normalise="row") if settings.normalise == AUTO else settings
    positions = 0 if facts is not None else memory
    if settings.features == AUTO and graph.features is None:
        return _without_features(graph, settings, positions, "none are given", choices)
    if facts is None:
        assert isinstance(graph, Graph)
        FeatureEncoder("given", "standard", settings.degree_cap).fit(graph)  # rejects a graph without features
        facts = _FactsInMemory(graph)
    scaled = settings if settings.normalise != AUTO else _resolve_scaling(settings, facts, choices)
    if not facts.constant(scaled.normalise):
        return scaled
    reason = f"the given ones are {'the same for every node' if facts.filled else 'all zero'}"
    if settings.features != AUTO:
        choices["features"] = (
            f"given features ({reason}, so nodes differ only by structure; use degree-one-hot instead)"
        )
        return scaled
    choices.pop("normalise", None)
    return _without_features(graph, settings, positions, reason, choices)


def _without_features(
    graph: Graph | StoredGraph, settings: Settings, memory: int, reason: str, choices: dict[str, str]
) -> Settings:
    """Use node labels; without them, positions for one graph, which reveal communities, and degrees for many graphs."""
    kind, words = "degree-one-hot", "degrees as features"
    needed = bytes_needed(graph.nodes)
    if graph.node_labels is not None:
        kind, words = "labels", "node labels as features"
    elif settings.task == "node" and graph.edges and needed <= memory:
        kind, words = "position", "positions in the graph as features"
    elif settings.task == "node" and graph.edges:
        there = f"about {_gigabytes(needed)} of {_gigabytes(memory)}" if memory else "the whole graph in memory"
        reason += f", and positions need {there}"
    choices["features"] = f"{words} ({reason})"
    normalise = "row" if settings.normalise == AUTO else settings.normalise
    return replace(settings, features=kind, normalise=normalise)


def _resolve_scaling(settings: Settings, facts: FeatureFacts, choices: dict[str, str]) -> Settings:
    """Scale mostly zero features by row, as fractions of their sum, and others by column."""
    counts = facts.filled < 0.25 and not facts.negative
    constant = facts.constant("standard")  # centred, such features would be all zero
    if counts and not constant:  # rows that are multiples of each other would become the same
        counts = not facts.constant("row")
    how = "by column"
    if counts or constant:
        how = f"by row ({'mostly zeros, none negative' if counts else 'the same for every node'})"
    choices["normalise"] = f"{facts.width:,} features scaled {how}"
    return replace(settings, normalise="row" if counts or constant else "standard")


def _resolve_views(
    graph: Graph | StoredGraph, settings: Settings, device: torch.device, sparse: bool, choices: dict[str, str]
) -> Settings:
    """Keep all entries of a diffusion if there are few enough, else the largest of each row."""
    sizes = graph.sizes if isinstance(graph, Graph) else np.array([graph.nodes])
    entries = int(np.sum(sizes.astype(np.float64) ** 2))
    limit = EXACT_ENTRIES["cpu" if device.type == "cpu" else "cuda"] if graph.count == 1 else EXACT_ENTRIES_OF_MANY
    size = f"{graph.nodes:,} nodes" if graph.count == 1 else f"{entries:,} entries"
    views, reasons = [], []
    for view in settings.views:
        if isinstance(view, Diffusion) and view.open:
            if sparse or entries > limit:
                view = replace(view, top_k=TOP_K)  # type: ignore[call-arg]
                reasons.append(f"{view.name} sparse, the {TOP_K} largest entries per row ({size})")
            else:
                reasons.append(f"{view.name} exact ({size})")
        views.append(view)
    if reasons:
        choices["views"] = "; ".join(reasons)
    return replace(settings, views=tuple(views))


def _resolve_similar(graph: Graph | StoredGraph, settings: Settings, preset: str, choices: dict[str, str]) -> Settings:
    """Join similar nodes for diffusions if the features are informative and there are not too many pairs to compare."""
    count = 0
    if isinstance(graph, Graph) and graph.nodes <= LARGE_GRAPH and preset != "paper" and settings.task == "node":
        given = _given_features(graph, settings)
        diffuses = any(isinstance(view, Diffusion) for view in settings.views)
        if given is not None and diffuses and _why_features_say_little(graph, settings, given) is None:
            count = SIMILAR
            choices["similar"] = f"each node joined with up to {count} similar ones (by their features)"
    return replace(settings, similar=count)


def _resolve_sampler(
    graph: Graph | StoredGraph, settings: Settings, device: torch.device, memory: int, choices: dict[str, str]
) -> Settings:
    """Use samples if a step with all nodes needs more than half of the memory, or takes long on a CPU."""
    if settings.task == "graph":
        return replace(settings, sampler="full") if settings.sampler == AUTO else settings
    embedding = graph.nodes * settings.hidden * _BYTES_OF_EMBEDDING
    if embedding > memory:
        fitting = max(1, int(settings.hidden * memory / embedding) // 8 * 8)
        raise InputError(
            f"vectors of {settings.hidden} dimensions for {graph.nodes:,} nodes need about {_gigabytes(embedding)}, "
            f"but there is only {_gigabytes(memory)} of memory; use hidden {fitting} or less"
        )
    if settings.sampler != AUTO:
        return settings
    step = graph.nodes * settings.hidden * settings.layers * _BYTES_OF_STEP
    reason = f"a step needs about {_gigabytes(step)} of {_gigabytes(memory)}"
    if step > memory / 2:
        return _with_samples(settings, f"with all nodes, {reason}", choices)
    if device.type == "cpu" and graph.nodes > _SLOW_NODES:
        return _with_samples(settings, "training on all nodes is slow on a CPU", choices, kind="given")
    choices["sampler"] = f"whole graph in each step ({reason})"
    return replace(settings, sampler="full")


def _with_samples(settings: Settings, reason: str, choices: dict[str, str], kind: str = "large") -> Settings:
    given = {name: getattr(settings, name) or default for name, default in BY_SAMPLER[kind].items()}
    choices["sampler"] = f"samples of {given['sample_size']:,} nodes by random walks ({reason})"
    return replace(settings, sampler="walk", **given)


def _gigabytes(size: float) -> str:
    return f"{max(size / 2**30, 0.1):,.1f} GB"

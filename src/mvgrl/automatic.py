"""Settings for a graph nobody has looked at yet: what was not asked for is picked by its size, and said why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.runtime import machine_memory
from mvgrl.settings import Settings
from mvgrl.views.diffusion import Diffusion

# Entries of a diffusion up to which all are kept. One graph: 5,000² on a CPU, where a step with them takes half a
# second, 20,000² on a GPU. Many graphs: 1.2 GB of them.
EXACT_ENTRIES = {"cpu": 5_000**2, "cuda": 20_000**2}
EXACT_ENTRIES_OF_MANY = 10**8
TOP_K = 64
SAMPLE_SIZE = 20_000
SAMPLED_PATIENCE = 50  # the loss of a sample tells less than that of the graph, so it is watched for longer
# Measured at 50,000 and 100,000 nodes: a step keeps 64 to 140 bytes a node, dimension and layer, embedding 12.
_BYTES_OF_STEP, _BYTES_OF_EMBEDDING = 100, 16


@dataclass(frozen=True)
class Choice:
    """Settings, and what was picked of them and why, a few words each."""

    settings: Settings
    reasons: tuple[str, ...]


def choose(
    graph: Graph, given: Mapping[str, Any] | None = None, *, device: str = "cpu", memory: int | None = None
) -> Choice:
    """Settings for a graph: those ``given``, and the rest picked by its size and the machine's memory in bytes.

    >>> choice = choose(Graph.from_edges([0, 1], [1, 2]), {"hidden": 64})
    >>> choice.settings.hidden
    64
    >>> choice.reasons[0]
    'task node (one graph)'
    """
    values = dict(given or {})
    memory = machine_memory(device) if memory is None else memory
    reasons = []
    if values.get("task") is None:
        values["task"] = "node" if graph.count == 1 else "graph"
        reasons.append(f"task {values['task']} ({'one graph' if graph.count == 1 else f'{graph.count:,} graphs'})")
    reasons += _pick_features(graph, values)
    settings = Settings.from_dict(values)
    settings, sparser = _pick_views(graph, settings, device)
    reasons += sparser
    if settings.task == "node" and graph.count == 1:
        settings, samples = _pick_sampler(graph, settings, values, memory)
        reasons += samples
    return Choice(settings, tuple(reasons))


def _pick_features(graph: Graph, values: dict[str, Any]) -> list[str]:
    """How given features are scaled: those of many zeros as shares of their row, others column by column."""
    encoder = FeatureEncoder(values.get("features", "auto"), "standard", values.get("degree_cap", 100)).fit(graph)
    if encoder.kind_ != "given":
        if "features" in values:
            return []
        what = {"labels": "node labels", "degree-one-hot": "degrees"}[encoder.kind_]
        return [f"{what} as features ({'no others are given' if encoder.kind_ == 'labels' else 'none are given'})"]
    if "normalise" in values:
        return []
    assert graph.features is not None
    features: np.ndarray = np.asarray(graph.features.data if sp.issparse(graph.features) else graph.features)
    filled = np.count_nonzero(features) / (graph.nodes * encoder.width)
    counts = filled < 0.25 and bool((features >= 0).all())
    constant = encoder.scale_ is not None and not encoder.scale_.any()  # less its mean, nothing would be left of it
    values["normalise"] = "row" if counts or constant else "standard"
    how = "column by column"
    if counts or constant:
        how = f"row by row ({'mostly zeros, none negative' if counts else 'the same for every node'})"
    return [f"{encoder.width:,} features scaled {how}"]


def _pick_views(graph: Graph, settings: Settings, device: str) -> tuple[Settings, list[str]]:
    """Every entry of a diffusion where they are few enough, else the largest of each row."""
    entries = int(np.sum(graph.sizes.astype(np.float64) ** 2))
    limit = EXACT_ENTRIES["cpu" if device == "cpu" else "cuda"] if graph.count == 1 else EXACT_ENTRIES_OF_MANY
    views, reasons = [], []
    for view in settings.views:
        open_ = isinstance(view, Diffusion) and (view.method, view.top_k, view.threshold) == ("auto", None, None)  # type: ignore[attr-defined]
        size = f"{graph.nodes:,} nodes" if graph.count == 1 else f"{entries:,} entries"
        if open_ and entries > limit:
            view = replace(view, top_k=TOP_K)
            reasons.append(f"{view.name} sparse, the {TOP_K} largest a row ({size})")
        elif open_:
            reasons.append(f"{view.name} exact ({size})")
        views.append(view)
    return replace(settings, views=tuple(views)), reasons


def _pick_sampler(
    graph: Graph, settings: Settings, values: Mapping[str, Any], memory: int
) -> tuple[Settings, list[str]]:
    """The whole graph in each step where that takes less than half of the memory, else samples."""
    embedding = graph.nodes * settings.hidden * _BYTES_OF_EMBEDDING
    if embedding > memory:
        fitting = max(1, int(settings.hidden * memory / embedding) // 8 * 8)
        raise InputError(
            f"vectors of {settings.hidden} dimensions for {graph.nodes:,} nodes need about {_gigabytes(embedding)}, "
            f"and there are {_gigabytes(memory)} of memory; use hidden {fitting} or less"
        )
    step = graph.nodes * settings.hidden * settings.layers * _BYTES_OF_STEP
    if "sampler" in values:
        return settings, []
    because = f"a step needs about {_gigabytes(step)} of {_gigabytes(memory)}"
    if step <= memory / 2:
        return settings, [f"whole graph in each step ({because})"]
    size = values.get("sample_size", SAMPLE_SIZE)
    settings = replace(settings, sampler="walk", sample_size=size, patience=values.get("patience", SAMPLED_PATIENCE))
    return settings, [f"samples of {size:,} nodes by random walks (on all nodes, {because})"]


def _gigabytes(size: float) -> str:
    return f"{max(size / 2**30, 0.1):,.1f} GB"

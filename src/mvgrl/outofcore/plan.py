"""The plan of a job: how the work is cut so that every stage stays within the given memory, and what each will take.

Memory is what the process cannot give back: its own arrays, and changed pages of files. Pages of files that are only
read are the system's, which drops them when memory is short.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from mvgrl.automatic import EXACT_ENTRIES
from mvgrl.beside import Propagated
from mvgrl.beside.roots import early_views, suit
from mvgrl.errors import InputError
from mvgrl.graphs.stored import StoredGraph
from mvgrl.outofcore.tall import CHUNK
from mvgrl.positions import DIMENSIONS
from mvgrl.settings import PROPAGATED, Output, Settings
from mvgrl.tables.budget import as_size
from mvgrl.views import Adjacency, Heat

_BASE = 320 * 2**20  # torch, numba, pyarrow and compiled code; measured: 200 to 280 MB
_MOST_ROWS, _FEWEST_ROWS = 2**18, 2**12  # per shard
_SHARDS = 16  # at least, for graphs with many nodes
_PER_NODE_OF_STEP = 200  # bytes of a step per node of the sample, dimension and layer; measured: 170 to 200
_WORK = {"ppr": 28, "heat": 39}  # bytes per node of the graph and thread
_DEPTH = 2  # batches that are made ahead


@dataclass(frozen=True)
class Plan:
    """How a job is cut, and the bytes that its stages take in memory and on disk."""

    rows: int  # per shard
    columns: int  # of a tall matrix that are in memory at a time
    memory: dict[str, int]  # per stage
    disk: dict[str, int]
    limit: int

    @classmethod
    def make(
        cls, graph: StoredGraph, settings: Settings, output: Output, limit: int, *, threads: int | None = None
    ) -> Plan:
        """Choose sizes that fit into ``limit`` bytes; say which settings would fit where none does."""
        threads = threads or torch.get_num_threads()
        nodes = graph.nodes
        rows = _FEWEST_ROWS
        while rows < _MOST_ROWS and rows * _SHARDS < nodes:
            rows *= 2
        smallest = cls._with(graph, settings, output, limit, threads, _FEWEST_ROWS, 1)
        if smallest.peak > limit:
            cls._refuse(smallest, graph, settings, output, threads)
        while rows > _FEWEST_ROWS and cls._with(graph, settings, output, limit, threads, rows, 1).peak > limit:
            rows //= 2
        widest = max(1, _widest(graph, settings, output))
        spare = limit - cls._with(graph, settings, output, limit, threads, rows, 0).memory["vectors"]
        columns = min(widest, max(1, spare // (4 * (nodes + rows))))
        passes = -(-widest // columns)
        columns = -(-widest // passes)  # as wide as they need to be for this number of passes
        return cls._with(graph, settings, output, limit, threads, rows, columns)

    @classmethod
    def _with(
        cls, graph: StoredGraph, settings: Settings, output: Output, limit: int, threads: int, rows: int, columns: int
    ) -> Plan:
        nodes, width = graph.nodes, _width(graph, settings)
        rows = min(rows, nodes)
        tops = [view.top_k for view in settings.views if not isinstance(view, Adjacency)]
        heat = any(isinstance(view, Heat) for view in settings.views)
        work = _WORK["heat" if heat else "ppr"] * threads * nodes if tops else 0
        sampled = min(settings.sample_size, nodes) * settings.batch_size
        entries = sum(tops) + 4 * (2 * graph.edges // max(nodes, 1) + 1)
        batch = sampled * (4 * width + 24 * entries // 2)
        parts = _columns(settings, output, nodes, width)
        weights = 4 * settings.hidden * (width + settings.layers * settings.hidden) * len(settings.views)
        memory = {
            "diffusion": 8 * nodes + work + 9 * rows * max(tops, default=0),
            "training": 21 * nodes
            + (_DEPTH + 2) * batch
            + _PER_NODE_OF_STEP * sampled * settings.hidden * settings.layers
            + 6 * weights,
            "vectors": 20 * nodes + 4 * columns * (nodes + rows) + 16 * CHUNK * parts + 24 * parts**2
            + 4 * rows * (output.dim or parts),
        }  # fmt: skip
        kept = sum(view.steps > 1 for view in settings.views) + len(settings.views)
        tall = _widest(graph, settings, output) * (kept + 1)
        if _may_have_roots(settings, output, nodes, width):
            tall = max(tall, width + 3 * columns + parts)
        disk = {
            "diffusion": 8 * nodes * sum(tops),
            "training": 5 * weights,
            "vectors": 4 * nodes * (tall + 2 * (output.dim or parts)),
        }
        return cls(rows, columns, {name: _BASE + size for name, size in memory.items()}, disk, limit)

    @classmethod
    def _refuse(cls, smallest: Plan, graph: StoredGraph, settings: Settings, output: Output, threads: int) -> None:
        """Raise an error that says what would fit."""
        stage, limit = max(smallest.memory, key=smallest.memory.__getitem__), smallest.limit
        hint = f"use --memory {-(-smallest.peak // 2**20)}MB or more"
        sampled = min(settings.sample_size, graph.nodes)
        if stage == "training" and sampled >= 200:
            fewer = replace(settings, sample_size=sampled // 2)
            saved = smallest.peak - cls._with(graph, fewer, output, limit, threads, _FEWEST_ROWS, 1).memory[stage]
            fits = sampled - int((smallest.peak - limit) * (sampled - sampled // 2) / saved)
            if fits >= 100:
                hint += f", or --sample-size {fits // 100 * 100}"
        raise InputError(
            f"{stage} of {graph.nodes:,} nodes needs at least {as_size(smallest.peak)}, but --memory is "
            f"{as_size(limit)}; {hint}"
        )

    @property
    def peak(self) -> int:
        """The bytes of the stage that takes most."""
        return max(self.memory.values())

    @property
    def text(self) -> str:
        """The plan in one line per stage."""
        lines = [
            f"  {name:<10} {as_size(self.memory[name]):>10} of memory, {as_size(self.disk[name]):>10} on disk"
            for name in self.memory
        ]
        return "\n".join(lines)

    def cut_as(self, rows: int, columns: int, graph: StoredGraph, settings: Settings, output: Output) -> Plan:
        """Return the plan with the sizes of an interrupted job."""
        made = self._with(graph, settings, output, self.limit, torch.get_num_threads(), rows, columns)
        return replace(made, rows=rows, columns=columns)


def in_memory(nodes: int, edges: int, width: int, settings: Settings, output: Output) -> int:
    """Return the bytes that a graph, its views, a training and the vectors take without shards, about.

    Measured: 14.9 GB for a million nodes, ten million entries, 64 features and hidden 512.
    """
    kept = sum(
        nodes if nodes**2 <= EXACT_ENTRIES["cpu"] else getattr(view, "top_k", None) or 0 for view in settings.views
    )
    parts = _columns(settings, output, nodes, width)
    per_node = 40 * kept + 4 * (parts + (output.dim or parts)) + 12 * settings.hidden + 16 * width
    return _BASE + 80 * edges + nodes * per_node


def _width(graph: StoredGraph, settings: Settings) -> int:
    """Return the columns of the initial features, or a bound."""
    return graph.width if settings.features in ("auto", "given") and graph.width else settings.degree_cap + 1


def _columns(settings: Settings, output: Output, nodes: int, width: int) -> int:
    """Return the columns of all parts of a vector, or a bound."""
    codes = settings.hidden * (settings.layers if output.codes == "layers" else 1)
    codes *= 1 if output.join == "sum" else len(settings.views)
    beside = min(width, PROPAGATED) + DIMENSIONS * output.has_positions if output.propagates else 0
    early = PROPAGATED * len(early_views(settings)) if _may_have_roots(settings, output, nodes, width) else 0
    return codes + beside * (len(settings.views) + 1) + early


def _may_have_roots(settings: Settings, output: Output, nodes: int, width: int) -> bool:
    """Whether square roots replace propagated features, if none is negative."""
    return output.propagates and suit(settings, nodes, width, PROPAGATED)


def _widest(graph: StoredGraph, settings: Settings, output: Output) -> int:
    """Return the columns of the widest matrix that is propagated."""
    width = _width(graph, settings)
    codes = settings.hidden if settings.layers > 1 else min(width, settings.hidden)
    beside = min(width, 1024) if output.propagates and width > Propagated.components else 0
    shared = width if output.propagates and width <= Propagated.components else 0
    return max(codes, beside, shared)

"""A job: diffusion, training and vectors of a stored graph, in a folder of shards; it can be killed at any moment.

Everything that is finished is in the folder under its final name, and is not computed again. What a restarted job
computes depends only on the graph, the settings, the seed and how the work was cut, so its vectors have the same bits.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import torch

from mvgrl.automatic import Resolved
from mvgrl.errors import CheckpointError, SettingsError
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.graphs.stored import StoredGraph
from mvgrl.history import History
from mvgrl.matrices import Matrix
from mvgrl.model import MVGRL
from mvgrl.outofcore import diffusion
from mvgrl.outofcore.adjacency import Places, StoredAdjacency, degrees_of, walkable
from mvgrl.outofcore.batches import DrawnAhead
from mvgrl.outofcore.features import StoredFeatures, StreamedFacts, fitted_encoder
from mvgrl.outofcore.plan import Plan
from mvgrl.outofcore.shards import Ranges, Shards
from mvgrl.outofcore.tall import StoredMatrix
from mvgrl.outofcore.vectors import VectorStage
from mvgrl.outofcore.written import write_parquet
from mvgrl.runtime import resolve_device
from mvgrl.sampling import NodeBatches
from mvgrl.settings import Output, Settings
from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.leftovers import temporary_folder
from mvgrl.training import Callback, Trained, train
from mvgrl.vectors import Composition
from mvgrl.views import Adjacency

logger = logging.getLogger(__name__)

_FORMAT = "mvgrl-job-3"
Progress = Callable[[str, int, int], None]  # the stage, shards that are done, and all of them


@dataclass
class Job:
    """A stored graph, how it is embedded, and the folder of the work."""

    graph: StoredGraph
    resolved: Resolved
    output: Output  # with everything chosen
    folder: Path
    plan: Plan
    seed: int = 0
    device: str = "cpu"
    model: str = ""  # a hash of the model that is applied; empty for one that is trained here
    facts: StreamedFacts | None = None
    progress: Progress = lambda stage, done, total: None
    checkpoint_every: float = 10.0
    worker: int = 0  # which of several processes this is that share the shards, and of how many
    workers: int = 1
    trainers: int = 1  # processes that train together (mvgrl.distributed)
    encoder: FeatureEncoder = field(init=False)

    @property
    def settings(self) -> Settings:
        """The settings of the training."""
        return self.resolved.settings

    def start(self, trained: Trained | None = None) -> None:
        """Open the folder, or create it; a folder of another job is rejected. A trained model brings its encoder."""
        check_settings(self.settings, self.output, training=trained is None)
        self._open_folder()
        if trained is not None:
            self.encoder = trained.feature_encoder
        else:
            settings, facts = self.settings, self.facts or StreamedFacts(self.graph)
            self.encoder = fitted_encoder(self.graph, settings.features, settings.normalise, settings.degree_cap, facts)
        self._ranges = Ranges(self.graph.nodes, self.plan.rows, self.worker, self.workers)
        self._degrees, self._places = degrees_of(self.graph), Places(self.graph.nodes)
        self._views: list[StoredMatrix] = []

    def diffuse(self) -> None:
        """Compute the rows of all views that are not computed yet."""
        count = sum(not isinstance(view, Adjacency) for view in self.settings.views) * len(self._ranges)
        done = self._counter("diffusion", count)
        for number, view in enumerate(self.settings.views):
            if isinstance(view, Adjacency):
                self._views.append(StoredAdjacency(self.graph, self._degrees, self._places))
                continue
            shards = Shards(self.folder / f"view-{number}-{view.name}", self._ranges)
            diffusion.fill(shards, view, self.graph, self._degrees, done)
            self._views.append(diffusion.StoredView(shards, self._places))

    def train(self, callbacks: Iterable[Callback] = ()) -> Trained:
        """Train on samples; a training that was interrupted continues."""
        settings, device, graph = self.settings, resolve_device(self.device), self.graph
        largest = min(settings.sample_size, graph.nodes)
        model = MVGRL(settings, self.encoder.width, largest=largest, seed=self.seed).to(device)
        views: tuple[Matrix, ...] = tuple(self._views)
        batches = NodeBatches(
            StoredFeatures(graph, self.encoder),
            views,
            walkable(graph),
            sampler=settings.sampler,
            sample_size=settings.sample_size,
            batch_size=settings.batch_size,
            permute=settings.negatives.permutes_features,
            device=device,
        )
        ahead = DrawnAhead(batches)
        checkpoint, count = self.folder / "training", self.trainers
        with closing(ahead):
            history = train(
                model,
                ahead,  # type: ignore[arg-type]
                seed=self.seed,
                callbacks=callbacks,
                checkpoint=checkpoint,
                checkpoint_every=self.checkpoint_every,
                resume=checkpoint.exists(),
                identity=f"{settings.id}-{self.seed}-{graph.fingerprint}{'' if count == 1 else f'-{count}'}",
            )
        return self._trained(model, history)

    def vectors(self, trained: Trained) -> Shards:
        """Compute the vectors that are not computed yet; the composition of the trained model is fitted if needed."""
        stage = self._stage(trained)
        found = stage.run()
        trained.composition = stage.composition
        return found

    def compose(self, trained: Trained) -> None:
        """Fit how the vectors of a model are composed, without writing them."""
        trained.composition = self._stage(trained).fit()

    def _stage(self, trained: Trained) -> VectorStage:
        composition: Composition | None = None
        if self.output.composed and trained.composition is not None and trained.composition.fits(self.output):
            composition = trained.composition.to("cpu")
        stage = VectorStage(
            self.folder,
            trained.model.to("cpu"),
            StoredFeatures(self.graph, trained.feature_encoder),
            self._views,
            StoredAdjacency(self.graph, self._degrees, self._places),
            self._ranges,
            self.plan.columns,
            self.output,
            composition,
        )
        stage.done = self._counter("vectors", stage.count())
        return stage

    def write(self, path: Path, vectors: Shards) -> tuple[int, int]:
        """Write the vectors with the ids of their nodes; return their number and length."""
        columns = self.encoder.columns_
        write_parquet(path, self.graph, vectors, () if columns is None else tuple(columns.columns))
        return self.graph.nodes, int(vectors.read(0).shape[1])

    def remove(self) -> None:
        """Delete the folder in one step: a kill must not leave a part of it that would be continued."""
        with temporary_folder(self.folder) as away:
            self.folder.rename(away / "job")

    def _trained(self, model: MVGRL, history: History) -> Trained:
        return Trained(model, self.encoder, history, None, self.resolved.choices)

    def _counter(self, stage: str, total: int) -> Callable[[], None]:
        count = 0

        def done() -> None:
            nonlocal count
            count += 1
            self.progress(stage, min(count, total), total)

        return done

    def _open_folder(self) -> None:
        path = self.folder / "job.json"
        about = {
            "format": _FORMAT,
            "graph": self.graph.fingerprint,
            "settings": self.settings.id,
            "output": self.output.to_dict(),
            "seed": self.seed,
            "model": self.model,
            "threads": torch.get_num_threads(),
        }
        if path.exists():
            found = json.loads(path.read_text())
            cut = found.pop("rows"), found.pop("columns")
            other = [name for name, value in about.items() if found.get(name) != json.loads(json.dumps(value))]
            if other and other != ["threads"]:
                raise CheckpointError(
                    f"{self.folder} belongs to another run: its {other[0]} is different; resume as it was started, or "
                    "start a new run under another name"
                )
            if other:
                logger.warning("the job was started with %s threads; the last digits may differ", found.get("threads"))
            self.plan = self.plan.cut_as(*cut, self.graph, self.settings, self.output)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            temporary.write_text(json.dumps({**about, "rows": self.plan.rows, "columns": self.plan.columns}))


def check_settings(settings: Settings, output: Output, *, training: bool = True) -> None:
    """Reject settings that need the whole graph in memory; of a trained model only its views matter."""
    diffusion.check_views(settings.views)
    if not training:
        return
    if output.has_positions:
        raise SettingsError(
            f"beside {output.beside!r} needs the whole graph in memory; use 'propagated', or give more --memory"
        )
    if settings.similar:
        raise SettingsError(
            f"similar {settings.similar} compares all nodes of a graph in memory; omit it, or give more --memory"
        )
    if settings.task != "node":
        raise SettingsError("a graph that stays on disk is one graph, with a vector per node; omit --task graph")
    if not settings.sampler.samples:
        raise SettingsError("the sampler 'full' needs the whole graph in memory; omit it, or give more --memory")
    if settings.negatives.rewires_edges:
        raise SettingsError("corrupted edges as negatives need the whole graph in memory; use --negatives features")

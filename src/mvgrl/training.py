"""The loop: one for both tasks, with early stopping, history, callbacks, checkpoint and resume."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from mvgrl.checkpoint import History, RunState
from mvgrl.errors import CheckpointError, InputError, MVGRLError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.model import MVGRL
from mvgrl.runtime import generator_for, kept_between_steps, resolve_device
from mvgrl.sampling import SAMPLERS, Batch, GraphBatches, NodeBatches, corrupt_adjacency
from mvgrl.settings import Settings
from mvgrl.views import ViewCache, view_matrix

logger = logging.getLogger(__name__)

Batches = NodeBatches | GraphBatches


class Epoch(NamedTuple):
    """What a callback is told after every epoch."""

    number: int  # from 1
    loss: float
    best: float  # the lowest loss so far
    waited: int  # epochs since then
    seconds: float  # since training began, earlier parts of a resumed run not counted


Callback = Callable[[Epoch], None]


@dataclass
class Trained:
    """A trained model, with all it needs to represent its own graphs and new ones."""

    model: MVGRL
    feature_encoder: FeatureEncoder
    history: History
    batches: Batches | None = None  # of the training graphs; none where the model was loaded from a folder

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def represent(self, graph: Graph | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Node codes (nodes × hidden) and graph codes (graphs × hidden) of the training graphs, or of new ones."""
        if graph is not None:
            whole = self._whole(graph)
        elif self.batches is not None:
            whole = self.batches.whole()
        else:
            raise InputError("a loaded model does not carry its training graph along; give the graph to represent")
        self.model.eval()
        with torch.inference_mode():
            codes = [self.model.represent(batch) for batch in whole]
        nodes, graphs = (torch.cat(part).cpu().numpy() for part in zip(*codes, strict=True))
        return nodes, graphs

    def _whole(self, graph: Graph) -> Iterator[Batch]:
        """New graphs as they are, without samples or negatives; one alone or many, whatever the task was."""
        device = self.device
        features, views = _inputs(graph, self.model.settings, self.feature_encoder, device, None)
        if graph.count == 1:
            return iter([Batch(features, views, (graph.nodes,), device=device)])
        return GraphBatches(features, views, torch.from_numpy(graph.offsets), device=device).whole()


def fit(
    graph: Graph,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    device: str | torch.device = "auto",
    callbacks: Iterable[Callback] = (),
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 10.0,
    resume: bool = False,
    cache: ViewCache | None = None,
) -> Trained:
    """Train on one graph (node task) or many (graph task).

    With ``checkpoint``, the state is written there after the first epoch, then every ``checkpoint_every`` seconds, at
    the end, and when a callback raises; ``resume`` goes on from it, and ends in the same bits as a run that was never
    interrupted.

    >>> graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> trained = fit(graph, Settings(hidden=8, epochs=3), device="cpu")
    >>> len(trained.history.losses), trained.represent()[0].shape
    (3, (4, 8))
    """
    settings = settings or Settings()
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise SettingsError(f"seed is {seed!r}; it must be a whole number from 0")
    where = resolve_device(device)
    encoder = feature_encoder(graph, settings)
    batches = make_batches(graph, settings, encoder, seed=seed, device=where, cache=cache)
    model = MVGRL(settings, encoder.width, largest=batches.largest, seed=seed).to(where)
    identity = f"{settings.id}-{seed}-{graph.content_fingerprint}"
    history = train(
        model,
        batches,
        seed=seed,
        callbacks=callbacks,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        checkpoint_every=checkpoint_every,
        resume=resume,
        identity=identity,
    )
    return Trained(model, encoder, history, batches)


def feature_encoder(graph: Graph, settings: Settings) -> FeatureEncoder:
    """The initial features that the settings ask for, fitted on the training graphs."""
    return FeatureEncoder(settings.features, settings.normalise, settings.degree_cap).fit(graph)


def make_batches(
    graph: Graph,
    settings: Settings,
    encoder: FeatureEncoder,
    *,
    seed: int = 0,
    device: str | torch.device = "cpu",
    cache: ViewCache | None = None,
) -> Batches:
    """Features, views and corrupted views, computed once, ready to be sampled from."""
    if settings.task == "node" and graph.count > 1:
        raise InputError(
            f"a node task trains on one graph, and {graph.count} were given; use task='graph', or give one of them"
        )
    if settings.task == "graph" and graph.count == 1:
        raise InputError("one graph has no other graphs to be told from; give more, or use task='node'")
    device = torch.device(device)
    features, views = _inputs(graph, settings, encoder, device, cache)
    adjacency = SparseMatrix.from_scipy(graph.adjacency, symmetric=True)
    sampler = SAMPLERS[settings.sampler] if isinstance(settings.sampler, str) else settings.sampler
    common = dict(sampler=sampler, sample_size=settings.sample_size, batch_size=settings.batch_size, device=device)
    if settings.task == "graph":
        return GraphBatches(features, views, torch.from_numpy(graph.offsets), adjacency, **common)  # type: ignore[arg-type]
    corrupted = None
    if settings.negatives in ("adjacency", "both"):
        other = corrupt_adjacency(graph, generator_for(seed, "corruption"))
        corrupted = _inputs(other, settings, encoder, device, cache)[1]
    permute = settings.negatives in ("features", "both")
    return NodeBatches(features, views, adjacency, permute=permute, corrupted_views=corrupted, **common)  # type: ignore[arg-type]


def train(
    model: MVGRL,
    batches: Batches,
    *,
    seed: int = 0,
    callbacks: Iterable[Callback] = (),
    checkpoint: Path | None = None,
    checkpoint_every: float = 10.0,
    resume: bool = False,
    identity: str = "",
) -> History:
    """Adam until the loss has not fallen for ``patience`` epochs; the state at the lowest loss is restored."""
    settings = model.settings
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=settings.learning_rate, weight_decay=settings.l2, fused=True)
    run = RunState(model, optimizer, generator_for(seed, "sampling"), identity)
    if resume:
        if checkpoint is None:
            raise CheckpointError("resume needs the checkpoint to go on from; name its file")
        run.load(checkpoint)
        logger.info("resumed after epoch %d", len(run.history.losses))
    history, started = run.history, time.perf_counter()
    saved = -math.inf
    with kept_between_steps():
        while len(history.losses) < settings.epochs and history.waited < settings.patience:
            history.add(_epoch(model, batches, optimizer, run.generator))
            if history.waited == 0:
                run.keep_best()
            now = time.perf_counter()
            if checkpoint is not None and now - saved >= checkpoint_every:
                run.save(checkpoint)
                saved = now
            try:
                for callback in callbacks:
                    callback(_told(history, now - started))
            except BaseException:
                if checkpoint is not None:
                    run.save(checkpoint)
                raise
    if checkpoint is not None:
        run.save(checkpoint)
    run.restore_best()
    return history


def _told(history: History, seconds: float) -> Epoch:
    return Epoch(len(history.losses), history.losses[-1], history.best_loss, history.waited, seconds)


def _epoch(model: MVGRL, batches: Batches, optimizer: torch.optim.Optimizer, generator: torch.Generator) -> float:
    """One pass; the mean loss of its batches, weighted by how many graphs each holds."""
    model.train()
    total, weight = torch.zeros((), device=batches.device), 0
    for batch in batches.epoch(generator):
        loss = model(batch, generator)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(batch.sizes)
        weight += len(batch.sizes)
    mean = float(total) / weight
    check_finite(mean)
    return mean


def check_finite(loss: float) -> None:
    """Stop a training that has diverged."""
    if not math.isfinite(loss):
        raise MVGRLError(f"the loss became {loss}; lower the learning rate, or normalise the features")


def _inputs(
    graph: Graph, settings: Settings, encoder: FeatureEncoder, device: torch.device, cache: ViewCache | None
) -> tuple[Matrix, tuple[Matrix, ...]]:
    """X and every V, on the device."""
    views = tuple(view_matrix(view, graph, cache=cache).to(device) for view in settings.views)
    return encoder.transform(graph).to(device), views

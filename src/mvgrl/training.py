"""Training: one seed or many, on a graph or on prepared inputs, with early stopping and checkpoints."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

from mvgrl.automatic import Resolved, resolve, resolve_output
from mvgrl.captured import Captured, can_be_captured
from mvgrl.checkpoint import RunState
from mvgrl.distributed import epochs_from, mean_over_processes, rank, synchronised
from mvgrl.errors import CheckpointError, InputError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.graphs.named import NamedGraph
from mvgrl.history import Epoch, History, check_finite
from mvgrl.inputs import Batches, Inputs, prepare
from mvgrl.model import MVGRL
from mvgrl.optimizers import Adam
from mvgrl.recording import Recorder, recording
from mvgrl.runtime import generator_for, kept_between_steps, resolve_device
from mvgrl.sampling import NodeBatches
from mvgrl.settings import Output, Settings
from mvgrl.stacking import stack_size, train_stack
from mvgrl.tables.leftovers import hold
from mvgrl.vectors import Composition, check_finite_vectors, describe, plain_vectors
from mvgrl.views import ViewCache

logger = logging.getLogger(__name__)

Callback = Callable[[Epoch], None]
PAPER = Output(preset="paper")


@dataclass
class Trained:
    """A trained model, with everything needed to embed the training graphs and new ones."""

    model: MVGRL
    feature_encoder: FeatureEncoder
    history: History
    inputs: Inputs | None = None  # of the training graphs; None for a model loaded from a folder
    choices: Mapping[str, str] = field(default_factory=dict)  # what was chosen automatically, and why
    composition: Composition | None = None  # how parts are joined, fitted when the first vectors are made

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    def vectors(self, graph: Graph | NamedGraph | None = None, output: Output | None = None) -> np.ndarray:
        """The vectors of the task: nodes × dimensions for a node task, graphs × dimensions for a graph task.

        Without a graph, they are those of the training graphs. ``output`` decides how they are made from the trained
        codes, so changing it needs no retraining.

        >>> graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
        >>> trained = fit(graph, Settings(hidden=8, epochs=3), device="cpu")
        >>> trained.vectors(output=Output(dim=2)).shape, trained.vectors(output=Output(preset="paper")).shape
        ((4, 2), (4, 8))
        """
        task, output = self.model.settings.task, self.output_of(output)
        composition, parts = self._composed(output) if output.composed else (None, None)
        if graph is not None:
            parts = None  # those of the training graphs
        inputs = self._prepared(graph)
        self.model.eval()
        if composition is None:
            found = plain_vectors(self.model, inputs, output)[task == "graph"]
        else:
            found = composition.vectors(self.model, inputs, output, parts)
        return _checked(found)

    def output_of(self, given: Output | None) -> Output:
        """Return an output with every option chosen for the training graphs; a loaded model keeps the saved choices."""
        output, settings = given or Output(), self.model.settings
        if (inputs := self.inputs) is not None:
            return inputs.once(output, lambda: resolve_output(inputs.graph, settings, output, device=self.device))
        saved = None if self.composition is None else self.composition.output
        if saved is not None and output.preset == saved.preset:
            output = replace(output, beside=saved.beside if output.beside is None else output.beside)
        return output.for_task(settings.task)

    def represent(self, graph: Graph | NamedGraph | None = None, output: Output = PAPER) -> tuple[np.ndarray, ...]:
        """The codes of the nodes and of the graphs, whatever the task, joined as in the paper."""
        output = self.output_of(output)
        if output.composed:
            raise SettingsError("only the vectors of the task have other parts and a dim; use the preset 'paper'")
        self.model.eval()
        return tuple(_checked(one) for one in plain_vectors(self.model, self._prepared(graph), output))

    def compose(self, output: Output) -> Composition:
        """Return how the vectors of an output are composed, fitted on the training graphs if necessary."""
        return self._composed(self.output_of(output))[0]

    def _composed(self, output: Output) -> tuple[Composition, list[Tensor] | None]:
        """Return the composition and, if it had to be fitted, the parts of the training graphs."""
        parts = None
        if self.composition is None or not self.composition.fits(output):
            if self.inputs is None:
                raise SettingsError(
                    "the model was saved with other parts of its vectors, and new parts need its training graph; omit "
                    "beside, codes and join, use the preset 'paper', or train again"
                )
            self.model.eval()
            self.composition, parts = Composition.fit(self.model, self.inputs, output)
        return self.composition, parts

    def vector_text(self, output: Output) -> str:
        """Return in a few words what the vectors of an output are made of, and how much of each part they keep."""
        settings, output = self.model.settings, self.output_of(output)
        if not output.composed:
            return describe(settings, output, 0)
        composition = self.compose(output)
        length = composition.space.length(output.dim)
        kept = ", ".join(f"{name} {share:.0%}" for name, share in composition.parts(settings, length).items())
        return f"{describe(settings, replace(output, dim=length), length + 1)} (variance kept: {kept})"

    def _prepared(self, graph: Graph | NamedGraph | None) -> Inputs:
        if graph is not None:
            return prepare(graph, self.model.settings, device=self.device, encoder=self.feature_encoder)
        if self.inputs is None:
            raise InputError("a loaded model does not contain its training graph; give the graph to embed")
        return self.inputs


def _checked(vectors: Tensor) -> np.ndarray:
    check_finite_vectors(vectors)
    found: np.ndarray = vectors.cpu().numpy()
    return found


Given = Settings | Mapping[str, Any] | Resolved | None


@overload
def fit(
    data: Graph | NamedGraph | Inputs,
    settings: Given = None,
    *,
    seed: int = 0,
    device: str | torch.device = ...,
    callbacks: Iterable[Callback] = ...,
    cache: ViewCache | None = ...,
    checkpoint: str | Path | None = ...,
    checkpoint_every: float = ...,
    resume: bool = ...,
) -> Trained: ...


@overload
def fit(
    data: Graph | NamedGraph | Inputs,
    settings: Given = None,
    *,
    seed: Sequence[int],
    device: str | torch.device = ...,
    callbacks: Iterable[Callback] = ...,
    cache: ViewCache | None = ...,
    stack: int | None = ...,
) -> list[Trained]: ...


def fit(
    data: Graph | NamedGraph | Inputs,
    settings: Given = None,
    *,
    seed: int | Sequence[int] = 0,
    device: str | torch.device = "auto",
    callbacks: Iterable[Callback] = (),
    cache: ViewCache | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 10.0,
    resume: bool = False,
    stack: int | None = None,
) -> Trained | list[Trained]:
    """Train on one graph (node task) or many (graph task), with one seed or several.

    Given a graph, whatever the settings leave open is chosen for it: the scaling of features, exact or sparse
    diffusion, the whole graph or samples; ``Trained.choices`` lists what was chosen and why. Given :class:`Inputs` from
    :func:`prepare`, nothing is chosen, and several calls share the same matrices.

    With ``checkpoint``, the state is written there after the first epoch, then every ``checkpoint_every`` seconds, at
    the end, and when a callback raises; ``resume`` continues from it and ends with the same bits as an uninterrupted
    run. Callbacks of :mod:`mvgrl.recording` write every epoch to a file, and continue it in the same way. With several
    seeds, up to ``stack`` of them are trained together; by default as many as suit the device.

    >>> graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> trained = fit(graph, Settings(hidden=8, epochs=3), device="cpu")
    >>> len(trained.history.losses), len(trained.vectors())
    (3, 4)
    >>> [len(run.vectors()) for run in fit(graph, Settings(hidden=8, epochs=3), seed=range(2), device="cpu")]
    [4, 4]
    """
    one = not isinstance(seed, Iterable)
    seeds = _checked_seeds(seed)
    if not one and (checkpoint is not None or resume):
        raise SettingsError("a checkpoint belongs to one seed; omit checkpoint and resume, or give one seed")
    callbacks = list(callbacks)
    for record in (callback for callback in callbacks if isinstance(callback, Recorder)):
        if not one:
            raise SettingsError("the record of a training run belongs to one seed; omit it, or give one seed")
        record.check(resume=resume)
    inputs = _inputs(data, settings, device, cache)
    size = stack if stack is not None else stack_size(inputs.settings, inputs.graph.nodes, inputs.device)
    if size > 1 and len(seeds) > 1 and inputs.settings.stackable:
        return _fit_stacked(inputs, seeds, size, callbacks)
    runs = []
    for number in seeds:
        batches, model = inputs.batches(number), inputs.model(number)
        with nullcontext() if checkpoint is None else hold(Path(checkpoint)):
            history = train(
                model,
                batches,
                seed=number,
                callbacks=callbacks,
                checkpoint=None if checkpoint is None else Path(checkpoint),
                checkpoint_every=checkpoint_every,
                resume=resume,
                identity=f"{inputs.settings.id}-{number}-{inputs.graph.content_fingerprint}",
            )
        runs.append(Trained(model, inputs.encoder, history, inputs, inputs.choices))
    return runs[0] if one else runs


def _checked_seeds(seed: int | Iterable[int]) -> list[int]:
    seeds = list(seed) if isinstance(seed, Iterable) else [seed]
    for number in seeds:
        if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or number < 0:
            raise SettingsError(f"seed is {number!r}; it must be an integer, at least 0")
    return [int(number) for number in seeds]


def _inputs(
    data: Graph | NamedGraph | Inputs, settings: Given, device: str | torch.device, cache: ViewCache | None
) -> Inputs:
    if isinstance(data, Inputs):
        if settings is not None:
            raise SettingsError("prepared inputs have their own settings; omit settings, or give the graph itself")
        return data
    where = resolve_device(device)
    if not isinstance(settings, Resolved):
        settings = resolve(data.graph if isinstance(data, NamedGraph) else data, settings, device=where)
        logger.info("picked: %s", settings.summary or "nothing")
    return prepare(data, settings.settings, device=where, cache=cache, choices=settings.choices)


def _fit_stacked(inputs: Inputs, seeds: Sequence[int], size: int, callbacks: Iterable[Callback]) -> list[Trained]:
    batches = inputs.batches()
    assert isinstance(batches, NodeBatches)
    runs = []
    for start in range(0, len(seeds), size):
        some = seeds[start : start + size]
        models = [inputs.model(seed) for seed in some]
        histories = train_stack(models, batches, some, callbacks)
        pairs = zip(models, histories, strict=True)
        runs += [Trained(model, inputs.encoder, history, inputs, inputs.choices) for model, history in pairs]
    return runs


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
    """Run Adam until the loss has not fallen for ``patience`` epochs; restore the state of the lowest loss."""
    settings = model.settings
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    captured = can_be_captured(settings, batches)
    optimizer = Adam(learned, lr=settings.learning_rate, weight_decay=settings.l2, fused=True, capturable=captured)
    run = RunState(model, optimizer, generator_for(seed, "sampling"), identity)
    if resume:
        if checkpoint is None:
            raise CheckpointError("resume needs a checkpoint to continue from; give its file name")
        run.load(checkpoint)
        logger.info("resumed after epoch %d", len(run.history.losses))
    history, started = run.history, time.perf_counter()
    saved = -math.inf
    batches = epochs_from(batches, len(history.losses), seed)
    if rank():  # the first process writes checkpoints and is watched
        checkpoint, callbacks = None, ()
    losses = (_captured_losses if captured else _losses)(model, batches, optimizer, run.generator)
    with recording(callbacks, settings, history.losses), kept_between_steps():
        while len(history.losses) < settings.epochs and history.waited < settings.patience:
            loss = next(losses)
            check_finite(loss)
            history.add(loss)
            if history.waited == 0:
                run.keep_best()
            now = time.perf_counter()
            if checkpoint is not None and now - saved >= checkpoint_every:
                run.save(checkpoint)
                saved = now
            try:
                for callback in callbacks:
                    callback(_epoch_of(history, now - started))
            except BaseException:
                if checkpoint is not None:
                    run.save(checkpoint)
                raise
    if checkpoint is not None:
        run.save(checkpoint)
    run.restore_best()
    return history


def _epoch_of(history: History, seconds: float) -> Epoch:
    return Epoch(len(history.losses), history.losses[-1], history.best_loss, history.waited, seconds)


def _losses(
    model: MVGRL, batches: Batches, optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> Iterator[float]:
    """Train for an epoch at a time; yield the mean loss of its batches, weighted by the number of graphs in each."""
    together = synchronised(model)
    while True:
        model.train()
        total, weight = torch.zeros((), device=batches.device), 0
        for batch in batches.epoch(generator):
            loss = together(batch, generator)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(batch.sizes)
            weight += len(batch.sizes)
        yield mean_over_processes(float(total) / weight, batches.device)


def _captured_losses(
    model: MVGRL, batches: Batches, optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> Iterator[float]:
    """The same for an epoch of one step that is recorded as a CUDA graph."""
    assert isinstance(batches, NodeBatches)
    batch = next(batches.epoch(generator.clone_state()))
    assert batch.negative_rows is not None

    def step() -> Tensor:
        loss: Tensor = model(batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    captured = Captured(step, batches.device)
    while True:
        _, order = batches.draw(generator)
        assert order is not None
        batch.negative_rows.copy_(order)
        yield float(captured())

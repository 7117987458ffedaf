"""Many seeds as one stack: R models of a node task are trained together, with their weights stacked.

Every product with a constant matrix takes the columns of all seeds side by side (matrices.py), so fifty runs cost
little more than the few largest products of one. Each seed draws its permutations and samples from its own generator,
stops on its own loss, and then leaves the stack.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from mvgrl.captured import Captured, can_be_captured
from mvgrl.history import Epoch, History, check_finite
from mvgrl.matrices import Matrix, OnePerSeed
from mvgrl.model import MVGRL
from mvgrl.optimizers import Adam
from mvgrl.runtime import generator_for, kept_between_steps
from mvgrl.sampling import Batch, NodeBatches
from mvgrl.settings import Settings

LARGEST = 50
_BYTES_OF_STEP = 100  # measured, per node, dimension and layer
_SHARE_LEFT = 0.75  # of the seeds of a recorded step: with fewer left, it is recorded again for those only


def stack_size(settings: Settings, nodes: int, device: torch.device) -> int:
    """How many seeds to train as one stack: one on a CPU, which a single training keeps busy.

    On a GPU as many as fit into half of the free memory, at most fifty; one, too, for settings that cannot be stacked.

    >>> stack_size(Settings(), 1000, torch.device("cpu"))
    1
    """
    if device.type == "cpu" or not settings.stackable:
        return 1
    free = torch.cuda.mem_get_info(device)[0]
    sampled = settings.sample_size * settings.batch_size if settings.sampler.samples else 0
    each = max(nodes, sampled) * settings.hidden * settings.layers * _BYTES_OF_STEP
    return max(1, min(LARGEST, int(free / 2 / each)))


def train_stack(
    models: Sequence[MVGRL], batches: NodeBatches, seeds: Sequence[int], callbacks: Iterable[Callable[[Epoch], None]]
) -> list[History]:
    """Train the models of the seeds together; each ends with the weights of its lowest loss."""
    with kept_between_steps():
        return _Stack(models, batches, seeds).train(list(callbacks))


class _Stack:
    """The seeds still in training: their weights, optimizer and generators, and the best weights of each.

    A finished seed leaves the stack at once, or, where the step is recorded for this number of seeds, together with
    others.
    """

    def __init__(self, models: Sequence[MVGRL], batches: NodeBatches, seeds: Sequence[int]) -> None:
        self.models, self.batches = models, batches
        self.settings = models[0].settings
        self.captured = can_be_captured(self.settings, batches, len(models))
        self.parameters = {
            name: torch.stack([dict(model.named_parameters())[name].detach() for model in models]).requires_grad_()
            for name, _ in models[0].named_parameters()
        }
        self.optimizer = self._make_optimizer()
        self.best = {name: tensor.detach().clone() for name, tensor in self.parameters.items()}
        self.generators = [generator_for(seed, "sampling") for seed in seeds]
        self.histories = [History() for _ in models]
        self.rows = list(range(len(models)))  # the model of each row of the stack
        self.active = list(self.rows)  # the models that have not finished
        self.drawn: dict[int, tuple[Tensor | None, Tensor | None]] = {}  # what is random in the next step, by model
        self._draw()
        self.step = self._make_step()

    def train(self, callbacks: Sequence[Callable[[Epoch], None]]) -> list[History]:
        """Train until every seed has stopped."""
        limit, epoch, started = self.settings.epochs, 0, time.perf_counter()
        while self.active and epoch < limit:
            epoch += 1
            found = self.step()
            self._draw()  # for the next step, while a GPU computes this one
            every = dict(zip(self.rows, found.tolist(), strict=True))
            losses = {index: every[index] for index in self.active}
            for index, loss in losses.items():
                check_finite(loss)
                self.histories[index].add(loss)
            self._keep_best([row for row, index in enumerate(self.rows) if index in losses and self._improved(index)])
            for callback in callbacks:
                histories = [self.histories[index] for index in self.active]
                best, waited = min(h.best_loss for h in histories), min(h.waited for h in histories)
                mean, seconds = sum(losses.values()) / len(losses), time.perf_counter() - started
                callback(Epoch(epoch, mean, best, waited, seconds, len(self.active)))
            self._finish([index for index in self.active if self.histories[index].waited >= self.settings.patience])
        self._finish(self.active)
        return self.histories

    def _improved(self, index: int) -> bool:
        return self.histories[index].waited == 0

    def _make_step(self) -> Callable[[], Tensor]:
        """Return the function that runs a step with what was drawn, and returns the loss of each row."""
        if not self.captured:
            return lambda: self._update(*self._moved())
        inputs, views = self._moved()
        captured = Captured(lambda: self._update(inputs, views), self.batches.device)

        def step() -> Tensor:
            for name, tensor in self._moved()[0].items():
                inputs[name].copy_(tensor)
            return captured()

        return step

    def _update(self, inputs: dict[str, Tensor], views: tuple[Matrix, ...]) -> Tensor:
        def loss(parameters: dict[str, Tensor], rows: dict[str, Tensor]) -> Tensor:
            batch = Batch(self.batches.features, views, self.batches.sizes, device=self.batches.device, **rows)  # type: ignore[arg-type]
            return torch.func.functional_call(self.models[0], parameters, (batch,))

        losses = torch.vmap(loss)(self.parameters, inputs)
        self.optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()  # no seed's loss depends on another's weights
        self.optimizer.step()
        return losses.detach()

    def _draw(self) -> None:
        """Draw everything random in a step; a finished seed keeps what it had."""
        self.drawn |= {index: self.batches.draw(self.generators[index]) for index in self.active}

    def _moved(self) -> tuple[dict[str, Tensor], tuple[Matrix, ...]]:
        """What differs between seeds: the rows of positives and negatives, and the views of the samples."""
        drawn, device = [self.drawn[index] for index in self.rows], self.batches.device
        orders = torch.stack([order for _, order in drawn if order is not None]).to(device)  # one copy for all seeds
        if not self.batches.sampler.samples:
            return {"negative_rows": orders}, self.batches.views
        nodes = torch.stack([nodes for nodes, _ in drawn if nodes is not None]).to(device)
        sizes = self.batches.sizes * len(drawn)
        views = tuple(OnePerSeed(view.select(nodes.flatten(), sizes), len(drawn)) for view in self.batches.views)
        return {"rows": nodes, "negative_rows": nodes.gather(1, orders)}, views

    def _keep_best(self, rows: list[int]) -> None:
        if not rows:
            return
        everyone = len(rows) == len(self.rows)
        which = torch.tensor(rows, device=self.batches.device)
        for name, tensor in self.parameters.items():
            if everyone:
                self.best[name].copy_(tensor.detach())
            else:
                self.best[name].index_copy_(0, which, tensor.detach().index_select(0, which))

    def _finish(self, finished: list[int]) -> None:
        """Give finished seeds their best weights, and continue without them."""
        if not finished:
            return
        for index in finished:
            row = self.rows.index(index)
            self.models[index].load_state_dict({name: tensor[row] for name, tensor in self.best.items()})
        self.active = [index for index in self.active if index not in finished]
        if self.active and (not self.captured or len(self.active) <= _SHARE_LEFT * len(self.rows)):
            self._shrink()

    def _shrink(self) -> None:
        """Remove the rows of finished seeds."""
        kept = [row for row, index in enumerate(self.rows) if index in self.active]
        self.rows = list(self.active)
        state = self.optimizer.state_dict()
        for values in state["state"].values():
            for entry in ("exp_avg", "exp_avg_sq"):
                values[entry] = values[entry][kept]
        self.best = {name: tensor[kept] for name, tensor in self.best.items()}
        self.parameters = {name: tensor.detach()[kept].requires_grad_() for name, tensor in self.parameters.items()}
        self.optimizer = self._make_optimizer()
        self.optimizer.load_state_dict(state)
        self.step = self._make_step()

    def _make_optimizer(self) -> torch.optim.Optimizer:
        settings = self.settings
        return Adam(
            self.parameters.values(),
            lr=settings.learning_rate,
            weight_decay=settings.l2,
            fused=True,
            capturable=self.captured,
        )

"""Many seeds as one: R models of a node task train together, their weights stacked.

Every product with a constant matrix takes the seeds' columns side by side (matrices.py), so that fifty trainings cost
little more than the few largest products of one. Each seed draws its own permutations and samples from its own
generator, stops on its own loss, and then leaves the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from mvgrl.checkpoint import History
from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix, OnePerSeed
from mvgrl.model import MVGRL
from mvgrl.runtime import generator_for, kept_between_steps, resolve_device
from mvgrl.sampling import Batch, NodeBatches
from mvgrl.settings import Settings
from mvgrl.training import Trained, check_finite, feature_encoder, fit, make_batches
from mvgrl.views import ViewCache

Progress = Callable[[int, int, float], None]  # epochs so far, seeds still in training, their mean loss


def fit_seeds(
    graph: Graph,
    settings: Settings,
    seeds: Iterable[int],
    *,
    device: str | torch.device = "auto",
    at_once: int | None = None,
    progress: Progress | None = None,
    cache: ViewCache | None = None,
) -> list[Trained]:
    """What :func:`mvgrl.fit` gives for each seed, up to the order of floating-point sums.

    ``at_once`` seeds share a stack: fifty on a GPU unless set, and one on a CPU, which a single training keeps busy.
    Settings whose seeds cannot share one (see :func:`stackable`) are trained one after the other anywhere.

    >>> graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> runs = fit_seeds(graph, Settings(hidden=8, epochs=3), range(5), device="cpu")
    >>> [len(run.history.losses) for run in runs]
    [3, 3, 3, 3, 3]
    """
    seeds = list(seeds)
    where = resolve_device(device)
    if at_once is None:
        at_once = 1 if where.type == "cpu" else 50
    if at_once == 1 or not stackable(settings):
        cache = ViewCache() if cache is None else cache
        return [fit(graph, settings, seed=seed, device=where, cache=cache) for seed in seeds]
    encoder = feature_encoder(graph, settings)
    batches = make_batches(graph, settings, encoder, device=where, cache=cache)
    assert isinstance(batches, NodeBatches)
    trained = []
    for start in range(0, len(seeds), at_once):
        models = [
            MVGRL(settings, encoder.width, largest=batches.largest, seed=seed).to(where)
            for seed in seeds[start : start + at_once]
        ]
        with kept_between_steps():
            histories = _Stack(models, batches, seeds[start : start + at_once]).train(progress)
        trained += [Trained(model, encoder, history, batches) for model, history in zip(models, histories, strict=True)]
    return trained


def stackable(settings: Settings) -> bool:
    """Whether seeds can share a stack: one graph, all of the model learned, nothing random or remembered inside it."""
    return (
        settings.task == "node"
        and settings.negatives == "features"
        and settings.readout in ("sum", "mean", "sigmoid-mean")
        and settings.norm in ("none", "layer")
        and not (settings.dropout or settings.noise or settings.draw_two_views or settings.frozen_encoder)
    )


class _Stack:
    """The seeds that are still in training: their weights, optimizer and generators, and the best weights of each."""

    def __init__(self, models: Sequence[MVGRL], batches: NodeBatches, seeds: Sequence[int]) -> None:
        self.models, self.batches = models, batches
        self.settings = models[0].settings
        self.parameters = {
            name: torch.stack([dict(model.named_parameters())[name].detach() for model in models]).requires_grad_()
            for name, _ in models[0].named_parameters()
        }
        self.optimizer = self._make_optimizer()
        self.best = {name: tensor.detach().clone() for name, tensor in self.parameters.items()}
        self.generators = [generator_for(seed, "sampling") for seed in seeds]
        self.histories = [History() for _ in models]
        self.active = list(range(len(models)))  # which model each row of the stack is

    def train(self, progress: Progress | None) -> list[History]:
        """Epochs until every seed has stopped; each model ends with the weights of its lowest loss."""
        limit = self.settings.epochs
        epoch = 0
        while self.active and epoch < limit:
            epoch += 1
            losses = self._step()
            lower = []
            for row, (index, loss) in enumerate(zip(self.active, losses, strict=True)):
                check_finite(loss)
                self.histories[index].add(loss)
                if self.histories[index].waited == 0:
                    lower.append(row)
            self._keep_best(lower)
            if progress is not None:
                progress(epoch, len(self.active), sum(losses) / len(losses))
            self._drop([row for row, index in enumerate(self.active) if self._finished(self.histories[index])])
        self._drop(list(range(len(self.active))))
        return self.histories

    def _finished(self, history: History) -> bool:
        return history.waited >= self.settings.patience

    def _step(self) -> list[float]:
        rows, views = self._draw()

        def loss(parameters: dict[str, Tensor], rows: dict[str, Tensor]) -> Tensor:
            batch = Batch(self.batches.features, views, self.batches.sizes, device=self.batches.device, **rows)  # type: ignore[arg-type]
            return torch.func.functional_call(self.models[0], parameters, (batch,))

        losses = torch.vmap(loss)(self.parameters, rows)
        self.optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()  # no seed's weights take part in another's loss
        self.optimizer.step()
        values: list[float] = losses.tolist()
        return values

    def _draw(self) -> tuple[dict[str, Tensor], tuple[Matrix, ...]]:
        """What differs between the seeds: rows of positives and negatives, and the views of their samples."""
        drawn = [self.batches.draw(self.generators[index]) for index in self.active]
        orders = torch.stack([order for _, order in drawn if order is not None])
        if self.batches.sampler is None:
            return {"negative_rows": orders}, self.batches.views
        nodes = torch.stack([nodes for nodes, _ in drawn if nodes is not None])
        sizes = self.batches.sizes * len(drawn)
        views = tuple(OnePerSeed(view.select(nodes.flatten(), sizes), len(drawn)) for view in self.batches.views)
        return {"rows": nodes, "negative_rows": nodes.gather(1, orders)}, views

    def _keep_best(self, rows: list[int]) -> None:
        everyone = len(rows) == len(self.active)
        for name, tensor in self.parameters.items():
            if everyone:
                self.best[name].copy_(tensor.detach())
            elif rows:
                self.best[name][rows] = tensor.detach()[rows]

    def _drop(self, rows: list[int]) -> None:
        """Hand finished seeds their best weights, and go on without them."""
        if not rows:
            return
        for row in rows:
            model = self.models[self.active[row]]
            model.load_state_dict({name: tensor[row] for name, tensor in self.best.items()})
        kept = [row for row in range(len(self.active)) if row not in rows]
        self.active = [self.active[row] for row in kept]
        state = self.optimizer.state_dict()
        for values in state["state"].values():
            for entry in ("exp_avg", "exp_avg_sq"):
                values[entry] = values[entry][kept]
        self.best = {name: tensor[kept] for name, tensor in self.best.items()}
        self.parameters = {name: tensor.detach()[kept].requires_grad_() for name, tensor in self.parameters.items()}
        self.optimizer = self._make_optimizer()
        self.optimizer.load_state_dict(state)

    def _make_optimizer(self) -> torch.optim.Optimizer:
        settings = self.settings
        return torch.optim.Adam(
            self.parameters.values(), lr=settings.learning_rate, weight_decay=settings.l2, fused=True
        )

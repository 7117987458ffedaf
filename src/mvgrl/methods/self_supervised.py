"""Shared parts of self-supervised methods: layers, and training with one seed, or with many as one stack.

Under ``torch.vmap``, products with a constant matrix take the columns of all seeds side by side (matrices.py), so many
runs on a small graph cost little more than one. Every seed draws from its own generator, on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from mvgrl.captured import Captured
from mvgrl.encoders import BiasedPReLU, xavier
from mvgrl.history import History, check_finite
from mvgrl.matrices import Matrix
from mvgrl.methods.base import Outcome
from mvgrl.optimizers import Adam
from mvgrl.runtime import allow_tf32, generator_for, kept_between_steps

LARGEST_STACK = 50


class Model(nn.Module):
    """A model of one seed; called with what was drawn for a step, it returns the loss."""

    can_be_captured: ClassVar[bool] = False  # every step runs the same kernels on the same memory

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the random numbers of a step, on the CPU."""
        raise NotImplementedError

    def matrices(self, drawn: dict[str, Tensor]) -> dict[str, Matrix]:
        """Take from what was drawn (with many seeds, stacked) what makes matrices, and return these."""
        return {}

    def forward(self, drawn: Mapping[str, Tensor], matrices: Mapping[str, Matrix]) -> Tensor:
        raise NotImplementedError

    def after_step(self, parameters: Mapping[str, Tensor], done: float) -> None:
        """Change parameters that have no gradient; ``done`` is the share of the epochs before this step."""

    def codes(self) -> Tensor:
        """Return the vectors of the nodes."""
        raise NotImplementedError


@dataclass(frozen=True)
class Plan:
    """How a model is trained."""

    epochs: int
    learning_rate: float
    weight_decay: float = 0.0
    patience: int | None = None  # stop if the loss has not fallen for this many epochs, and return to the lowest
    optimizer: Callable[..., torch.optim.Optimizer] = Adam
    pace: Callable[[int], float] | None = None  # factor of the learning rate at a step


def train(make: Callable[[int], Model], seeds: Sequence[int], plan: Plan, device: torch.device) -> list[Outcome]:
    """Train a model per seed, all of them together, and return their vectors."""
    with kept_between_steps(), allow_tf32():
        stack = Stack([make(seed).to(device) for seed in seeds], seeds, plan, device)
        epochs = stack.train()
    outcomes = []
    for row, model in enumerate(stack.models):
        model.load_state_dict(stack.final(row))
        model.eval()
        with torch.no_grad():
            outcomes.append(Outcome(model.codes().float().cpu().numpy(), epochs=epochs[row]))
    return outcomes


def stack_size(device: torch.device, numbers: float) -> int:
    """Return how many seeds to train together, given how many numbers a step of one seed keeps: one on a CPU.

    >>> stack_size(torch.device("cpu"), 1e6)
    1
    """
    if device.type == "cpu":
        return 1
    free = torch.cuda.mem_get_info(device)[0]
    return max(1, min(LARGEST_STACK, int(free / 2 / (4 * numbers))))


class Stack:
    """The parameters of all seeds, stacked if there are several, and their optimizer."""

    def __init__(self, models: Sequence[Model], seeds: Sequence[int], plan: Plan, device: torch.device) -> None:
        self.models, self.plan, self.device = models, plan, device
        self.generators = [generator_for(seed, "training") for seed in seeds]
        self.histories = [History() for _ in seeds]
        if self.alone:
            self.parameters = {name: one.detach() for name, one in models[0].named_parameters()}
        else:
            every = [dict(model.named_parameters()) for model in models]
            self.parameters = {name: torch.stack([one[name].detach() for one in every]) for name in every[0]}
        learned = [name for name, one in models[0].named_parameters() if one.requires_grad]
        for name in learned:
            self.parameters[name].requires_grad_()
        self.best = {} if plan.patience is None else {k: v.detach().clone() for k, v in self.parameters.items()}
        self.optimizer = plan.optimizer(
            [self.parameters[name] for name in learned],
            lr=plan.learning_rate,
            weight_decay=plan.weight_decay,
            fused=True,
            **({"capturable": True} if self.captures else {}),
        )
        self.captured: Captured | None = None

    @property
    def captures(self) -> bool:
        """Whether the step is recorded as a CUDA graph."""
        return self.device.type == "cuda" and self.models[0].can_be_captured and self.plan.pace is None

    @property
    def alone(self) -> bool:
        return len(self.models) == 1

    def train(self) -> list[int]:
        """Train until every seed has stopped, and return the epochs of each."""
        loss = torch.zeros(())
        for epoch in range(self.plan.epochs):
            if self.plan.pace is not None:
                for group in self.optimizer.param_groups:
                    group["lr"] = self.plan.learning_rate * self.plan.pace(epoch)
            loss = self.step()
            self.models[0].after_step(self.parameters, epoch / self.plan.epochs)
            if self.plan.patience is not None and self._stopped(loss):
                break
        check_finite(float(loss.sum()))
        if self.plan.patience is None:
            return [self.plan.epochs] * len(self.models)
        return [len(history.losses) for history in self.histories]

    def step(self) -> Tensor:
        """Take one step with every seed; return the losses."""
        drawn = self._draw()
        if not self.captures:
            return self._step(drawn)
        if self.captured is None:  # the recorded step reads what is drawn from the memory of the first draw
            self.inputs = drawn
            self.captured = Captured(lambda: self._step(self.inputs), self.device)
        else:
            for name, one in drawn.items():
                self.inputs[name].copy_(one)
        return self.captured()

    def _step(self, drawn: dict[str, Tensor]) -> Tensor:
        model = self.models[0]
        matrices = model.matrices(drawn)
        if self.alone:
            loss = torch.func.functional_call(model, self.parameters, (drawn, matrices))
        else:
            call = torch.func.functional_call
            loss = torch.vmap(lambda one, some: call(model, one, (some, matrices)))(self.parameters, drawn)
        self.optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()  # no seed's loss depends on another's parameters
        self.optimizer.step()
        return loss.detach()

    def final(self, row: int) -> dict[str, Tensor]:
        """Return the parameters of a seed at the end of its training."""
        found = self.best or {name: one.detach() for name, one in self.parameters.items()}
        return found if self.alone else {name: one[row] for name, one in found.items()}

    def _draw(self) -> dict[str, Tensor]:
        drawn = [self.models[0].draw(generator) for generator in self.generators]
        if self.alone:
            return {name: one.to(self.device) for name, one in drawn[0].items()}
        return {name: torch.stack([one[name] for one in drawn]).to(self.device) for name in drawn[0]}

    def _stopped(self, losses: Tensor) -> bool:
        """Note the losses and the lowest ones' parameters; seeds that have stopped remain in the stack unnoted."""
        assert self.plan.patience is not None
        lower = []
        for row, (history, loss) in enumerate(zip(self.histories, losses.reshape(-1).tolist(), strict=True)):
            if history.waited < self.plan.patience:
                check_finite(loss)
                history.add(loss)
                if history.waited == 0:
                    lower.append(row)
        if lower:
            for name, one in self.parameters.items():
                if self.alone or len(lower) == len(self.histories):
                    self.best[name].copy_(one.detach())
                else:
                    self.best[name][lower] = one.detach()[lower]
        return all(history.waited >= self.plan.patience for history in self.histories)


class Convolutions(nn.Module):
    """GCN layers of given widths, σ(V·(H·Θ) + b); σ is a ReLU or a PReLU with one slope per layer.

    With ``linear_end``, the last layer is V·(H·Θ). It has no bias: where codes are centred before the loss, the
    gradient of a bias is only rounding errors, which Adam would turn into a random walk.

    >>> from mvgrl.matrices import DenseMatrix
    >>> layers = Convolutions([3, 8, 4], torch.Generator().manual_seed(0))
    >>> layers(DenseMatrix(torch.ones(5, 3)), DenseMatrix(torch.eye(5))).shape
    torch.Size([5, 4])
    """

    def __init__(
        self, widths: Sequence[int], generator: torch.Generator, *, activation: str = "relu", linear_end: bool = False
    ) -> None:
        super().__init__()
        self.weights = nn.ParameterList(xavier(*pair, generator=generator) for pair in pairwise(widths))
        self.activations = nn.ModuleList(
            BiasedPReLU(width) if activation == "prelu" else BiasedReLU(width) for width in widths[1:]
        )
        if linear_end:
            self.activations[-1] = nn.Identity()

    def forward(self, features: Matrix, view: Matrix, columns: Tensor | None = None) -> Tensor:
        """Return the codes of the last layer; ``columns`` is 0 for each masked column of the features."""
        first, *others = self.weights
        codes = features @ (first if columns is None else first * columns[:, None])
        for weight, activation in zip([None, *others], self.activations, strict=True):
            codes = activation(view @ (codes if weight is None else codes @ weight))
        return codes


class BiasedReLU(nn.Module):
    """max(0, x + b) with a learned bias, zero at first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.bias)


class Linear(nn.Module):
    """A linear layer with the initial weights of ``nn.Linear``, drawn from the generator."""

    def __init__(self, width: int, out: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = width**-0.5
        self.weight = nn.Parameter((torch.rand(width, out, generator=generator) * 2 - 1) * bound)
        self.bias = nn.Parameter((torch.rand(out, generator=generator) * 2 - 1) * bound)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


@torch.no_grad()
def move_averages(parameters: Mapping[str, Tensor], momentum: float) -> None:
    """Move every parameter of the target encoder towards that of the online encoder: φ ← m·φ + (1 − m)·θ.

    >>> both = {"target.weight": torch.zeros(1), "online.weight": torch.ones(1)}
    >>> move_averages(both, 0.75)
    >>> both["target.weight"]
    tensor([0.2500])
    """
    for name, average in parameters.items():
        if name.startswith("target."):
            average.lerp_(parameters[f"online.{name.removeprefix('target.')}"].detach(), 1 - momentum)

"""The linear probe: how well a linear classifier reads the classes from frozen embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mvgrl.errors import InputError
from mvgrl.evaluation.checks import check_known, check_scorable, checked_embeddings, checked_labels, node_numbers

DECAYS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # to choose from, where one is chosen


def linear_probe(
    embeddings: Any,
    labels: Any,
    train: Any,
    test: Any,
    *,
    steps: int = 300,
    learning_rate: float = 0.01,
    weight_decay: float | Sequence[float] = 0.0,
    seed: int | Sequence[int] = 0,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """Accuracy on the test nodes of a logistic regression trained on the train nodes with full-batch Adam.

    ``embeddings`` is n×d, or a stack ...×n×d whose probes all train at once, each as it would alone; the scores
    have the leading dimensions. ``train`` and ``test`` are node numbers or masks. ``seed`` draws the first weights:
    one for all probes of a stack, or one for each; so with ``weight_decay``.

    >>> points = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> float(linear_probe(points, ["low", "low", "high", "high"], train=[0, 3], test=[1, 2]))
    1.0
    """
    codes = checked_embeddings(embeddings)
    nodes = codes.shape[-2]
    names = checked_labels(labels, nodes)
    train, test = node_numbers(train, nodes, "train"), node_numbers(test, nodes, "test")
    check_scorable(names, train, test, "test")
    predicted = linear_predictions(
        codes,
        names,
        train,
        test,
        steps=steps,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        seed=seed,
        device=device,
    )
    return np.asarray((predicted == names[test]).mean(axis=-1))


def linear_predictions(
    embeddings: Any,
    labels: Any,
    train: Any,
    nodes: Any,
    *,
    steps: int = 300,
    learning_rate: float = 0.01,
    weight_decay: float | Sequence[float] = 0.0,
    seed: int | Sequence[int] = 0,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """The labels that the logistic regression of :func:`linear_probe` gives the nodes, ... × as many as they are.

    Only the labels of the train nodes are looked at: those of the nodes to predict need not be known.

    >>> points = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> linear_predictions(points, ["low", "", "", "high"], train=[0, 3], nodes=[1, 2]).tolist()
    ['low', 'high']
    """
    codes = checked_embeddings(embeddings)
    *leading, count, _ = codes.shape
    names = checked_labels(labels, count)
    train, nodes = node_numbers(train, count, "train"), node_numbers(nodes, count, "nodes")
    check_known(names, train, "train")
    classes, truth = np.unique(names[train], return_inverse=True)
    device = codes.device if device is None else torch.device(device)
    codes = codes.reshape(-1, *codes.shape[-2:])
    with torch.inference_mode(False), torch.enable_grad():  # also where the caller has switched gradients off
        train_codes, node_codes = (
            codes[:, torch.from_numpy(part).to(codes.device)].to(device) for part in (train, nodes)
        )
        weight = _first_weights(train_codes, len(classes), seed)
        bias = train_codes.new_zeros(len(codes), len(classes), 1)
        decay = _decays(weight_decay, train_codes)
        _train(weight, bias, train_codes, torch.from_numpy(truth).to(device), steps, learning_rate, decay)
    with torch.no_grad():
        best = _logits(weight, bias, node_codes).argmax(dim=1)
    predicted: np.ndarray = classes[best.cpu().numpy()].reshape(*leading, len(nodes))
    return predicted


def _train(
    weight: Tensor, bias: Tensor, codes: Tensor, truth: Tensor, steps: int, learning_rate: float, decay: Tensor
) -> None:
    """Adam on all probes at once: it works on each number by itself, so neighbours in the stack do not meet."""
    weight.requires_grad_(), bias.requires_grad_()
    optimiser = torch.optim.Adam([weight, bias], lr=learning_rate)
    everyone = truth.expand(len(codes), -1)
    for _ in range(steps):
        optimiser.zero_grad()
        logits = _logits(weight, bias, codes)
        # The mean over a probe's nodes, summed over the probes: no probe's gradient depends on how many there are.
        loss = torch.nn.functional.cross_entropy(logits, everyone, reduction="sum") / len(truth)
        loss.backward()
        for part in (weight, bias):  # Adam's own weight decay, with a number for each probe
            assert part.grad is not None
            part.grad.addcmul_(decay, part.detach())
        optimiser.step()


def _logits(weight: Tensor, bias: Tensor, codes: Tensor) -> Tensor:
    """Probes × classes × nodes; with the few classes in front, both directions of the product run thrice as fast."""
    return torch.baddbmm(bias, weight, codes.mT)


def _decays(weight_decay: float | Sequence[float], codes: Tensor) -> Tensor:
    """Probes × 1 × 1."""
    decays = torch.as_tensor(weight_decay, dtype=codes.dtype).flatten()
    if len(decays) not in (1, len(codes)):
        raise InputError(f"{len(decays)} weight decays for {len(codes)} probes; give one for all or one for each")
    return decays.to(codes.device).expand(len(codes))[:, None, None]


def _first_weights(codes: Tensor, classes: int, seed: int | Sequence[int]) -> Tensor:
    """Xavier's uniform weights, probes × classes × columns; drawn on the CPU, so that every device starts the same."""
    probes, _, width = codes.shape
    bound = (6 / (width + classes)) ** 0.5
    seeds = [seed] if isinstance(seed, (int, np.integer)) else [int(one) for one in seed]
    if len(seeds) not in (1, probes):
        raise InputError(f"{len(seeds)} seeds for {probes} probes; give one for all or one for each")
    drawn = [torch.rand(classes, width, generator=torch.Generator().manual_seed(int(one))) for one in seeds]
    weights: Tensor = (torch.stack(drawn) * 2 - 1) * bound
    return weights.expand(probes, -1, -1).to(codes.device, codes.dtype).clone()

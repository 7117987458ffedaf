"""The linear probe: how well a linear classifier predicts the classes from frozen embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mvgrl.errors import InputError
from mvgrl.evaluation.checks import check_known, check_scorable, checked_embeddings, checked_labels, node_numbers
from mvgrl.optimizers import Adam

DECAYS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # candidates, where one is chosen


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
    """Compute the test accuracy of a logistic regression trained on the train nodes with full-batch Adam.

    ``embeddings`` is n×d, or a stack ...×n×d with a probe per entry: the probes train in parallel, with the same
    results as one by one, and the scores have the leading dimensions. ``train`` and ``test`` are node numbers or
    masks. ``seed`` determines the initial weights; like ``weight_decay``, it is one value for all probes of a stack,
    or one per probe.

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
    """Predict the nodes' labels with the logistic regression of :func:`linear_probe`, ... × nodes.

    Only the labels of the train nodes are used; those of the nodes to predict may be unknown.

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
    with torch.inference_mode(False), torch.enable_grad():  # also if the caller has disabled gradients
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
    """Train all probes with one Adam optimiser: it is elementwise, so the probes do not affect each other."""
    weight.requires_grad_(), bias.requires_grad_()
    optimiser = Adam([weight, bias], lr=learning_rate)
    everyone = truth.expand(len(codes), -1)
    for _ in range(steps):
        optimiser.zero_grad()
        logits = _logits(weight, bias, codes)
        # The mean over a probe's nodes, summed over the probes: gradients do not depend on the number of probes.
        loss = torch.nn.functional.cross_entropy(logits, everyone, reduction="sum") / len(truth)
        loss.backward()
        for part in (weight, bias):  # Adam's weight decay, with a value per probe
            assert part.grad is not None
            part.grad.addcmul_(decay, part.detach())
        optimiser.step()


def _logits(weight: Tensor, bias: Tensor, codes: Tensor) -> Tensor:
    """Probes × classes × nodes; with classes before nodes, the products of both passes are three times as fast."""
    return torch.baddbmm(bias, weight, codes.mT)


def _decays(weight_decay: float | Sequence[float], codes: Tensor) -> Tensor:
    """Probes × 1 × 1."""
    decays = torch.as_tensor(weight_decay, dtype=codes.dtype).flatten()
    if len(decays) not in (1, len(codes)):
        raise InputError(f"{len(decays)} weight decays for {len(codes)} probes; give one for all or one per probe")
    return decays.to(codes.device).expand(len(codes))[:, None, None]


def _first_weights(codes: Tensor, classes: int, seed: int | Sequence[int]) -> Tensor:
    """Xavier-uniform weights, probes × classes × columns; drawn on the CPU, hence the same on every device."""
    probes, _, width = codes.shape
    bound = (6 / (width + classes)) ** 0.5
    seeds = [seed] if isinstance(seed, (int, np.integer)) else [int(one) for one in seed]
    if len(seeds) not in (1, probes):
        raise InputError(f"{len(seeds)} seeds for {probes} probes; give one for all or one per probe")
    drawn = [torch.rand(classes, width, generator=torch.Generator().manual_seed(int(one))) for one in seeds]
    weights: Tensor = (torch.stack(drawn) * 2 - 1) * bound
    return weights.expand(probes, -1, -1).to(codes.device, codes.dtype).clone()

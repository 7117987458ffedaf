"""The linear probe: how well a linear classifier reads the classes from frozen embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mvgrl.errors import InputError


def linear_probe(
    embeddings: Any,
    labels: Any,
    train: Any,
    test: Any,
    *,
    steps: int = 300,
    learning_rate: float = 0.01,
    weight_decay: float = 0.0,
    seed: int | Sequence[int] = 0,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """Accuracy on the test nodes of a logistic regression trained on the train nodes with full-batch Adam.

    ``embeddings`` is n×d, or a stack ...×n×d whose probes all train at once, each as it would alone; the scores
    have the leading dimensions. ``train`` and ``test`` are node numbers or masks. ``seed`` draws the first weights:
    one for all probes of a stack, or one for each.

    >>> points = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> float(linear_probe(points, ["low", "low", "high", "high"], train=[0, 3], test=[1, 2]))
    1.0
    """
    codes = _checked_embeddings(embeddings)
    *leading, nodes, _ = codes.shape
    names = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if names.shape != (nodes,):
        raise InputError(f"labels has shape {names.shape}, but there are embeddings of {nodes} nodes; give one a node")
    train, test = _node_numbers(train, nodes, "train"), _node_numbers(test, nodes, "test")
    classes = np.unique(names[train])
    unseen = np.flatnonzero(~np.isin(names[test], classes))
    if len(unseen):
        raise InputError(
            f"test node {test[unseen[0]]} has class {names[test][unseen[0]]}, of which there is no train node; "
            "draw the split so that train has every class"
        )
    device = codes.device if device is None else torch.device(device)
    codes = codes.reshape(-1, *codes.shape[-2:])
    with torch.inference_mode(False), torch.enable_grad():  # also where the caller has switched gradients off
        train_codes, test_codes = (
            codes[:, torch.from_numpy(part).to(codes.device)].to(device) for part in (train, test)
        )
        train_truth, test_truth = (
            torch.from_numpy(np.searchsorted(classes, names[part])).to(device) for part in (train, test)
        )
        weight = _first_weights(train_codes, len(classes), seed)
        bias = train_codes.new_zeros(len(codes), len(classes), 1)
        _train(weight, bias, train_codes, train_truth, steps, learning_rate, weight_decay)
    with torch.no_grad():
        hits = (_logits(weight, bias, test_codes).argmax(dim=1) == test_truth).double().mean(dim=1)
    scores: np.ndarray = hits.cpu().numpy().reshape(leading)
    return scores


def _train(
    weight: Tensor, bias: Tensor, codes: Tensor, truth: Tensor, steps: int, learning_rate: float, weight_decay: float
) -> None:
    """Adam on all probes at once: it works on each number by itself, so neighbours in the stack do not meet."""
    weight.requires_grad_(), bias.requires_grad_()
    optimiser = torch.optim.Adam([weight, bias], lr=learning_rate, weight_decay=weight_decay)
    everyone = truth.expand(len(codes), -1)
    for _ in range(steps):
        optimiser.zero_grad()
        logits = _logits(weight, bias, codes)
        # The mean over a probe's nodes, summed over the probes: no probe's gradient depends on how many there are.
        loss = torch.nn.functional.cross_entropy(logits, everyone, reduction="sum") / len(truth)
        loss.backward()
        optimiser.step()


def _logits(weight: Tensor, bias: Tensor, codes: Tensor) -> Tensor:
    """Probes × classes × nodes; with the few classes in front, both directions of the product run thrice as fast."""
    return torch.baddbmm(bias, weight, codes.mT)


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


def _checked_embeddings(embeddings: Any) -> Tensor:
    """Floating-point, at least n×d, every value finite."""
    try:
        codes = embeddings.detach() if isinstance(embeddings, Tensor) else torch.from_numpy(np.array(embeddings))
    except (TypeError, ValueError) as error:
        raise InputError(f"embeddings are not a table of numbers ({error})") from None
    if codes.dim() < 2 or 0 in codes.shape:
        raise InputError(f"embeddings has shape {tuple(codes.shape)}; it must be nodes × columns, stacked or not")
    if codes.dtype not in (torch.float32, torch.float64):
        codes = codes.float()
    bad = ~torch.isfinite(codes)
    if bad.any():
        place = bad.nonzero()[0].tolist()
        name = f"node {place[-2]}, column {place[-1]}" + (f" of stack element {place[:-2]}" if len(place) > 2 else "")
        raise InputError(
            f"embeddings: {name} is {codes[tuple(place)].item()}; the training that made them has diverged"
        )
    return codes


def _node_numbers(part: Any, nodes: int, name: str) -> np.ndarray:
    """Node numbers, of numbers or a mask."""
    numbers = part.detach().cpu().numpy() if isinstance(part, Tensor) else np.asarray(part)
    if numbers.dtype == bool:
        if numbers.shape != (nodes,):
            raise InputError(f"{name} is a mask of shape {numbers.shape}, but there are {nodes} nodes")
        numbers = np.flatnonzero(numbers)
    if numbers.size == 0:
        raise InputError(f"{name} names no node; there is nothing to {'learn from' if name == 'train' else 'score'}")
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise InputError(
            f"{name} is {numbers.dtype} of shape {numbers.shape}; it must be a list of node numbers or a mask"
        )
    outside = numbers[(numbers < 0) | (numbers >= nodes)]
    if len(outside):
        raise InputError(f"{name} names node {outside[0]}, but nodes are numbered 0 to {nodes - 1}")
    return numbers.astype(np.int64)

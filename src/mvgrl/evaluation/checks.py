"""Checks of embeddings, labels and node numbers, run by every protocol before it scores anything."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mvgrl.errors import InputError, SettingsError

_PURPOSES = {"train": "learn from", "val": "score", "test": "score", "nodes": "predict"}


def checked_embeddings(embeddings: Any, *, stacked: bool = True) -> Tensor:
    """Return the embeddings as finite floating-point values, n×d or, if ``stacked`` allows it, ...×n×d."""
    try:
        codes = embeddings.detach() if isinstance(embeddings, Tensor) else torch.from_numpy(np.array(embeddings))
    except (TypeError, ValueError) as error:
        raise InputError(f"embeddings are not a table of numbers ({error})") from None
    if codes.dim() < 2 or 0 in codes.shape or (codes.dim() > 2 and not stacked):
        wanted = "nodes × columns, stacked or not" if stacked else "nodes × columns"
        raise InputError(f"embeddings has shape {tuple(codes.shape)}; it must be {wanted}")
    if codes.dtype not in (torch.float32, torch.float64):
        codes = codes.float()
    bad = ~torch.isfinite(codes)
    if bad.any():
        place = bad.nonzero()[0].tolist()
        name = f"node {place[-2]}, column {place[-1]}" + (f" of stack element {place[:-2]}" if len(place) > 2 else "")
        raise InputError(
            f"embeddings: {name} is {codes[tuple(place)].item()}; the training that produced it probably diverged"
        )
    return codes


def check_seed(seed: int) -> None:
    """Refuse a seed that NumPy's and scikit-learn's generators do not accept."""
    if not 0 <= seed < 2**32:
        raise SettingsError(f"seed is {seed}; it must be an integer from 0 to {2**32 - 1}")


def checked_labels(labels: Any, nodes: int | None = None) -> np.ndarray:
    """Return a label per node, as numbers or strings; NaN or an empty string where the label is unknown.

    >>> checked_labels(["cat", None, "dog"]).tolist()
    ['cat', '', 'dog']
    """
    if isinstance(labels, Tensor):
        names = labels.detach().cpu().numpy()
    else:  # a list becomes objects first: NumPy would turn a NaN among strings into the string "nan"
        names = labels if isinstance(labels, np.ndarray) else np.array(labels, dtype=object)
    if names.ndim != 1 or (nodes is not None and len(names) != nodes):
        there = "" if nodes is None else f", but there are embeddings of {nodes} nodes"
        raise InputError(f"labels has shape {names.shape}{there}; give one label per node")
    return _without_objects(names) if names.dtype == object else names


def _without_objects(labels: np.ndarray) -> np.ndarray:
    """Convert objects to numbers or strings; None and NaN become NaN or the empty string, for an unknown label."""
    values = labels.tolist()
    for node, value in enumerate(values):
        if value is not None and not isinstance(value, (str, bytes, Real, np.bool_)):
            raise InputError(f"labels: node {node} has {value!r}; use a number, a string, or None if it is unknown")
    texts = [value for value in values if isinstance(value, (str, bytes))]
    unknown = type(texts[0])() if texts else np.nan
    return np.array([unknown if value is None or value != value else value for value in values])


def is_known(names: np.ndarray) -> np.ndarray:
    """Tell which labels are known: neither NaN nor an empty string.

    >>> is_known(np.array([1, np.nan])).tolist()
    [True, False]
    """
    known: np.ndarray = names != np.array("", names.dtype) if names.dtype.kind in "US" else names == names
    return known


def classes_of(names: np.ndarray) -> np.ndarray:
    """Return the known classes, sorted, and refuse fewer than two."""
    classes = np.unique(names[is_known(names)])
    if len(classes) < 2:
        found = f"only the class {classes[0]}" if len(classes) else "no classes"
        raise InputError(f"labels has {found}; at least two classes are needed")
    return classes


def node_numbers(part: Any, nodes: int, name: str, *, empty: bool = False) -> np.ndarray:
    """Convert node numbers or a mask to node numbers."""
    numbers = part.detach().cpu().numpy() if isinstance(part, Tensor) else np.asarray(part)
    if numbers.dtype == bool:
        if numbers.shape != (nodes,):
            raise InputError(f"{name} is a mask of shape {numbers.shape}, but there are {nodes} nodes")
        numbers = np.flatnonzero(numbers)
    if numbers.size == 0:
        if empty:
            return np.empty(0, dtype=np.int64)
        raise InputError(f"{name} names no node; there is nothing to {_PURPOSES[name.split()[-1]]}")
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise InputError(
            f"{name} is {numbers.dtype} of shape {numbers.shape}; it must be a list of node numbers or a mask"
        )
    outside = numbers[(numbers < 0) | (numbers >= nodes)]
    if len(outside):
        raise InputError(f"{name} names node {outside[0]}, but nodes are numbered 0 to {nodes - 1}")
    return numbers.astype(np.int64)


def check_known(names: np.ndarray, numbers: np.ndarray, name: str) -> None:
    """Refuse a part of a split that contains a node without a label."""
    unknown = numbers[~is_known(names[numbers])]
    if len(unknown):
        raise InputError(f"{name} node {unknown[0]} has no label; give its label or take it out of the split")


def check_scorable(names: np.ndarray, train: np.ndarray, numbers: np.ndarray, name: str) -> None:
    """Refuse to score a part that contains a node without a label, or of a class that no train node has."""
    check_known(names, numbers, name)
    unseen = numbers[~np.isin(names[numbers], names[train])]
    if len(unseen):
        raise InputError(
            f"{name} node {unseen[0]} has class {names[unseen[0]]}, of which there is no train node; "
            "use a split in which train has every class"
        )

"""The fitted state of a feature encoder as numeric arrays: text as UTF-8 bytes, and checks of what a file holds."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from mvgrl.errors import InputError, check_name, shown
from mvgrl.parsing import parse_json
from mvgrl.tables.names import text_array

NAMES = ("kind", "width", "degrees", "labels", "label_text", "mean", "scale", "names", "columns", "word_weights")


def to_bytes(value: Any) -> np.ndarray:
    """Encode text, or a list of texts, as an array of bytes."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def check_names(arrays: Collection[str]) -> None:
    """Reject unknown arrays, and half of a pair."""
    for name in arrays:
        check_name("array of features:", name, NAMES, InputError)
    for name in ("kind", "width", "degrees"):
        if name not in arrays:
            raise InputError(f"the features have no {name!r}")
    if "word_weights" in arrays and "columns" not in arrays:
        raise InputError("the features have weights of words without columns")
    if ("mean" in arrays) != ("scale" in arrays) or ("labels" in arrays and "label_text" in arrays):
        raise InputError("the features have a mean without a scale, or labels in two forms")


def read_text(arrays: Mapping[str, np.ndarray], name: str) -> Any:
    """Decode the output of :func:`to_bytes`."""
    array = arrays[name]
    if array.dtype != np.uint8 or array.ndim != 1:
        raise InputError(f"features/{name} is not text")
    try:
        return parse_json(array.tobytes().decode())
    except ValueError as error:
        raise InputError(f"features/{name} is not text ({shown(str(error))})") from None


def read_texts(arrays: Mapping[str, np.ndarray], name: str) -> list[str]:
    """Decode a list of different texts."""
    texts = read_text(arrays, name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"features/{name} is not a list of texts")
    if len(set(texts)) < len(texts):
        raise InputError(f"features/{name} has the same text twice")
    return texts


def read_count(arrays: Mapping[str, np.ndarray], name: str, least: int) -> int:
    """Read an array that holds one count."""
    array = arrays[name]
    if array.shape != (1,) or array.dtype != np.int64 or array[0] < least:
        raise InputError(f"features/{name} is not one integer, at least {least}")
    return int(array[0])


def read_columns(arrays: Mapping[str, np.ndarray], name: str, width: int) -> np.ndarray | None:
    """Read an array with a finite number per column, or None if there is no such array."""
    array = arrays.get(name)
    if array is None:
        return None
    if array.shape != (width,) or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise InputError(f"features/{name} does not have a finite number for each of the {width} columns")
    return array


def read_labels(arrays: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Read the sorted vocabulary of labels, numbers or text, or None if there is none."""
    if "label_text" in arrays:
        labels = text_array(read_texts(arrays, "label_text"), "features/label_text")
    elif "labels" in arrays:
        labels = arrays["labels"]
    else:
        return None
    known = labels.ndim == 1 and labels.dtype.kind in "biufU" and not bool((labels != labels).any())  # no NaN
    if not known or not bool((labels[1:] > labels[:-1]).all()):
        raise InputError("the labels of the features are not a sorted list")
    return labels

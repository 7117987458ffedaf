"""Names next to the points of a map, placed so that they cover each other and the points as little as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_SIZE, _GAP = 7.5, 0.06  # points, inches
_COLOUR = "#333333"
# Directions from the point in order of preference, and how the text is aligned to it.
_PLACES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7), (-0.7, -0.7))
_SIDES = {-1: "right", 0: "center", 1: "left"}
_LEVELS = {-1: "top", 0: "center", 1: "bottom"}


def write_names(
    axes: Any, points: np.ndarray, names: Sequence[str], across: tuple[float, float], renderer: Any
) -> None:
    """Write a name next to each point, n×2 in inches; ``across`` are the left and right end of the map."""
    dots = np.concatenate([points - _GAP, points + _GAP], axis=1)  # boxes: left, bottom, right, top
    taken = np.empty((0, 4))
    for point, name in zip(points, names, strict=True):
        text = axes.text(0, 0, name, size=_SIZE, color=_COLOUR, parse_math=False)
        extent = text.get_window_extent(renderer)
        size = np.array([extent.width, extent.height]) / axes.figure.dpi
        boxes = np.array([_box(point, place, size) for place in _PLACES])
        outside = np.maximum(across[0] - boxes[:, 0], 0) + np.maximum(boxes[:, 2] - across[1], 0)
        costs = [
            _overlap(box, taken) + _overlap(box, dots) + 100 * out for box, out in zip(boxes, outside, strict=True)
        ]
        best = int(np.argmin(np.round(costs, 6)))  # the first of the best
        taken = np.concatenate([taken, boxes[best : best + 1]])
        side, level = np.sign(_PLACES[best]).astype(int)
        text.set(position=point + _GAP * np.array(_PLACES[best]), ha=_SIDES[side], va=_LEVELS[level])


def _box(point: np.ndarray, place: tuple[float, float], size: np.ndarray) -> np.ndarray:
    direction = np.sign(place)
    near = point + _GAP * np.array(place)
    low = near - size * (1 - direction) / 2
    return np.concatenate([low, low + size])


def _overlap(box: np.ndarray, others: np.ndarray) -> float:
    """Return the area that a box shares with others."""
    widths = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    heights = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    return float((np.maximum(widths, 0) * np.maximum(heights, 0)).sum())

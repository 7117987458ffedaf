"""Points in tiles: first a sample of all, then areas of the map with about as many points each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mvgrl.explorer.contents import MOST_DRAWN, Contents, pack_column
from mvgrl.explorer.packing import Packer

OVERVIEW = 50_000  # points of the first tile
AREA = 20_000  # points of each other tile, at most


class Tile(NamedTuple):
    """Rows of points, and the area that they are in: left, right, bottom, top."""

    rows: np.ndarray
    box: tuple[float, float, float, float]


def tiles_of(points: np.ndarray, *, overview: int = OVERVIEW, area: int = AREA) -> list[Tile]:
    """Split points, n×2, into tiles; every point is in one.

    >>> found = tiles_of(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]), overview=2, area=1)
    >>> [len(tile.rows) for tile in found], sorted(np.concatenate([tile.rows for tile in found]).tolist())
    ([2, 1, 1], [0, 1, 2, 3])
    """
    order = np.random.default_rng(0).permutation(len(points))
    found = [_tile(points, np.sort(order[:overview]))]
    waiting = [np.sort(order[overview:])] if len(points) > overview else []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= area:
            found.append(_tile(points, rows))
            continue
        side = int(np.argmax(np.ptp(points[rows], axis=0)))  # halve the longer side
        split = np.argsort(points[rows, side], kind="stable")
        waiting += [np.sort(rows[split[len(rows) // 2 :]]), np.sort(rows[split[: len(rows) // 2]])]
    return found


def _tile(points: np.ndarray, rows: np.ndarray) -> Tile:
    (left, low), (right, high) = points[rows].min(axis=0), points[rows].max(axis=0)
    return Tile(rows, (float(left), float(right), float(low), float(high)))


def pack_head(contents: Contents, tiles: list[Tile]) -> bytes:
    """Return what the page needs before the first tile."""
    packer = Packer()
    columns = [_described(packer, column) for column in contents.columns]
    header: dict[str, Any] = contents.header | {
        "maps": [{"name": one.name} for one in contents.maps],
        "columns": columns,
        "tiles": [tile.box for tile in tiles],
        "numbered": contents.numbered,
        "edges": contents.edges is not None,
        "graphs": None if contents.graphs is None else {"most": MOST_DRAWN},
    }
    return packer.packed(header)


def _described(packer: Packer, column: Any) -> dict[str, Any]:
    if column.kind == "text":
        return {"name": column.name, "kind": "text"}
    return pack_column(packer, column, slice(0, 0))


def pack_tile(contents: Contents, tile: Tile) -> bytes:
    """Return the rows, coordinates and columns of a tile."""
    packer = Packer()
    packer.add(tile.rows.astype(np.uint32))
    for one in contents.maps:
        for axis in (0, 1):
            packer.add(one.points[tile.rows, axis].astype(np.float32))
    for column in contents.columns:
        if column.kind != "text":
            pack_column(packer, column, tile.rows)
    return packer.packed({})

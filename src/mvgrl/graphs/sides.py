"""The sides of the nodes of a bipartite graph, from their table or from the edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from mvgrl.errors import shown
from mvgrl.tables.columns import Place, to_ids, to_numpy


def find_sides(
    nodes: Any, ids: Any, node_codes: np.ndarray, end_codes: list[np.ndarray], ends: tuple[str, str], place: Place
) -> np.ndarray:
    """Return 0 for each node of the first column of the edges, and 1 for each of the second.

    The column ``side`` of the nodes says so, with the names of the two columns. Without it, a node is on the side where
    the edges have its id, which must be one only.
    """
    add = f"add a column 'side' with {ends[0]!r} or {ends[1]!r} to {place.name}"
    if "side" in nodes.column_names:
        given = to_numpy(to_ids([(place, "side", nodes["side"])])[0]).astype(str)
        plain = np.char.lower(np.char.strip(given))
        matches = np.stack([plain == end.strip().lower() for end in ends])
        unknown = np.flatnonzero(~matches.any(axis=0))
        if len(unknown):
            problem = f"the side is {shown(str(given[unknown[0]]))}"
            raise place.error(
                unknown[0], f"{problem}; give the name of a column of the edges, {ends[0]!r} or {ends[1]!r}"
            )
        return np.asarray(matches[1], dtype=np.int64)
    on = np.stack([np.isin(node_codes, codes) for codes in end_codes])
    for wrong, where in ((on.all(axis=0), "on both sides of the edges"), (~on.any(axis=0), "in no edge")):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise place.error(row, f"the id {shown(ids[row].as_py())} is {where}, so its side is unknown; {add}")
    return np.asarray(on[1], dtype=np.int64)

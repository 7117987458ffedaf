"""What changes when all systems of the paper's tables are run alike, and where methods that learn nothing win."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mvgrl.evaluation.scores import Score
from mvgrl.experiments.catalogue import EXPERIMENTS, PUBLISHED
from mvgrl.experiments.summary import Row
from mvgrl.reports.comparison import number
from mvgrl.reports.document import NONE, Cell, Part, Section, Table

ARENA = tuple(name for name, one in EXPERIMENTS.items() if one.systems)
OURS = "MVGRL"
_ERRORS = 2.0  # standard errors of a difference, above which it counts


def arena_sections(rows: Mapping[str, Sequence[Row]]) -> list[Section]:
    """Return the two comparisons, each a table with a line per dataset and score that has runs."""
    groups: dict[tuple[str, str, Score], dict[str, Row]] = {}
    for name in ARENA:
        for row in rows.get(name, ()):
            if row.mean is not None:
                groups.setdefault((name, row.dataset, row.score), {})[row.id] = row
    parts = [
        ("MVGRL and the other systems, in the paper and here", _places(groups)),
        ("Where nothing is learned", _free(groups)),
    ]
    return [Section(title, tuple(some), level=3) for title, some in parts if some]


def coverage(rows: Mapping[str, Sequence[Row]]) -> dict[str, tuple[int, int]]:
    """Return, per table, how many of the paper's numbers have a run of ours next to them, and how many there are.

    A cell whose runs failed counts: its reason is in the table.
    """
    found = {}
    for name in ARENA:
        cells = {
            (row, score, dataset)
            for row, scores in PUBLISHED.get(name, {}).items()
            for score, datasets in scores.items()
            for dataset in datasets
        }
        there = {(row.id, row.score.name, row.dataset) for row in rows.get(name, ()) if row.runs or row.failed}
        found[name] = (len(cells & there), len(cells))
    return found


def better(a: Row, b: Row) -> int:
    """Return 1 if a is better than b, −1 if it is worse, 0 if they differ by less than two standard errors.

    >>> one = EXPERIMENTS["arena-nodes"]
    >>> score = one.scores_for("cora")[0]
    >>> rows = [Row(one, "cora", one.variants[0], score, mean, 0.5, 25) for mean in (80.0, 80.2, 81.0)]
    >>> [better(rows[0], other) for other in rows]
    [0, 0, -1]
    """
    assert a.mean is not None
    assert b.mean is not None
    error = math.hypot(*((row.std or 0.0) / math.sqrt(max(row.runs, 1)) for row in (a, b)))
    difference = a.mean - b.mean
    return 0 if abs(difference) <= _ERRORS * error else int(math.copysign(1, difference))


def _places(groups: Mapping[tuple[str, str, Score], Mapping[str, Row]]) -> list[Part]:
    """Return, per dataset, the systems that the paper prints below MVGRL, and which of them are below it here."""
    lines = []
    for (_, dataset, score), systems in groups.items():
        ours = systems.get(OURS)
        if ours is None or ours.paper is None:
            continue
        below = [row for row in systems.values() if row.paper is not None and row.paper < ours.paper]
        if not below:
            continue
        found: dict[int, list[str]] = {1: [], 0: [], -1: []}
        for row in below:
            found[better(ours, row)].append(row.id)
        counts = (str(len(below)), str(len(found[1])))
        names = (", ".join(found[0]) or NONE, ", ".join(found[-1]) or NONE)
        lines.append(tuple(map(Cell, (dataset, score.label, *counts, *names))))
    if not lines:
        return []
    columns = ("dataset", "metric", "printed below MVGRL", "below it here", "equal", "above it")
    caption = "Equal: the means differ by less than two standard errors."
    return [Table(caption, columns, tuple(lines), words=2)]


def _free(groups: Mapping[tuple[str, str, Score], Mapping[str, Row]]) -> list[Part]:
    """Return, per dataset, the best method that learns nothing, and the systems that are not better than it."""
    lines = []
    for (_, dataset, score), systems in groups.items():
        free = [row for row in systems.values() if row.variant.free]
        learned = [row for row in systems.values() if not row.variant.free]
        if not free or not learned:
            continue
        best = max(free, key=lambda row: row.mean or 0.0)
        behind = [row.id for row in learned if better(row, best) <= 0]
        text = ", ".join(behind) if behind else NONE
        first = (dataset, score.label, f"{best.id}, {number(best.mean, score, best.std)}")
        lines.append(tuple(map(Cell, (*first, f"{len(behind)} of {len(learned)}", text))))
    if not lines:
        return []
    columns = ("dataset", "metric", "best without learning", "systems that are not better", "which")
    return [Table("", columns, tuple(lines), words=3)]

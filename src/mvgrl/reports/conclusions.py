"""The paper's conclusions, read from claims.toml: whether each holds here, by how much, and over how many runs."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.catalogue import published as printed_in_paper
from mvgrl.experiments.experiment import Experiment, task_of
from mvgrl.experiments.summary import Row
from mvgrl.reports.comparison import none_yet, number, signed, verdict
from mvgrl.reports.document import NONE, Cell, Part, Section, Table

HOLDS, SAME, FAILS = "holds", "no difference", "does not hold"
NOT_JUDGED, MISSING, FAILED = "not judged", "not run", "could not be run"
_VERDICTS = {"above": HOLDS, "within": SAME, "below": FAILS}
_KINDS = {HOLDS: "above", SAME: "within", FAILS: "below", FAILED: "failed"}  # how a cell is coloured


@dataclass(frozen=True)
class Claim:
    """Rows of an experiment that the paper says are better than others."""

    text: str
    experiment: str
    favoured: tuple[str, ...]
    others: tuple[str, ...]
    task: str = ""  # "node" or "graph" if it is only about that task
    remark: str = ""

    @property
    def about(self) -> Experiment:
        """The experiment that the claim is about."""
        return EXPERIMENTS[self.experiment]

    @property
    def datasets(self) -> list[str]:
        """The datasets of the experiment that have rows on both sides."""
        return [name for name in self.about.datasets if self.task in ("", task_of(name)) and all(self.sides(name))]

    def sides(self, dataset: str) -> tuple[list[str], list[str]]:
        """Return the favoured rows and the others that exist for a dataset."""
        rows = [variant.id for variant in self.about.variants_for(dataset)]
        return [row for row in self.favoured if row in rows], [row for row in self.others if row in rows]


def _claim(favoured: list[str], others: list[str], **values: str) -> Claim:
    return Claim(favoured=tuple(favoured), others=tuple(others), **values)


_CONTENT = tomllib.loads((files(__package__) / "claims.toml").read_text(encoding="utf-8"))
READING: str = _CONTENT["reading"]  # explains the verdicts
CONCLUSIONS = {part["title"]: [_claim(**claim) for claim in part["claims"]] for part in _CONTENT["conclusions"]}


@dataclass(frozen=True)
class Finding:
    """A claim on one dataset: the best row of each side, and the verdict on their difference."""

    dataset: str
    verdict: str
    favoured: Row | None
    other: Row | None
    runs: int = 0  # of all rows that were compared
    missing: tuple[tuple[str, str], ...] = ()  # rows without a number, and why; "" if not run

    @property
    def points(self) -> float | None:
        """By how many points the favoured row is ahead."""
        return None if self.favoured is None or self.other is None else _value(self.favoured) - _value(self.other)

    @property
    def spread(self) -> float | None:
        """The joint spread of both rows."""
        if self.favoured is None or self.other is None or self.verdict == NOT_JUDGED:
            return None
        return math.hypot(self.favoured.std or 0.0, self.other.std or 0.0)


def findings(claim: Claim, rows: Sequence[Row]) -> list[Finding]:
    """Return a claim's verdict on each of its datasets, from the rows of its experiment."""
    return [_finding(claim, name, [row for row in rows if row.dataset == name]) for name in claim.datasets]


def published(claim: Claim) -> list[Finding]:
    """Return the verdicts for the paper's own numbers, where it reports them."""
    rows = []
    for dataset in claim.datasets:
        (score,) = claim.about.scores_for(dataset)
        for variant in claim.about.variants_for(dataset):
            mean, std = printed_in_paper(claim.experiment, variant.id, score.name, dataset)
            if mean is not None:
                rows.append(Row(claim.about, dataset, variant, score, mean, std))
    return [one for one in findings(claim, rows) if one.points is not None]


def _finding(claim: Claim, dataset: str, rows: Sequence[Row]) -> Finding:
    there = {row.id: row for row in rows}
    sides = claim.sides(dataset)
    scored = [[there[name] for name in side if name in there and not there[name].failed] for side in sides]
    first, second = (max(side, key=_value, default=None) for side in scored)
    missing = tuple(
        (name, there[name].failed or "" if name in there else "")
        for name in (*sides[0], *sides[1])
        if name not in there or there[name].failed
    )
    runs = sum(row.runs for side in scored for row in side)
    if first is None or second is None:
        failed = any(all(name in there and there[name].failed for name in side) for side in sides)
        return Finding(dataset, FAILED if failed else MISSING, first, second, runs, missing)
    _, kind = verdict(_value(first), first.std, _value(second), second.std, first.score)
    return Finding(dataset, _VERDICTS[kind] if kind else NOT_JUDGED, first, second, runs, missing)


def _value(row: Row) -> float:
    assert row.mean is not None  # failed rows are excluded
    return row.mean


def tally(found: Sequence[Finding]) -> str:
    """Return how often each verdict was reached.

    >>> tally([Finding("cora", HOLDS, None, None), Finding("pubmed", SAME, None, None)])
    'holds on 1 of 2 datasets, no difference on 1'
    """
    counts = Counter(one.verdict for one in found)
    if counts[MISSING] == len(found):
        return "nothing to compare yet" if any(one.runs for one in found) else "no runs yet"
    others = (f", {kind} on {counts[kind]}" for kind in (SAME, FAILS, NOT_JUDGED, FAILED, MISSING) if counts[kind])
    return f"holds on {counts[HOLDS]} of {len(found)} datasets{''.join(others)}"


def summary(found: Sequence[Finding]) -> str:
    """Summarise a claim on one line: where it holds, by how many points on average, and over how many runs."""
    runs = _runs(found)
    compared = f"mean difference {_mean(found)} points over {runs:,} runs" if runs else ""
    return "; ".join(filter(None, (tally(found), compared, _incomplete(found))))


def _mean(found: Sequence[Finding]) -> str:
    points = [one.points for one in found if one.points is not None]
    return signed(sum(points) / len(points)) if points else NONE


def _runs(found: Sequence[Finding]) -> int:
    return sum(one.runs for one in found if one.points is not None)


def _incomplete(found: Sequence[Finding]) -> str:
    """Return on how many datasets rows are missing from the comparison."""
    some = sum(1 for one in found if one.points is not None and one.missing)
    return f"rows are missing on {some}" if some else ""


def conclusion_sections(tables: Mapping[str, Sequence[Row]]) -> list[Section]:
    """Return all conclusions in one table, then each by dataset, from the rows of each experiment."""
    lines, sections = [], []
    for title, claims in CONCLUSIONS.items():
        parts: list[Part] = []
        for claim in claims:
            found, printed = findings(claim, tables.get(claim.experiment, ())), published(claim)
            lines.append((Cell(title), *_line(claim, found, printed)))
            if any(one.runs or one.verdict == FAILED for one in found):
                parts += _by_dataset(claim, found, printed)
        if parts:
            sections.append(Section(title, tuple(parts), level=3))
    heads = ("topic", "the paper's claim", "here", "in the paper's tables")
    columns = (*heads, "mean difference here", "mean difference in the paper", "runs")
    caption = "What the paper concludes from its ablations, and whether it holds here; differences in points."
    every = dict.fromkeys(claim.experiment for claims in CONCLUSIONS.values() for claim in claims)
    unrun = [name for name in every if not tables.get(name)]
    words = [none_yet(*unrun)] if unrun else []
    return [
        Section("The paper's conclusions", (READING, Table(caption, columns, tuple(lines), words=4), *words)),
        *sections,
    ]


def _line(claim: Claim, found: Sequence[Finding], printed: Sequence[Finding]) -> tuple[Cell, ...]:
    runs = _runs(found)
    return (
        Cell(claim.text, (claim.remark,) if claim.remark else ()),
        Cell(tally(found), tuple(filter(None, [_incomplete(found)]))),
        Cell(tally(printed) if printed else "no numbers"),
        *(Cell(_mean(found)), Cell(_mean(printed)), Cell(f"{runs:,}" if runs else NONE)),
    )


def _by_dataset(claim: Claim, found: Sequence[Finding], printed: Sequence[Finding]) -> list[Part]:
    theirs = {one.dataset: one for one in printed}
    lines = tuple(
        (
            *(Cell(one.dataset), _side(one.favoured, claim.favoured), _side(one.other, claim.others), _difference(one)),
            Cell(NONE if one.spread is None else f"{one.spread:.1f}"),
            _difference(theirs[one.dataset]) if one.dataset in theirs else Cell(NONE),
        )
        for one in found
    )
    sides = (claim.favoured, claim.others)
    heads = (rows[0] if len(rows) == 1 else f"the best of {', '.join(rows)}" for rows in sides)
    columns = ("dataset", *heads, "difference", "joint spread", "difference in the paper")
    remark = f" ({claim.remark})" if claim.remark else ""
    return [Table(f"Claim: {claim.text}{remark}. Here: {summary(found)}.", columns, lines), *_missing_rows(found)]


def _side(row: Row | None, rows: Sequence[str]) -> Cell:
    """Return the number of a side's best row, and which row it is if there are several."""
    if row is None:
        return Cell(NONE)
    runs = "1 run" if row.runs == 1 else f"{row.runs} runs"
    note = f"{row.id}, {runs}" if len(rows) > 1 else runs
    return Cell(number(row.mean, row.score, row.std), (note,))


def _difference(one: Finding) -> Cell:
    text = NONE if one.points is None else signed(one.points)
    return Cell(text, (one.verdict,), _KINDS.get(one.verdict, ""))


def _missing_rows(found: Sequence[Finding]) -> list[str]:
    """Return which rows have no number on datasets where others have one, and why."""
    where: dict[tuple[str, str], list[str]] = {}
    for one in found:
        for row, why in one.missing:
            if why or one.runs:  # where nothing was run, the verdict says so
                where.setdefault((row, why), []).append(one.dataset)
    rows: dict[tuple[str, str], list[str]] = {}
    for (row, why), names in where.items():
        rows.setdefault((", ".join(names), why), []).append(row)
    return [
        f"{', '.join(some)} {FAILED if why else MISSING} on {names}{f': {why}' if why else ''}."
        for (names, why), some in rows.items()
    ]

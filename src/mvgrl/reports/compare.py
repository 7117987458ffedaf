"""The result of a comparison for the terminal, as Markdown, and as a web page with accuracy against time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mvgrl.evaluation.checks import is_known
from mvgrl.evaluation.paired import LEAST, LEVEL
from mvgrl.evaluation.scores import Score
from mvgrl.experiments.compare import Number, Row
from mvgrl.experiments.contest import Contest
from mvgrl.reports.document import NONE, Cell, Document, Figure, Part, Section, Table, as_markdown
from mvgrl.reports.scatter import Point, scatter_chart
from mvgrl.reports.terminal import aligned
from mvgrl.reports.web_page import as_html
from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.paths import check_output_file

TYPES = (".html", ".md")
_BEST, _TIED = "*", "≈"
_BOLD, _PLAIN = "\033[1m", "\033[0m"


def as_text(contest: Contest, rows: Sequence[Row], *, bold: bool = False) -> str:
    """Return a line per method, the best score marked and, on a terminal, bold; and what the marks mean."""
    lines = []
    for row in rows:
        cells = [Cell(f"{_text(row, score)} {_mark(row.numbers.get(score.name))}") for score in contest.scores]
        lines.append((Cell(row.contender.label), *cells, *_cost(row)))
    first, *texts = aligned(Table("", _columns(contest), tuple(lines))).split("\n")
    if bold:
        texts = [_with_bold(text, row, contest.scores) for text, row in zip(texts, rows, strict=True)]
    return "\n".join([first, *texts, "", f"{_BEST} highest, {_legend(contest)}", *_failures(rows)])


def write_page(path: str | os.PathLike[str], contest: Contest, rows: Sequence[Row]) -> None:
    """Write the comparison as one .html file that loads nothing else, or as .md without the figure."""
    path = check_page(path)
    drawn = path.suffix.lower() == ".html"
    page = document(contest, rows, drawn=drawn)
    text = as_html(page) if drawn else as_markdown(page)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def check_page(path: str | os.PathLike[str]) -> Path:
    """Check that a page can be written, before anything is run."""
    return check_output_file(path, TYPES, "compare.html")


def document(contest: Contest, rows: Sequence[Row], *, drawn: bool = True) -> Document:
    """Return the comparison as a document, with the plot if figures are ``drawn``."""
    parts: list[Part] = [_verdict(contest, rows), table(contest, rows), *_failures(rows)]
    sections = [Section("Result", tuple(parts))]
    if drawn and (figure := plot(contest, rows)):
        sections.append(Section(f"{_titled(contest.scores[0])} against time", (figure,)))
    sections.append(Section("How it was measured", (_about(contest), protocol_text(contest), _cost_text(contest))))
    sections.append(Section("Methods", (_methods(contest),)))
    return Document(f"Methods compared on {contest.dataset.name}", tuple(sections))


def table(contest: Contest, rows: Sequence[Row]) -> Table:
    """Return the table of a document; the best score is bold, and notes name those tied with it."""
    lines = []
    for row in rows:
        cells = [_cell(row, score) for score in contest.scores]
        lines.append((Cell(row.contender.label), *cells, *_cost(row)))
    caption = f"Mean ± standard deviation. Best: highest mean; {_legend(contest)}."
    return Table(caption, _columns(contest), tuple(lines))


def plot(contest: Contest, rows: Sequence[Row]) -> Figure | None:
    """Return the first score against the seconds of a training run; None if every method failed."""
    score = contest.scores[0]
    points = [
        Point(row.contender.label, max(row.seconds, 1e-3), number.mean, number.std or 0.0)
        for row in rows
        if row.seconds is not None and (number := row.numbers.get(score.name)) is not None
    ]
    if not points:
        return None
    caption = f"{_titled(score)} against the seconds of one training run; bars show one standard deviation."
    about = f"{caption} Methods: {', '.join(one.name for one in points)}."
    return Figure(caption, scatter_chart(points, across="seconds", up=score.axis, about=about))


def protocol_text(contest: Contest) -> str:
    """Return in words how methods are scored."""
    classifier = "a logistic regression that is trained to convergence, with its strength chosen on the val nodes"
    trainings = (
        "" if contest.seeds == 1 else f", with {contest.seeds} training runs of each randomised method on every split"
    )
    if contest.kind == "random":
        tuned = " Nodes whose labels were used to choose our default settings are not scored." * (
            contest.protocol == "random-10-10-80"
        )
        return (
            f"{contest.splits} random splits into 10 % train, 10 % val and 80 % test nodes, stratified{trainings}. "
            f"Vectors are scored by {classifier}; methods that predict classes are trained on every split.{tuned}"
        )
    if contest.kind == "given":
        return (
            f"{contest.splits} given splits{trainings}. Vectors are scored by {classifier}; methods that predict "
            "classes are trained on every split."
        )
    if contest.kind == "public":
        which = "given" if contest.given else "public"
        return f"The {which} split, {contest.seeds} training runs of each randomised method. Scored by {classifier}."
    if contest.kind == "folds":
        return (
            f"{contest.splits} runs of ten folds, each with its own training. Vectors are scored by a linear SVM whose "
            "C is chosen by inner folds of each training part."
        )
    return (
        f"There are no labels, so methods predict hidden edges: {contest.splits} random splits with 10 % of the edges "
        "for testing and 10 % of the rest for validation; every method is trained without these. A logistic regression "
        "on the products of two vectors ranks the test edges among as many pairs without an edge, as in mvgrl links. "
        "Stability is the mean adjusted Rand index between the K-Means clusters of vectors of different splits."
    )


def _titled(score: Score) -> str:
    return score.title[0].upper() + score.title[1:]


def _legend(contest: Contest) -> str:
    over = {"public": "training runs", "folds": "runs"}.get(contest.kind, "splits")
    corrected = "" if contest.parts is None else ", corrected for their overlap (Nadeau and Bengio)"
    count = contest.seeds if contest.kind == "public" else contest.splits
    if count < LEAST:
        return f"without a test of differences, which needs at least {LEAST} {over}"
    return f"{_TIED} tied with it: p > {LEVEL} in a paired t-test over the {over}{corrected}"


def _columns(contest: Contest) -> tuple[str, ...]:
    return ("method", *(score.axis for score in contest.scores), "runs", "seconds", "peak MB")


def _cost(row: Row) -> tuple[Cell, ...]:
    seconds = NONE if row.seconds is None else f"{row.seconds:,.1f}" if row.seconds >= 0.1 else f"{row.seconds:.2f}"
    memory = NONE if row.memory is None else f"{row.memory:,.0f}"
    return Cell(str(row.runs) if row.runs else NONE), Cell(seconds), Cell(memory)


def _text(row: Row, score: Score) -> str:
    number = row.numbers.get(score.name)
    return ("failed" if row.failed else NONE) if number is None else score.text(number.mean, number.std)


def _mark(number: Number | None) -> str:
    return " " if number is None else _BEST if number.best else _TIED if number.tied else " "


def _with_bold(text: str, row: Row, scores: Sequence[Score]) -> str:
    for score in scores:
        number = row.numbers.get(score.name)
        if number is not None and number.best:
            shown = f"{_text(row, score)} {_BEST}"
            text = text.replace(shown, f"{_BOLD}{shown}{_PLAIN}", 1)
    return text


def _cell(row: Row, score: Score) -> Cell:
    number = row.numbers.get(score.name)
    if number is None:
        return Cell(_text(row, score), kind="failed" if row.failed else "")
    notes = ("best",) if number.best else (f"{_TIED} tied, p = {number.p:.2f}",) if number.tied else ()
    return Cell(score.text(number.mean, number.std), notes, "best" if number.best else "")


def _failures(rows: Sequence[Row]) -> list[str]:
    return [f"{row.contender.label}: {row.failed}" for row in rows if row.failed]


def _verdict(contest: Contest, rows: Sequence[Row]) -> str:
    score = contest.scores[0]
    best = next(row for row in rows if row.numbers)
    number = best.numbers[score.name]
    tied = [row.contender.label for row in rows if row.numbers and row.numbers[score.name].tied]
    others = f" The test cannot tell {', '.join(tied)} from it." if tied else ""
    return f"{best.contender.label} has the highest {score.title}, {score.text(number.mean, number.std)}.{others}"


def _about(contest: Contest) -> str:
    dataset = contest.dataset
    width = 0 if dataset.graph.features is None else dataset.graph.features.shape[1]
    features = f"{width:,} features" if width else "no features"
    text = f"{dataset.name}: {dataset.graph.size_text}, {features}"
    if not dataset.classes:
        return f"{text}, no labels."
    known = int(is_known(dataset.labels).sum())
    return f"{text}, {len(dataset.classes)} classes, {known:,} of {len(dataset.target):,} {dataset.task}s labelled."


def _cost_text(contest: Contest) -> str:
    memory = "of the GPU" if contest.device != "cpu" else "resident, beyond the process that has read the graph"
    return (
        "Seconds are those of one training run, or of computing the vectors, without scoring them. Every method runs "
        f"in its own process; its peak memory is {memory}. Nothing is tuned on this graph: hyper-parameters are "
        "those of each method's own paper or code."
    )


def _methods(contest: Contest) -> Table:
    lines = []
    for one in contest.contenders:
        values = "; ".join(f"{name}={value}" for name, value in one.method.parameters.items())
        if one.method.name == "mvgrl":
            values = f"settings chosen for the graph; vectors of the preset {one.output.preset}"
        lines.append(tuple(map(Cell, (one.label, one.id, values or NONE, one.method.source or NONE))))
    return Table(
        "Hyper-parameters, and where they come from.", ("method", "name", "parameters", "source"), tuple(lines), 4
    )

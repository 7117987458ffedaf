"""Whether a conclusion of the paper holds follows only from the numbers in the ledger."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.summary import Row, summarise
from mvgrl.reports.conclusions import (
    CONCLUSIONS,
    Claim,
    conclusion_sections,
    findings,
    published,
    summary,
    tally,
)
from mvgrl.reports.document import parts_as_markdown

CLAIMS = {claim.text: claim for claims in CONCLUSIONS.values() for claim in claims}
READOUTS = CLAIMS["Sum or mean is better than DiffPool with one or two layers"]
PAIR = CLAIMS["Adjacency with ppr is the best pair"]


class Book:
    """A ledger filled by hand, with two runs per row for a given mean and deviation."""

    def __init__(self, path: Path) -> None:
        self.ledger = Ledger(path)

    def add(self, name: str, dataset: str, row: str, *scores: float, failed: str = "") -> None:
        recipe = EXPERIMENTS[name].recipes(dataset)[row].id
        found = [{"accuracy": score, "nested": score} for score in scores] or [{}]
        self.ledger.add(
            Run(name, dataset, "best", row, seed, score, 9, 0.1, "cpu", recipe, {}, failed)
            for seed, score in enumerate(found)
        )

    def tables(self) -> dict[str, list[Row]]:
        return {name: summarise(one, self.ledger) for name, one in EXPERIMENTS.items()}

    def findings(self, claim: Claim) -> dict:
        return {one.dataset: one for one in findings(claim, summarise(claim.about, self.ledger))}


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "runs.jsonl")


@pytest.fixture
def readouts(book: Book) -> Book:
    """Each verdict once, and one comparison with a missing row; no runs on REDDIT-BINARY."""
    add = partial(book.add, "ablation-readouts")
    add("citeseer", "sum", 69.9, 70.1)
    add("citeseer", "mean", 72.7, 73.3)  # the better of the favoured: 73.0 ± 0.3
    add("citeseer", "diffpool-1", 70.6, 71.4)  # the better of the others: 71.0 ± 0.4
    add("citeseer", "diffpool-2", 68.9, 69.1)
    add("pubmed", "sum", 79.7, 80.3)
    add("pubmed", "mean", 60.0, 60.0)
    add("pubmed", "diffpool-1", 80.0, 80.8)  # ahead by 0.4, less than √(0.3² + 0.4²)
    add("pubmed", "diffpool-2", 60.0, 60.0)
    for row, mean in (("sum", 85.0), ("mean", 80.0), ("diffpool-1", 86.0), ("diffpool-2", 80.0)):
        add("mutag", row, mean - 0.3, mean + 0.3)
    add("cora-linqs", "sum", 86.0, 86.2)
    add("ptc-mr", "sum", 60.0, 61.0)
    add("ptc-mr", "mean", 60.0, 61.0)
    for row in ("diffpool-1", "diffpool-2"):
        add("ptc-mr", row, failed="out of memory")
    for row, score in (("sum", 74.0), ("mean", 73.0), ("diffpool-1", 72.0), ("diffpool-2", 71.0)):
        add("imdb-binary", row, score)
    for row in ("sum", "mean", "diffpool-1"):
        add("imdb-multi", row, 51.0, 51.0)
    add("imdb-multi", "diffpool-2", failed="no room")
    return book


def test_each_verdict_is_reached(readouts: Book) -> None:
    found = readouts.findings(READOUTS)
    assert {name: one.verdict for name, one in found.items()} == {
        "cora-linqs": "not run",
        "citeseer": "holds",
        "pubmed": "no difference",
        "mutag": "does not hold",
        "ptc-mr": "could not be run",
        "imdb-binary": "not judged",
        "imdb-multi": "no difference",
        "reddit-binary": "not run",
    }
    better = found["citeseer"]
    assert (better.favoured.id, better.other.id) == ("mean", "diffpool-1")
    assert better.points == pytest.approx(2.0)
    assert better.spread == pytest.approx(0.5)
    assert found["mutag"].points == pytest.approx(-1.0)
    assert found["imdb-binary"].points == pytest.approx(2.0)  # shown, but not judged
    assert found["imdb-binary"].spread is None
    assert found["cora-linqs"].points is None
    assert found["ptc-mr"].missing == (("diffpool-1", "out of memory"), ("diffpool-2", "out of memory"))
    assert found["imdb-multi"].missing == (("diffpool-2", "no room"),)


def test_the_summary_counts_verdicts_points_and_runs(readouts: Book) -> None:
    found = list(readouts.findings(READOUTS).values())
    assert tally(found) == (
        "holds on 1 of 8 datasets, no difference on 2, does not hold on 1, not judged on 1, could not be run on 1, "
        "not run on 2"
    )
    points = (2.0 - 0.4 - 1.0 + 2.0 + 0.0) / 5  # of those that could be compared
    runs = 8 + 8 + 8 + 4 + 6
    assert (
        summary(found)
        == f"{tally(found)}; mean difference +{points:.1f} points over {runs} runs; rows are missing on 1"
    )


def test_a_claim_does_not_hold_if_the_other_side_is_better(book: Book) -> None:
    for row, mean in (("2", 70.0), ("3", 73.0)):
        book.add("ablation-view-count", "citeseer", row, mean - 0.1, mean + 0.1)
    for row, mean in (("2", 81.0), ("3", 79.0)):
        book.add("ablation-view-count", "pubmed", row, mean - 0.1, mean + 0.1)
    found = book.findings(CLAIMS["A third view, heat, adds nothing to adjacency and ppr"])
    assert [(one.verdict, one.points) for one in found.values()][1:] == [
        ("does not hold", pytest.approx(-3.0)),
        ("holds", pytest.approx(2.0)),
    ]
    assert summary(list(found.values())) == (
        "holds on 1 of 3 datasets, does not hold on 1, not run on 1; mean difference −0.5 points over 8 runs"
    )


def test_failures_give_no_verdict_while_rows_of_that_side_are_unrun(book: Book) -> None:
    book.add("ablation-readouts", "mutag", "sum", 80.0, 81.0)
    book.add("ablation-readouts", "mutag", "diffpool-1", failed="no room")
    found = book.findings(READOUTS)["mutag"]
    assert found.verdict == "not run"
    assert found.missing == (("mean", ""), ("diffpool-1", "no room"), ("diffpool-2", ""))
    assert tally(list(book.findings(READOUTS).values())) == "nothing to compare yet"


def test_runs_of_another_recipe_or_of_more_seeds_do_not_count(book: Book) -> None:
    book.add("ablation-view-count", "citeseer", "2", 73.0, 73.2)
    book.add("ablation-view-count", "citeseer", "3", *[71.0] * 5, *[99.0] * 5)
    recipe = EXPERIMENTS["ablation-view-count"].recipes("citeseer")["2"].id
    book.ledger.add([Run("ablation-view-count", "citeseer", "best", "3", 0, {"accuracy": 99.0}, 9, 0.1, "cpu", recipe)])
    found = book.findings(CLAIMS["A third view, heat, adds nothing to adjacency and ppr"])["citeseer"]
    assert (found.verdict, found.runs) == ("holds", 7)


def test_the_papers_numbers_are_compared_in_the_same_way() -> None:
    own = {one.dataset: (round(one.points, 1), one.verdict) for one in published(PAIR)}
    assert own["mutag"] == (2.0, "holds")  # 89.7 ± 1.1 against 87.7 ± 1.2 of ppr-heat: 2.0 > 1.63
    assert own["cora-linqs"] == (0.4, "no difference")  # 86.8 ± 0.5 against 86.4 ± 0.5 of adj-heat
    assert own["imdb-multi"] == (-0.1, "no difference")
    assert len(own) == 8
    assert not published(CLAIMS["Dropout, noise and L2 do harm"])
    graphs = published(CLAIMS["Local-global is better than graph against graph"])
    assert [one.dataset for one in graphs] == ["mutag", "ptc-mr", "imdb-binary", "imdb-multi", "reddit-binary"]


def test_every_claim_names_existing_rows() -> None:
    for claim in CLAIMS.values():
        rows = {variant.id for variant in claim.about.variants}
        assert claim.favoured
        assert claim.others
        assert {*claim.favoured, *claim.others} <= rows
        assert not set(claim.favoured) & set(claim.others)
        assert claim.datasets
    assert [len(claims) for claims in CONCLUSIONS.values()] == [4, 3, 1, 2, 4]
    assert CLAIMS["JSD is the best bound for graphs"].datasets[0] == "mutag"
    assert CLAIMS["NCE is the best bound for nodes"].datasets == ["cora-linqs", "citeseer", "pubmed"]


def test_the_sections_show_both_sides_and_missing_rows(readouts: Book) -> None:
    first, *others = conclusion_sections(readouts.tables())
    assert first.title == "The paper's conclusions"
    assert [(section.title, section.level) for section in others] == [("3. The readout", 3)]
    page = parts_as_markdown([first, *others])
    line = next(line for line in page.splitlines() if line.startswith("| 3. The readout "))
    assert (
        "not run on 2 (rows are missing on 1) | holds on 5 of 8 datasets, no difference on 3 | +0.5 | +2.4 | 34 |"
        in line
    )
    both = "73.0 ± 0.3 (mean, 2 runs) | 71.0 ± 0.4 (diffpool-1, 2 runs)"
    assert f"\n| citeseer | {both} | +2.0 (holds) | 0.5 | +8.1 (holds) |\n" in page
    assert "\n| ptc-mr | 60.5 ± 0.5 (sum, 2 runs) | – | – (could not be run) | – | +1.4 (no difference) |\n" in page
    assert "\n| imdb-binary | 74.0 (sum, 1 run) | 72.0 (diffpool-1, 1 run) | +2.0 (not judged) | – |" in page
    assert "\nmean, diffpool-1, diffpool-2 not run on cora-linqs.\n" in page
    assert "\ndiffpool-1, diffpool-2 could not be run on ptc-mr: out of memory.\n" in page
    assert "\ndiffpool-2 could not be run on imdb-multi: no room." in page
    assert "reddit-binary." not in page
    assert "There are no runs yet of ablation-view-count, ablation-views, " in page


def test_without_runs_the_report_names_the_command(book: Book) -> None:
    (section,) = conclusion_sections(book.tables())
    _, claims, unrun = section.parts
    assert [row[2].text for row in claims.rows] == ["no runs yet"] * len(CLAIMS)
    assert {row[6].text for row in claims.rows} == {"–"}
    silent = {row[1].text for row in claims.rows if row[3].text == "no numbers"}
    assert silent == {text for text, claim in CLAIMS.items() if not published(claim)}
    assert len(silent) == 4
    assert unrun.endswith("; run mvgrl reproduce ablation-view-count.")

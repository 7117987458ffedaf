"""The report shows the ledger, says what it skips, and is readable on phones and desktops."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from mvgrl.errors import InputError
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Variant
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.recipes import load_recipe
from mvgrl.experiments.summary import Row
from mvgrl.reports.comparison import compared, grid, notes, sweep_figures
from mvgrl.reports.document import Cell, Document, Section, Table, as_markdown
from mvgrl.reports.figures import line_chart, ticks
from mvgrl.reports.report import Runs, departures, report, write_report

EMPTY = {"link", "meta", "path", "circle"}  # elements without content; the last two are self-closing
DEVICE = "GPU <img src=x onerror=alert(1)> | 2"
REASON = 'out of "memory" & <script>alert(1)</script> | 30 GiB'
SLIPS = EXPERIMENTS["node-slips"]
VERSIONS = {"mvgrl": "0.1.0", "torch": "2.13.0"}


def line(experiment, dataset, variant, seed, scores, recipe, *, setting="best", device="cpu", failed="", versions=None):
    return Run(experiment, dataset, setting, variant, seed, scores, 9, 0.1, device, recipe, versions or {}, failed)


def ablated(name, dataset, row, seed, scores, **more):
    return line(name, dataset, row, seed, scores, EXPERIMENTS[name].recipes(dataset)[row].id, **more)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Some of everything: two settings of one table, slips, ablations; failures, a foreign line, an old recipe."""
    path = tmp_path / "runs.jsonl"
    runs = []
    for setting, mean in (("released", 84.0), ("best", 86.5)):
        recipe = load_recipe("cora-linqs", setting).id
        for seed in range(2):  # a deviation of 0.3: a joint spread of 0.58 with the paper's 0.5
            score = {"accuracy": mean + 0.3 * (-1) ** seed}
            runs.append(
                line(
                    "node-classification", "cora-linqs", "trained", seed, score, recipe, setting=setting, device=DEVICE
                )
            )
    recipe = load_recipe("cora-linqs").id
    runs.append(line("node-classification", "cora-linqs", "untrained", 0, {"accuracy": 61.9}, recipe))
    runs.append(line("node-classification", "cora-linqs", "trained", 50, {"accuracy": 1.0}, recipe))  # an extra seed
    runs.append(line("node-classification", "cora-linqs", "trained", 0, {"accuracy": 1.0}, "of-old"))
    clusters = load_recipe("cora", table="node-clustering").id
    runs.append(line("node-clustering", "cora", "trained", 0, {"nmi": 0.600, "ari": 0.580}, clusters))
    for row, score in zip([variant.id for variant in SLIPS.variants[:2]], (80.0, 78.5), strict=True):
        runs.append(line(SLIPS.name, "cora", row, 0, {"accuracy": score}, SLIPS.recipes("cora")[row].id))
    runs += [ablated("ablation-bounds", "mutag", "JSD", seed, {"nested": 90.0}, versions=VERSIONS) for seed in range(2)]
    runs.append(ablated("ablation-bounds", "mutag", "DV", 0, {}, failed=REASON))
    for size in (16, 32, 64):
        runs.append(ablated("ablation-batch-size", "mutag", str(size), 0, {"nested": 88.0 + size / 64}))
    Ledger(path).add(runs)
    odd = {**json.loads(path.read_text().splitlines()[0]), "seed": 7}
    with path.open("a") as file:
        file.write('{"cut o\n[1, 2]\n\n')
        file.write(json.dumps({**odd, "scores": {"accuracy": "high"}}) + "\n")
        file.write(json.dumps({**odd, "device": {"name": "gpu"}}) + "\n")
        file.write(json.dumps({**odd, "seed": 0}) + "\n")  # a duplicate
    return path


def parsed(page: str) -> tuple[list[str], str]:
    """Return the elements of a page, which must be nested correctly, and its text without the style."""
    opened: list[str] = []
    seen: list[str] = []
    words: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            seen.append(tag)
            assert not any(name.startswith("on") for name, _ in attributes)
            if tag not in EMPTY:
                opened.append(tag)

        def handle_startendtag(self, tag, attributes):
            seen.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

        def handle_data(self, text):
            if "style" not in opened:
                words.append(text)

    reader = Reader()
    reader.feed(page)
    reader.close()
    assert opened == []
    return seen, " ".join(" ".join(words).split())


def tables_of(markdown: str) -> list[list[list[str]]]:
    """Return the tables of a page, as cells; an escaped bar is not a border."""
    blocks = (block.splitlines() for block in markdown.split("\n\n") if block.startswith("|"))
    return [[re.split(r"(?<!\\)\|", line)[1:-1] for line in block] for block in blocks]


def test_our_number_is_shown_with_the_difference_to_the_paper(ledger, tmp_path):
    write_report(tmp_path / "report.md", ledger)
    page = (tmp_path / "report.md").read_text()
    expected = "| 86.8 ± 0.5 | – | 84.0 ± 0.3 (−2.8, below) | 86.5 ± 0.3 (−0.3, within) | 61.9 | – | – / 2 / 2 |"
    assert f"\n| cora-linqs | accuracy {expected}\n" in page
    assert "\n| cora | NMI | 0.629 | – | – | 0.600 (−2.9) | – | – | – / – / 1 |\n" in page  # no deviation in the paper
    assert "\n| cora | ARI | 0.570 | – | – | 0.580 (+1.0) |" in page
    first, second = [variant.id for variant in SLIPS.variants[:2]]
    assert f"\n| {first} | 80.0 | 1 |\n| {second} | 78.5 (−1.5) | 1 |\n" in page
    bounds = "| JSD | 90.0 ± 0.0 (paper 89.7 ± 1.1; +0.3, within) | 2 |\n| DV | failed (paper 83.4 ± 1.9) | – |"
    assert f"\n{bounds}\n" in page


def test_conclusions_are_reported_with_and_without_runs(ledger, tmp_path):
    claim = "| 1. The views | Adjacency with ppr is the best pair |"
    write_report(tmp_path / "report.md", ledger)
    before = (tmp_path / "report.md").read_text()
    assert f"\n{claim} no runs yet | holds on 4 of 8 datasets, no difference on 4 | – | +1.3 | – |\n" in before
    assert "\n| mutag | 90.0 ± 0.0 (2 runs) | – | – (not run) | – | +6.3 (holds) |\n" in before
    assert "run mvgrl reproduce ablation-view-count" in before
    for row in (variant.id for variant in EXPERIMENTS["ablation-views"].variants):
        means = (85.0, 85.4) if row == "adj-ppr" else (86.0, 86.4)
        Ledger(ledger).add(
            ablated("ablation-views", "mutag", row, seed, {"nested": mean}) for seed, mean in enumerate(means)
        )
    write_report(tmp_path / "report.html", ledger)
    _, text = parsed((tmp_path / "report.html").read_text())
    expected = "holds on 0 of 8 datasets, does not hold on 1, not run on 7"
    assert f"Adjacency with ppr is the best pair. Here: {expected}; mean difference −1.0 points over 12 runs." in text


def test_missing_and_skipped_runs_are_reported(ledger, tmp_path):
    counts = write_report(tmp_path / "report.html", ledger)
    assert counts == {"runs": 14, "passed_over": 7}
    _, text = parsed((tmp_path / "report.html").read_text())
    assert "14 runs of 5 experiments" in text
    assert "5 lines that are not runs or are duplicates, and 2 runs of recipes no longer in use" in text
    assert "run mvgrl reproduce graph-classification." in text
    assert "There are no runs yet of ablation-modes, ablation-views, " in text
    assert "1.0 ± " not in text  # neither the old recipe's runs nor the extra seed's


def test_sections_are_in_order_and_end_with_the_settings_of_every_recipe(ledger):
    document, _ = report(Runs(ledger))
    titles = [section.title for section in document.sections]
    bounds, sizes = (EXPERIMENTS[name].title for name in ("ablation-bounds", "ablation-batch-size"))
    assert titles == [
        "Summary",
        "Node classification",
        "Node clustering",
        "Graph classification",
        SLIPS.title,
        "The paper's conclusions",
        "Other claims",  # the only one with runs
        "Ablations",
        bounds,
        sizes,
        "Sweeps beyond the paper",  # without runs
        "Default vectors",
        "Arena",
        "Failed runs",
        "Settings and machines",
    ]
    machines, table = document.sections[-1].parts
    assert [row[0].text for row in machines.rows] == [
        "node-classification",
        "node-clustering",
        "node-slips",
        "ablation-bounds",
        "ablation-batch-size",
    ]
    assert sum(int(row[-1].text) for row in machines.rows) == 14
    rows = {tuple(cell.text for cell in row) for row in table.rows}
    recipe = EXPERIMENTS["ablation-bounds"].recipes("mutag")["DV"]
    assert "bound=dv" in departures(recipe)
    assert (recipe.id, "best", "mutag", "ablation-bounds", departures(recipe), "cpu", "–") in rows
    same = EXPERIMENTS["ablation-bounds"].recipes("mutag")["JSD"].id
    assert {row[0] for row in rows if row[6] == "mvgrl 0.1.0, torch 2.13.0"} == {same}


def test_the_page_is_well_formed_and_loads_nothing(ledger, tmp_path):
    write_report(tmp_path / "report.html", ledger)
    page = (tmp_path / "report.html").read_text()
    seen, text = parsed(page)
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert not {"script", "img", "iframe", "object"} & set(seen)
    assert set(re.findall(r'(?:href|src)="([^#"]*)', page)) == {"", "data:,"}
    assert "url(" not in page
    assert "@import" not in page
    identities = re.findall(r' id="([^"]+)"', page)
    assert len(set(identities)) == len(identities)
    assert set(re.findall(r'(?:href="#|aria-labelledby=")([^"]+)"', page)) == set(identities)
    assert seen.count("svg") == page.count('role="img" aria-label="') == 1
    assert REASON in text
    assert DEVICE in text


def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_header(ledger, tmp_path):
    write_report(tmp_path / "report.md", ledger)
    page = (tmp_path / "report.md").read_text()
    tables = tables_of(page)
    assert len(tables) == 10
    for head, rule, *rows in tables:
        assert rows
        assert {len(row) for row in (rule, *rows)} == {len(head)}
    assert "<script>" not in page.replace("\\<", "")
    assert 'out of "memory" \\& \\<script\\>' in page


def test_the_same_ledger_gives_the_same_bytes(ledger, tmp_path):
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, ledger)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_control_characters_in_names_are_handled(ledger, tmp_path):
    recipe = load_recipe("citeseer").id
    odd = line("node-classification", "citeseer", "trained", 0, {"accuracy": 73.0}, recipe, device="a\ud800\x00\nb")
    Ledger(ledger).add([odd])
    write_report(tmp_path / "report.html", ledger)
    assert "<td" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "a b" in parsed((tmp_path / "report.html").read_text())[1]


def test_a_failed_run_adds_no_number_to_a_table(ledger, tmp_path):
    recipe = load_recipe("citeseer").id
    change = SLIPS.recipes("citeseer")
    first = next(iter(change))
    Ledger(ledger).add(
        [
            line("node-classification", "citeseer", "trained", 0, {}, recipe, failed="no room"),
            line(SLIPS.name, "citeseer", first, 3, {}, change[first].id, failed="no time"),
        ]
    )
    write_report(tmp_path / "report.md", ledger)
    page = (tmp_path / "report.md").read_text()
    assert "\n| node-classification | citeseer | trained | no room | 0 |\n" in page
    assert f"\n| node-slips | citeseer | {first} | no time | 3 |\n" in page
    assert "\n| citeseer | accuracy |" not in page


def row(experiment, dataset, variant, mean, **more):
    score = experiment.scores_for(dataset)[0]
    return Row(experiment, dataset, next(one for one in experiment.variants if one.id == variant), score, mean, **more)


def test_rows_keep_the_order_of_the_experiment_and_notes_appear_once():
    bounds = EXPERIMENTS["ablation-bounds"]
    common = dict(std=1.0, runs=3, note="halved")
    rows = [
        row(bounds, "mutag", "DV", 80.0, **common),
        row(bounds, "ptc-mr", "NCE", 80.0, **common),
        row(bounds, "ptc-mr", "DV", 80.0, **common),
    ]
    assert [[cell.text for cell in line] for line in grid(rows, compared).rows] == [
        ["NCE", "–", "80.0 ± 1.0", "3"],
        ["DV", "80.0 ± 1.0", "80.0 ± 1.0", "3"],
    ]
    assert notes(rows) == ["DV: halved.", "NCE (ptc-mr): halved."]


def test_a_sweep_is_drawn_over_its_values_in_order():
    variants = tuple(Variant(f"size {size}", value=size) for size in ("8", "16", "32", "64"))
    sweep = replace(EXPERIMENTS["sweep-hidden"], variants=variants)
    rows = [row(sweep, "mutag", f"size {size}", 80.0 + int(size), std=1.0) for size in ("8", "32", "16")]
    rows.append(row(sweep, "mutag", "size 64", None, failed="out of memory"))
    (figure,) = sweep_figures(sweep, rows)
    assert figure.caption == "Our accuracy (nested) over hidden size; error bars show one standard deviation."
    assert not sweep_figures(replace(sweep, axis=""), rows)
    places = re.findall(r'<text class="middle" x="([\d.]+)"[^>]*>(\d+)<', figure.svg)
    assert [name for _, name in places] == ["8", "16", "32"]
    points = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', figure.svg)]
    assert points == sorted(points)
    heights = [y for _, y in points]
    assert heights == sorted(heights, reverse=True)  # higher numbers are nearer to the top
    assert (heights[0] - heights[1]) / (heights[1] - heights[2]) == pytest.approx(8 / 16, abs=0.01)


def test_another_method_is_a_separate_line_in_the_sweep_over_labels():
    labels = EXPERIMENTS["sweep-labels"]
    rows = [row(labels, "mutag", one.id, 80.0, std=1.0) for one in labels.variants_for("mutag")]
    (figure,) = sweep_figures(labels, rows)
    assert "Lines: mutag; mutag, propagated." in figure.svg


def test_names_in_a_figure_are_escaped():
    chart = line_chart({"<b>": [(0, 1.0, 0.0)]}, ['"&'], across="<i>", up="<u>", about='"><script>')
    parsed(chart)
    assert not re.search("<(b|i|u|script)>", chart)


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (0.551, 0.552), (78.9, 84.2), (-3.0, 1000.0), (50.0, 100.0)])
def test_ticks_are_few_evenly_spaced_and_span_the_range(low, high):
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 6
    assert marks[0] <= low <= high <= marks[-1]
    steps = {round(b - a, 9) for a, b in pairwise(marks)}
    assert len(steps) == 1


@pytest.mark.parametrize("content", [None, "", "\n\n", "not a run\n"])
def test_a_ledger_without_runs_is_rejected_and_the_command_is_named(tmp_path, content):
    path = tmp_path / "runs.jsonl"
    if content is not None:
        path.write_text(content)
    message = r"runs\.jsonl.*; (create one|add some) with mvgrl reproduce node-classification$"
    with pytest.raises(InputError, match=message):
        write_report(tmp_path / "report.html", path)
    assert not (tmp_path / "report.html").exists()


def test_special_characters_are_escaped_in_markdown():
    table = Table("A *table*.", ("a_b", "_c_"), ((Cell("`x` | y"), Cell("[1](2)", ("<br>",))),))
    page = as_markdown(Document("# T", (Section("1", ("- no list",)), Section("2", (table,)))))
    assert page.startswith("# \\# T\n")
    assert "\n\\- no list\n" in page
    assert page.endswith("A \\*table\\*.\n\n| a_b | \\_c\\_ |\n|---|---:|\n| \\`x\\` \\| y | \\[1\\](2) (\\<br\\>) |\n")


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium to open the page with")
@pytest.mark.parametrize("width", [390, 1440])
def test_only_tables_scroll_horizontally_in_a_browser(ledger, tmp_path, width):
    runs = [
        ablated(name, dataset, row, 0, {"accuracy": 80.0, "nested": 80.0}, device="a long name of a device " * 4)
        for name in ("ablation-views", "ablation-encoders")
        for dataset in ("cora-linqs", "citeseer", "mutag", "ptc-mr", "imdb-binary", "imdb-multi")
        for row in EXPERIMENTS[name].recipes(dataset)
    ]
    runs.append(ablated("ablation-bounds", "ptc-mr", "NCE", 0, {}, failed="x" * 300))
    Ledger(ledger).add(runs)
    write_report(tmp_path / "report.html", ledger)
    # A window cannot be as narrow as a phone, but a frame can.
    page = (tmp_path / "report.html").read_text()
    probe = (
        "<script>parent.postMessage([document.documentElement.scrollWidth, innerWidth, document.images.length], '*')"
    )
    (tmp_path / "inner.html").write_text(page.replace("</body>", f"{probe}</script></body>"))
    (tmp_path / "outer.html").write_text(
        "<!DOCTYPE html><body><script>onmessage = e => { document.title = 'seen ' + e.data.join(' ') }</script>"
        f'<iframe src="inner.html" style="width: {width}px; height: 800px; border: 0"></iframe></body>'
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000"]
    place = [f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom", (tmp_path / "outer.html").as_uri()]
    done = subprocess.run([BROWSER, *flags, *place], capture_output=True, text=True, timeout=60, check=True)
    assert "CONSOLE" not in done.stderr
    seen = re.search(r"<title>seen (\d+) (\d+) 0</title>", done.stdout)
    assert seen, done.stdout[-500:]
    needed, there = map(int, seen.groups())
    assert there == width
    assert needed <= there

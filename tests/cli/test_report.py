"""``mvgrl report``: one file, in the format of its suffix."""

from __future__ import annotations

from pathlib import Path

import pytest

from mvgrl.experiments.ledger import Ledger, Run, published_runs
from mvgrl.experiments.recipes import load_recipe


@pytest.fixture
def ledger(folder):
    """Write two runs to the default ledger, and a line that is not a run."""
    recipe = load_recipe("cora").id
    ledger = Ledger("results/runs.jsonl")
    ledger.add(
        Run("node-clustering", "cora", "best", "trained", seed, {"nmi": 0.6, "ari": 0.5}, 9, 0.1, "cpu", recipe)
        for seed in range(2)
    )
    with ledger.path.open("a") as file:
        file.write("not a run\n")
    return ledger


def test_a_web_page_is_written(ledger, run):
    outcome = run("report -o report.html")
    assert outcome.out == ""
    assert "runs.jsonl, line 3 is not a run; skipped\n" in outcome.err
    assert outcome.err.endswith("wrote 2 runs to report.html; lines skipped: 1\n")
    page = Path("report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "0.600 ± 0.000" in page
    assert "The paper&#39;s conclusions" in page
    assert "no runs yet" in page


def test_markdown_is_written_and_described_as_json(ledger, run):
    outcome = run("report -o report.MD --json --quiet")
    assert outcome.err == ""
    assert outcome.json == {"runs": 2, "passed_over": 1, "ledger": "results/runs.jsonl", "output": "report.MD"}
    assert "| cora | NMI | 0.629 | – | – | 0.600 ± 0.000 (−2.9) |" in Path("report.MD").read_text()


def test_another_ledger_is_read_and_the_output_folder_is_created(ledger, run):
    ledger.path.rename("mine.jsonl")
    run("report --ledger mine.jsonl -o new/report.html -q")
    assert [path.name for path in Path("new").iterdir()] == ["report.html"]


def test_unwritable_paths_are_rejected(ledger, refused):
    refused("report -o report.pdf", "report.pdf: unsupported file type; use one of .html, .md")
    refused("report -o report", "report has no file extension; use one of .html, .md")
    refused("report -o results", "results is a folder; give a file in it, such as results/report.html")
    refused("report -o results/runs.jsonl/report.md", "report.md cannot be written")
    assert "--output" in refused("report")


def test_the_report_is_of_the_published_runs_where_there_are_none(run, folder):
    outcome = run("report -o report.html --json")
    assert outcome.json["ledger"] == str(published_runs())
    assert "there is no results/runs.jsonl here" in outcome.err
    assert outcome.json["runs"] > 1000


def test_a_missing_or_empty_ledger_is_rejected_and_the_command_is_named(refused):
    refused("report --ledger a.jsonl -o a.html", "there is no ledger a.jsonl", "mvgrl reproduce node-classification")
    Path("empty.jsonl").touch()
    refused("report --ledger empty.jsonl -o report.md", "empty.jsonl contains no runs", "mvgrl reproduce")
    refused("report --ledger . -o report.md", "cannot be read: Is a directory")


def test_help_shows_examples_and_flags(run):
    shown = run("report --help").out
    assert "mvgrl report -o report.html" in shown
    assert all(word in shown for word in ("--output", "-o", "--ledger", "results/runs.jsonl", ".html or .md"))

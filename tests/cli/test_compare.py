"""mvgrl compare: a table and a page, errors before anything runs, and nothing run twice."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mvgrl.experiments.contest_process import results_of


@pytest.fixture
def blocks(folder):
    """Two noisy blocks of 20 people, in a messy table of edges; a team of each but two."""
    rng = np.random.default_rng(0)
    team = np.arange(40) // 20
    rows = [f"p{i};p{j}" for i in range(40) for j in range(i) if rng.random() < (0.5 if team[i] == team[j] else 0.05)]
    Path("edges.csv").write_text("\n".join(["Source;Target", *rows, rows[0], "p3;p3"]) + "\n")
    known = ["" if i in (5, 25) else "red" if team[i] else "blue" for i in range(40)]
    Path("people.csv").write_text("\n".join(["id,age,team", *(f"p{i},{i % 7},{known[i]}" for i in range(40))]) + "\n")
    Path("teams.csv").write_text("\n".join(["id,team", *(f"p{i},{known[i]}" for i in range(40))]) + "\n")
    return "edges.csv --nodes people.csv"


def test_a_table_and_a_page_and_nothing_is_run_twice(run, blocks):
    line = f"compare {blocks} --labels teams.csv --label-column team --methods raw,netmf --splits 3 --device cpu"
    shown = run(f"{line} -o compare.html")
    first, *rows = shown.out.splitlines()
    assert first.split() == ["method", "accuracy", "(10", "%", "train),", "%", "runs", "seconds", "peak", "MB"]
    assert rows[0].startswith("NetMF")
    assert "± " in rows[0]
    assert rows[1].startswith("raw features")
    assert "* highest, ≈ tied with it: p > 0.05 in a paired t-test" in shown.out
    assert "2 methods; this takes about" in shown.err
    assert "note: 2 nodes without a label are in no split" in shown.err
    assert "the column 'team' of people.csv has the labels, so it is not used as a feature" in shown.err
    page = Path("compare.html").read_text()
    assert page.count("<circle") == 2
    assert re.search(r'class="number best">[\d.]+ ± [\d.]+ <small>best</small>', page)
    assert "one graph, 40 nodes" in page
    before = Path("compare.jsonl").read_text()
    again = run(f"{line} --ledger compare.jsonl --json")
    assert "2 of them already in compare.jsonl; nothing is left to run" in again.err
    found = again.json
    assert [row["method"] for row in found["rows"]] == ["netmf", "raw"]
    assert (found["nodes"], found["labelled"], found["classes"], found["protocol"]) == (40, 38, 2, "every-10-10-80")
    best = found["rows"][0]
    assert best["random_10"]["best"]
    assert best["peak_memory_mb"] is None or best["peak_memory_mb"] > 0
    assert best["seconds"] > 0
    assert Path("compare.jsonl").read_text() == before


def test_mistakes_are_refused_before_anything_runs(refused, blocks):
    labelled = f"compare {blocks} --label-column team"
    refused(f"{labelled} --methods raw,spektral", "unknown method 'spektral'", "did you mean 'spectral'")
    refused(f"{labelled} --splits many", "--splits is 'many'", "public")
    refused(f"{labelled} --splits 0", "--splits is 0")
    refused(f"{labelled} --splits public", "edges.csv has no public split")
    refused(f"{labelled} -o compare.pdf", "unsupported file type", ".html")
    refused(f"{labelled} -o edges.html --ledger edges.csv", "edges.csv is also an input")
    refused(f"compare {blocks} --label-column age --labels people.csv --methods histogram", "not for the nodes")
    refused(f"compare {blocks} --labels people.csv", "people.csv has no column 'label'", "--label-column")


def with_splits(*columns):
    """Write splits.csv: a part per person and column, each a text of forty letters t, v, e (test) or none."""
    parts = {"t": "train", "v": "validation", "e": "test", "-": ""}
    rows = [",".join([f"p{i}", *(parts[column[i]] for column in columns)]) for i in range(40)]
    Path("splits.csv").write_text("\n".join([",".join(["id", *"abcd"[: len(columns)]]), *rows]) + "\n")


FIRST = ("tttvv-" + "e" * 14) * 2  # the sixth person of each team has no label
SECOND = ("eeeee-" + "e" * 9 + "vvttt") * 2


def test_own_splits_are_used_and_never_mixed_up(run, blocks, monkeypatch):
    monkeypatch.setattr("mvgrl.experiments.compare.separate_results", results_of)
    with_splits(FIRST, SECOND, ("vvttt-" + "e" * 14) * 2)
    line = f"compare {blocks} --label-column team --methods netmf,gcn --splits splits.csv --device cpu --epochs 5"
    outcome = run(f"{line} --json")
    assert "3 given splits" in outcome.err
    assert (outcome.json["protocol"], outcome.json["splits"]) == ("converged-probe", 3)
    assert {row["method"]: row["runs"] for row in outcome.json["rows"]} == {"netmf": 3, "gcn": 3}
    assert "nothing is left to run" in run(line).err
    with_splits(FIRST, SECOND)
    assert "already in" not in run(line).err
    with_splits(FIRST)
    one = run(f"{line} --seeds 2 --json")
    assert "The given split, 2 training runs" in one.err
    scores = {row["method"]: row["logistic"]["mean"] for row in one.json["rows"]}
    vectors = "embed edges.csv --nodes people.csv --label-column team --method netmf -o v.npy --device cpu"
    run(vectors)
    same = run("evaluate v.npy --labels teams.csv --split splits.csv --device cpu --json").json
    assert scores["netmf"] == pytest.approx(same["accuracy"]["mean"])


def test_mistakes_in_splits_are_refused(refused, blocks, many_graphs):
    line = f"compare {blocks} --label-column team --splits splits.csv"
    refused(line, "splits.csv does not exist")
    with_splits(FIRST)
    good = Path("splits.csv").read_text()
    refused(f"compare {blocks} --labels none --splits splits.csv", "without labels there is nothing to split")
    Path("kinds.csv").write_text("id,kind\n" + "".join(f"ring{size},{size % 2}\n" for size in range(3, 9)))
    refused(f"compare {many_graphs} --labels kinds.csv --splits splits.csv", "many graphs", "folds")
    for wrong, right, *words in (
        ("p3,vaildation", "p3,validation", "splits.csv, line 5", "'vaildation'", "train, val or test"),
        ("p99,test", "p3,validation", "splits.csv, line 5", "'p99'", "not a node of the graph"),
        ("p5,test", "p5,", "line 7", "'p5' is in test", "has no label"),
    ):
        Path("splits.csv").write_text(good.replace(right, wrong, 1))
        refused(line, *words)
    with_splits(FIRST, SECOND.replace("t", "-"))
    refused(line, "the split 'b'", "no train rows")
    with_splits(FIRST.replace("v", "-"))
    refused(line, "the split 'a' has no validation rows")
    with_splits(FIRST[:20] + FIRST[20:].replace("t", "e"))
    refused(line, "class red", "missing from train")
    Path("splits.csv").write_text("id\np1\n")
    refused(line, "splits.csv has only ids", "a column per split")


def test_numbers_are_no_classes(refused, blocks):
    rows = "\n".join(f"p{i},{i / 7}" for i in range(40))
    Path("heights.csv").write_text(f"id,height\n{rows}\n")
    refused(f"compare {blocks} --labels heights.csv", "numbers, not classes", "--protocol regression")


def test_named_datasets_have_their_labels(refused, cora):
    refused(f"compare cora-linqs --data-root {cora} --labels teams.csv", "its own labels", "--labels none")
    refused(f"compare cora-linqs --data-root {cora} --nodes people.csv", "is a named dataset", "--nodes")

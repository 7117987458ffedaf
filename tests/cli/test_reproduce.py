"""``mvgrl reproduce``: the table in the terminal and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mvgrl.cli import main
from mvgrl.config import Settings
from mvgrl.experiments import slips

TINY = '[best]\nviews = ["adjacency", "ppr:top_k=8"]\nhidden = 16\nepochs = 3\n'


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    (tmp_path / "recipes" / "node").mkdir(parents=True)
    (tmp_path / "recipes" / "node" / "cora-linqs.toml").write_text(TINY)
    places = ["--ledger", str(tmp_path / "runs.jsonl"), "--recipes", str(tmp_path / "recipes")]
    return [*places, "--dataset", "cora-linqs", "--runs", "2", "--device", "cpu"]


def test_the_table(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "node-classification", *flags, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    row, tuned = printed["rows"]
    assert tuned["metric"] == "logistic"
    expected = {"dataset", "metric", "mean", "std", "runs", "paper", "untrained", "propagated", "seconds"}
    assert set(row) == expected
    assert (printed["experiment"], printed["setting"], row["paper"]) == ("node-classification", "best", 86.8)
    assert main(["reproduce", "node-clustering", *flags]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # nothing left to run
    head, nmi, ari = (line.split() for line in shown.out.splitlines())
    assert head == ["dataset", "metric", "paper", "ours", "untrained", "propagated", "runs", "s", "a", "run"]
    assert (nmi[:3], ari[:3]) == (["cora-linqs", "NMI", "0.629"], ["cora-linqs", "ARI", "0.570"])


def test_the_table_of_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "recipes" / "graph").mkdir(parents=True)
    (tmp_path / "recipes" / "graph" / "mutag.toml").write_text("[best]\nhidden = 8\nepochs = 1\n")
    places = ["--ledger", str(tmp_path / "runs.jsonl"), "--recipes", str(tmp_path / "recipes")]
    words = ["reproduce", "graph-classification", "--dataset", "mutag", "--runs", "2", "--device", "cpu", *places]
    assert main([*words, "--json"]) == 0
    shown = capsys.readouterr()
    rows = json.loads(shown.out)["rows"]
    assert shown.err.splitlines()[0] == "mutag, best, trained: seed 0"
    expected = {"dataset", "metric", "mean", "std", "runs", "paper", "untrained", "propagated", "seconds"}
    assert all(set(row) == expected for row in rows)
    assert [(row["metric"], row["paper"], row["runs"]) for row in rows] == [("nested", 89.7, 2), ("best_c", 89.7, 2)]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # nothing left to run
    _, nested, best_c = (line.split() for line in shown.out.splitlines())
    assert nested[:4] == ["mutag", "nested", "89.7", f"{rows[0]['mean']:.1f}"]
    assert best_c[:4] == ["mutag", "best-C", "89.7", f"{rows[1]['mean']:.1f}"]


def test_the_table_of_slips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slips, "DEFAULTS", Settings(views=("adjacency", "ppr:top_k=4"), hidden=8, epochs=1))
    monkeypatch.setattr(slips, "ROWS", {"nothing": {}, "standard": dict(normalise="standard")})
    words = ["--dataset", "cora-linqs", "--runs", "1", "--device", "cpu", "--ledger", str(tmp_path / "runs.jsonl")]
    assert main(["reproduce", "node-slips", *words]) == 0
    head, nothing, standard = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:4] == ["dataset", "change", "ours", "difference"]
    assert nothing[:2] == ["cora-linqs", "nothing"]
    assert standard[-3][0] in "+−"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["node-clasification"], "unknown table 'node-clasification'; did you mean 'node-classification'?"),
        (["node-clustering", "--dataset", "coar"], "unknown dataset 'coar'; did you mean 'cora'?"),
        (
            ["graph-classification", "--dataset", "cora"],
            "dataset 'cora' is not in graph-classification; that table has mutag, ptc-mr, imdb-binary, imdb-multi, "
            "reddit-binary",
        ),
        (
            ["node-clustering", "--dataset", "mutag"],
            "dataset 'mutag' is not in node-clustering; that table has cora-linqs, cora, citeseer, pubmed",
        ),
        (["graph-classification", "--dataset", "mutga"], "unknown dataset 'mutga'; did you mean 'mutag'?"),
        (["node-clustering", "--setting", "bets"], "unknown setting 'bets'; did you mean 'best'?"),
        (["node-slips", "--setting", "paper"], "node-slips departs from the default settings; leave setting"),
        (["node-slips", "--dataset", "pubmed"], "dataset 'pubmed' is not in node-slips"),
        (["node-clustering", "--runs", "0"], "runs is 0; ask for at least one"),
    ],
)
def test_wrong_words_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1

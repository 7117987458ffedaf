"""``mvgrl reproduce``: the table in the terminal and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mvgrl.cli import main

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
    (row,) = printed["rows"]
    expected = {"dataset", "metric", "mean", "std", "runs", "paper", "untrained", "propagated", "seconds"}
    assert set(row) == expected
    assert (printed["experiment"], printed["setting"], row["paper"]) == ("node-classification", "best", 86.8)
    assert main(["reproduce", "node-clustering", *flags]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # nothing left to run
    head, nmi, ari = (line.split() for line in shown.out.splitlines())
    assert head == ["dataset", "metric", "paper", "ours", "untrained", "propagated", "runs", "s", "a", "run"]
    assert (nmi[:3], ari[:3]) == (["cora-linqs", "NMI", "0.629"], ["cora-linqs", "ARI", "0.570"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["node-clasification"], "unknown table 'node-clasification'; did you mean 'node-classification'?"),
        (["node-clustering", "--dataset", "coar"], "unknown dataset 'coar'; did you mean 'cora'?"),
        (["node-clustering", "--setting", "bets"], "unknown setting 'bets'; did you mean 'best'?"),
        (["node-clustering", "--runs", "0"], "--runs is 0; ask for at least one"),
    ],
)
def test_wrong_words_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1

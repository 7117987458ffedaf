"""The commands of the documentation on experiments run as printed; other pages have tests of their own."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from mvgrl.cli import main

ROOT = Path(__file__).resolve().parents[1]
LABELS = {
    "cosine": "cosine",
    "logistic": "logistic",
    "combined": "combined",
    "adamic_adar": "Adamic–Adar",
    "common_neighbors": "common neighbours",
    "degree_product": "degree product",
}
LONG = "mvgrl reproduce all"  # runs what is missing of every experiment, for days


def commands() -> list[str]:
    pages = [(ROOT / "docs" / name).read_text() for name in ("reproducibility.md", "ablations.md")]
    blocks = [block for page in pages for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
    lines = [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in dict.fromkeys(lines) if line.startswith("mvgrl ") and line != LONG]


def test_there_are_commands() -> None:
    assert len(commands()) >= 8


@pytest.mark.parametrize("line", commands())
def test_commands_on_experiments_need_no_new_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    ledger = tmp_path / "results" / "runs.jsonl"
    shutil.copy(ROOT / "results" / "runs.jsonl", ledger)
    monkeypatch.chdir(tmp_path)
    before = len(ledger.read_text().splitlines())
    assert main(shlex.split(line)[1:]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip() or "wrote" in shown.err
    assert ": seed" not in shown.err  # what a run would say
    assert len(ledger.read_text().splitlines()) == before


def test_numbers_on_links_match_the_results() -> None:
    page = (ROOT / "docs" / "using_vectors.md").read_text()
    found = json.loads((ROOT / "results" / "benchmarks" / "links.json").read_text())
    assert f"`{found['command'].removesuffix(' --json')}` gives" in page
    for name, scores in found["models"].items():
        cells = [
            f"{scores[score]['mean']:.3f} ± {scores[score]['std']:.3f}"
            for score in ("auc", "average_precision", "hits")
        ]
        assert f"| {LABELS[name]} | {' | '.join(cells)} |" in page


def test_numbers_on_graphs_on_which_nothing_was_chosen_match_the_results() -> None:
    page = (ROOT / "docs" / "reproducibility.md").read_text()
    folder = ROOT / "results" / "benchmarks"
    nodes = json.loads((folder / "unseen.json").read_text())["accuracy"]
    graphs = json.loads((folder / "unseen_graphs.json").read_text())["nested"]
    rows = {name: name for name in ("default", "paper's vector", "untrained")}
    rows["default vectors without codes"] = "no codes"
    for name, row in rows.items():
        imdb, lastfm, molecules = (
            f"{np.mean(one[name]):.1f} ± {np.std(one[name]):.1f}" for one in (*nodes.values(), graphs)
        )
        assert f"| {row} | {imdb} | {lastfm} |\n" in page
        assert f"| {row} | {molecules} |\n" in page
    readme = " ".join((ROOT / "README.md").read_text().split())
    default, counts = (f"{np.mean(graphs[name]):.1f} %" for name in ("default", "compressed WL counts"))
    assert f"default vectors score {default}, Weisfeiler–Lehman counts {counts}" in readme
    assert f"default vectors score {np.mean(nodes['imdb']['default']):.1f} % (IMDB" in readme


def test_numbers_on_communities_and_cost_match_the_results() -> None:
    page = " ".join((ROOT / "docs" / "reproducibility.md").read_text().split())
    folder = ROOT / "results" / "benchmarks"
    for name, found in json.loads((folder / "communities.json").read_text())["nmi"].items():
        means = " | ".join(f"{np.mean(found[kind]):.3f}" for kind in ("default", "degrees", "spectral clustering"))
        assert f"| {', '.join(name.split(', ')[:2])} | {means} |" in page
    cost = json.loads((folder / "vectors.json").read_text())
    times, sizes = cost["100 epochs"], cost["medians of three runs of 20 epochs"]
    cora, pubmed = (f"{times[name]['seconds_ratio']:.2f}" for name in ("cora-linqs", "pubmed"))
    memory = [f"{sizes[name]['bytes_ratio']:.2f}" for name in ("cora-linqs", "pubmed")]
    assert f"take {cora} times the time and {memory[0]} times the memory on Cora" in page
    assert f"and {pubmed} and {memory[1]} times on PubMed" in page
    large, coarse = (cost[f"{kind} of 1,000,000 nodes"] for kind in ("positions", "coarse positions"))
    costs = [f"{one['seconds'] / 60:.0f} minutes and {one['bytes'] / 2**30:.1f} GB" for one in (large, coarse)]
    assert f"five million edges take {costs[0]} on two cores, coarse ones {costs[1]}" in page
    small, coarse = (cost[f"{kind} of 100,000 nodes"] for kind in ("positions", "coarse positions"))
    assert round(small["seconds"] / 60) == 1
    assert f"a minute and {small['bytes'] / 2**30:.1f} GB" in page
    assert f"coarse ones {coarse['seconds']:.0f} seconds and {coarse['bytes'] / 2**30:.1f} GB" in page

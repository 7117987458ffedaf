"""``mvgrl reproduce``: the table in the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mvgrl.cli import main
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Variant
from mvgrl.experiments.ledger import Ledger, Run, published_runs
from mvgrl.settings import literal

TINY = '[best]\nviews = ["adjacency", "ppr:top_k=8"]\nhidden = 16\nepochs = 3\n'


@pytest.fixture
def flags(tmp_path: Path, data: Path) -> list[str]:
    (tmp_path / "recipes" / "node").mkdir(parents=True)
    (tmp_path / "recipes" / "node" / "cora-linqs.toml").write_text(TINY)
    places = ["--ledger", str(tmp_path / "runs.jsonl"), "--recipes", str(tmp_path / "recipes")]
    return [*places, "--data-root", str(data), "--dataset", "cora-linqs", "--runs", "2", "--device", "cpu"]


def test_node_tables_are_printed(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "node-classification", *flags, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    row, tuned = printed["rows"]
    assert tuned["metric"] == "logistic"
    expected = {"dataset", "metric", "mean", "std", "runs", "paper", "untrained", "propagated", "seconds"}
    assert expected <= set(row)
    assert (printed["experiment"], printed["setting"], row["paper"]) == ("node-classification", "best", 86.8)
    assert main(["reproduce", "node-clustering", *flags]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # nothing left to run
    head, nmi, ari = (line.split() for line in shown.out.splitlines())
    assert head == ["dataset", "metric", "paper", "ours", "untrained", "propagated", "runs", "s", "per", "run"]
    assert (nmi[:3], ari[:3]) == (["cora-linqs", "NMI", "0.629"], ["cora-linqs", "ARI", "0.570"])


def test_the_graph_table_is_printed(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "recipes" / "graph").mkdir(parents=True)
    (tmp_path / "recipes" / "graph" / "mutag.toml").write_text("[best]\nhidden = 8\nepochs = 1\n")
    places = ["--ledger", str(tmp_path / "runs.jsonl"), "--recipes", str(tmp_path / "recipes")]
    places += ["--data-root", str(data)]
    words = ["reproduce", "graph-classification", "--dataset", "mutag", "--runs", "2", "--device", "cpu", *places]
    assert main([*words, "--json"]) == 0
    shown = capsys.readouterr()
    rows = json.loads(shown.out)["rows"]
    messages = [line.partition(" (")[0] for line in shown.err.splitlines()]  # in parallel on two cores
    assert len([line for line in messages if line.startswith("mutag, best, ")]) == 2 * len(
        EXPERIMENTS["graph-classification"].variants
    )
    assert "mutag, best, trained: seed 0" in messages
    expected = {"dataset", "metric", "mean", "std", "runs", "paper", "untrained", "propagated", "seconds"}
    assert all(expected <= set(row) for row in rows)
    assert [(row["metric"], row["paper"], row["runs"]) for row in rows] == [("nested", 89.7, 2), ("best_c", 89.7, 2)]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # nothing left to run
    _, nested, best_c = (line.split() for line in shown.out.splitlines())
    assert nested[:4] == ["mutag", "nested", "89.7", f"{rows[0]['mean']:.1f}"]
    assert best_c[:4] == ["mutag", "best-C", "89.7", f"{rows[1]['mean']:.1f}"]


def test_the_table_of_discrepancies_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = literal(dict(views=("adjacency", "ppr:top_k=4"), hidden=8, epochs=1))
    rows = (Variant("nothing"), Variant("standard", dict(normalise="standard")))
    monkeypatch.setitem(EXPERIMENTS, "node-slips", replace(EXPERIMENTS["node-slips"], variants=rows, start=start))
    words = ["--dataset", "cora-linqs", "--runs", "1", "--device", "cpu", "--ledger", str(tmp_path / "runs.jsonl")]
    assert main(["reproduce", "node-slips", *words]) == 0
    head, nothing, standard = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:4] == ["dataset", "change", "ours", "difference"]
    assert nothing[:2] == ["cora-linqs", "nothing"]
    assert standard[-3][0] in "+−"


@pytest.fixture
def graph_flags(tmp_path: Path, data: Path) -> list[str]:
    (tmp_path / "recipes" / "graph").mkdir(parents=True)
    (tmp_path / "recipes" / "graph" / "mutag.toml").write_text("[best]\nhidden = 4\nepochs = 1\n")
    places = ["--ledger", str(tmp_path / "runs.jsonl"), "--recipes", str(tmp_path / "recipes")]
    return [*places, "--data-root", str(data), "--dataset", "mutag", "--runs", "1", "--jobs", "1"]


def test_an_ablation_is_printed(graph_flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "ablation-encoders", *graph_flags, "--device", "cpu"]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    keys = {"dataset", "row", "metric", "mean", "std", "runs", "paper", "paper_std", "seconds", "failed", "note"}
    assert all(keys <= set(row) for row in rows)
    assert [(row["row"], row["paper"], row["paper_std"]) for row in rows] == [
        ("shared", 82.8, 1.9),
        ("dedicated", 89.7, 1.1),
        ("shared, two of four views at random", None, None),
    ]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # nothing left to run
    head, line, key, note = shown.out.splitlines()
    assert head.split() == ["dataset", *" ".join(row["row"] for row in rows).split()]
    shared, dedicated, drawn = (f"{row['mean']:.1f}" for row in rows)
    assert line.split() == ["mutag", shared, "(82.8)", dedicated, "(89.7)", drawn]
    assert (len(head), key) == (len(line), "ours (the paper's)")
    assert note == "shared, two of four views at random: two views per sample in training; the vectors join all four."


def test_a_sweep_is_plotted(graph_flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "layers.svg"
    words = ["reproduce", "sweep-layers", *graph_flags, "--device", "cpu"]
    assert main([*words, "--plot", str(picture), "--json"]) == 0
    shown = capsys.readouterr()
    values = json.loads(shown.out)
    assert values["plot"] == str(picture)
    assert shown.err.splitlines()[-1] == f"wrote {picture}"
    drawn = picture.read_text()
    assert drawn.startswith("<svg xmlns=")
    assert drawn.count("<circle") == 4
    picture.unlink()
    assert main([*words, "--plot", str(picture)]) == 0
    shown = capsys.readouterr()
    assert shown.err == f"wrote {picture}\n"  # nothing left to run
    assert picture.read_text() == drawn
    cells = [[str(row["row"]), f"{row['mean']:.1f}"] for row in values["rows"]]
    assert [line.split() for line in shown.out.splitlines()] == [["layers", "mutag"], *cells]
    assert [name for name, _ in cells] == ["1", "2", "4", "8"]


def test_a_sweep_without_successful_runs_is_not_plotted(
    graph_flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = EXPERIMENTS["sweep-layers"].recipes("mutag", folder=tmp_path / "recipes")
    Ledger(tmp_path / "runs.jsonl").add(
        Run("sweep-layers", "mutag", "best", row, 0, {}, 0, 1.0, "cpu", recipe.id, failed="out of memory")
        for row, recipe in rows.items()
    )
    assert main(["reproduce", "sweep-layers", *graph_flags, "--plot", str(tmp_path / "layers.svg")]) == 0
    assert "layers.svg was not written: all runs failed\n" in capsys.readouterr().err
    assert not (tmp_path / "layers.svg").exists()


def test_failed_runs_are_shown_and_can_be_retried(
    graph_flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = EXPERIMENTS["ablation-bounds"].recipes("mutag", folder=tmp_path / "recipes")
    Ledger(tmp_path / "runs.jsonl").add(
        Run("ablation-bounds", "mutag", "best", row, 0, {}, 0, 1.0, "cpu", recipe.id, failed="out of memory")
        for row, recipe in rows.items()
    )
    words = ["reproduce", "ablation-bounds", *graph_flags, "--device", "cpu"]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split()[:3] == ["mutag", "failed", "(82.2)"]
    assert shown.out.splitlines()[3:] == ["all rows: failed: out of memory."]
    assert shown.err.endswith("runs.jsonl has 4 failed runs of ablation-bounds; --retry-failed runs them again\n")
    assert main([*words, "--retry-failed"]) == 0
    shown = capsys.readouterr()
    assert [line for line in shown.err.splitlines() if line.startswith("mutag, ")] == shown.err.splitlines()[-4:]
    assert "failed" not in shown.out + shown.err


def test_the_list_counts_runs_and_estimates_time(
    graph_flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = EXPERIMENTS["ablation-modes"].recipes("mutag", folder=tmp_path / "recipes")["hybrid"].id
    run = Run("ablation-modes", "mutag", "best", "hybrid", 0, {"nested": 80.0}, 1, 30.0, "cpu", recipe)
    Ledger(tmp_path / "runs.jsonl").add([run])
    assert main(["reproduce", "list", *graph_flags, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    assert [row["experiment"] for row in listed][:2] == ["graph-classification", "ablation-bounds"]
    (modes,) = (row for row in listed if row["experiment"] == "ablation-modes")
    counts = dict(runs=5, done=1, failed=0, seconds_left=120.0)
    assert modes == dict(experiment="ablation-modes", datasets=["mutag"], **counts)
    assert main(["reproduce", "list", *graph_flags]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["experiment", "datasets", "runs", "done", "failed", "time", "left"]
    runs = len(EXPERIMENTS["graph-classification"].variants)
    assert lines[1] == ["graph-classification", "1", str(runs), "0", "0", "–"]
    assert ["ablation-modes", "1", "5", "1", "0", "2", "min"] in lines


def test_the_list_has_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "list", "--ledger", "none.jsonl", "--json"]) == 0
    listed = {row["experiment"]: row for row in json.loads(capsys.readouterr().out)["experiments"]}
    assert list(EXPERIMENTS) == list(listed)
    assert listed["ablation-bounds"]["runs"] == 4 * (3 * 5 + 4 * 3 + 1)
    assert listed["ablation-negatives"]["runs"] == 3 * 3 * 5
    assert listed["sweep-labels"]["runs"] == 12 * (3 * 5 + 4 * 3 + 1)
    assert listed["sweep-layers"]["runs"] == 4 * (3 * 5 + 4 * 3 + 1)
    assert listed["node-clustering"]["runs"] == 4 * 50 * 3
    assert all((row["done"], row["seconds_left"]) == (0, None) for row in listed.values())
    assert not Path("none.jsonl").exists()


@pytest.fixture
def one_ablation() -> Iterator[None]:
    """Replace all experiments with a small one; they are restored afterwards."""
    kept = dict(EXPERIMENTS)
    rows = (Variant("four"), Variant("two", dict(hidden=2)))
    small = replace(kept["ablation-bounds"], name="ablation-small", variants=rows, datasets=("mutag",))
    for name in [name for name, one in kept.items() if one.group]:
        del EXPERIMENTS[name]
    EXPERIMENTS[small.name] = small
    yield
    EXPERIMENTS.clear()
    EXPERIMENTS.update(kept)


@pytest.mark.usefixtures("one_ablation")
def test_all_prints_every_table(graph_flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "all", *graph_flags, "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("graph-classification\ndataset  metric")
    assert "\n\nablation-small\ndataset  four   two\nmutag" in text
    assert main(["reproduce", "all", *graph_flags, "--device", "cpu", "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert list(json.loads(shown.out)["tables"]) == ["graph-classification", "ablation-small"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["node-clasification"], "unknown experiment 'node-clasification'; did you mean 'node-classification'?"),
        (["node-clustering", "--dataset", "coar"], "unknown dataset 'coar'; did you mean 'cora'?"),
        (
            ["graph-classification", "--dataset", "cora"],
            "dataset 'cora' is not in graph-classification; it has mutag, ptc-mr, imdb-binary, imdb-multi, "
            "reddit-binary",
        ),
        (
            ["node-clustering", "--dataset", "mutag"],
            "dataset 'mutag' is not in node-clustering; it has cora-linqs, cora, citeseer, pubmed",
        ),
        (["graph-classification", "--dataset", "mutga"], "unknown dataset 'mutga'; did you mean 'mutag'?"),
        (["node-clustering", "--setting", "bets"], "unknown setting 'bets'; did you mean 'best'?"),
        (["node-slips", "--setting", "paper"], "node-slips starts from the default settings; omit --setting"),
        (["node-slips", "--dataset", "pubmed"], "dataset 'pubmed' is not in node-slips"),
        (["node-clustering", "--runs", "0"], "runs is 0; it must be at least 1"),
        (["node-clustering", "--jobs", "0"], "jobs is 0; it must be at least 1"),
        (["ablation-bound"], "unknown experiment 'ablation-bound'; did you mean 'ablation-bounds'?"),
        (["ablation-negatives", "--dataset", "mutag"], "dataset 'mutag' is not in ablation-negatives; it has"),
        (["ablation-views", "--setting", "paper"], "ablation-views starts from the recipes named best; omit --setting"),
        (["all", "--setting", "released"], "node-slips starts from the default settings; omit --setting"),
        (["sweep-alfa"], "unknown experiment 'sweep-alfa'; did you mean 'sweep-alpha'?"),
        (["sweep-alpha", "--setting", "paper"], "sweep-alpha starts from the recipes named best; omit --setting"),
        (
            ["sweep-alpha", "--plot", "alpha.pdf"],
            "alpha.pdf: unsupported file type; use one of .svg",
        ),
        (["node-clustering", "--plot", "a.svg"], "node-clustering has no axis to plot over; omit --plot, or"),
        (["ablation-views", "--plot", "a.svg"], "or use ablation-batch-size, sweep-alpha, sweep-t, sweep-top-k"),
        (["all", "--plot", "a.svg"], "all has no axis to plot over; omit --plot"),
        (["list", "--plot", "a.svg"], "list has no axis to plot over; omit --plot"),
        (["sweep-t", "--plot", "/dev/null/t.svg"], "t.svg cannot be written"),
        (["list", "--dataset", "coar", "--ledger", "own.jsonl"], "unknown dataset 'coar'; did you mean 'cora'?"),
    ],
)
def test_invalid_arguments_are_rejected(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1


def test_list_shows_the_published_runs_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert main(["reproduce", "list", "--json"]) == 0
    shown = capsys.readouterr()
    assert "there is no results/runs.jsonl here; these are the published runs" in shown.err
    found = json.loads(shown.out)
    assert found["ledger"] == str(published_runs())
    assert next(row for row in found["experiments"] if row["experiment"] == "node-classification")["done"] > 100
    assert list(Path().iterdir()) == []
    Path("results").mkdir()
    Path("results/runs.jsonl").touch()
    assert main(["reproduce", "list", "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert all(row["done"] == 0 for row in json.loads(shown.out)["experiments"])

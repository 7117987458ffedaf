"""demo: train, score next to the paper and two controls, and draw a map."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

import pytest

from mvgrl.cli.demo import PAPER
from mvgrl.datasets import load
from mvgrl.evaluation import linear_probe, logistic_probe, propagated, untrained
from mvgrl.explorer.packing import unpacked
from mvgrl.pretrained import load_model
from mvgrl.settings import Output

pytest.importorskip("matplotlib")


def test_scores_match_the_written_files(run, cora):
    outcome = run(f"demo --data-root {cora} --epochs 2 --seed 1 --json --device cpu -o made")
    result = outcome.json
    assert {"accuracy", "paper", "untrained", "propagated", "default", "converged", "seconds"} <= set(result)
    assert list(result["converged"]) == ["default", "accuracy", "untrained", "propagated"]
    assert (result["paper"], result["seed"], result["epochs"]) == (PAPER, 1, 2) == (86.8, 1, 2)
    paths = {key: result[key] for key in ("model", "embeddings", "map", "page")}
    assert paths == {
        **{"model": "made/model", "embeddings": "made/embeddings.parquet"},
        **{"map": "made/map.png", "page": "made/explorer.html"},
    }
    scores = {round(result[key], 1) for key in ("accuracy", "untrained", "propagated")}
    scores |= {round(score, 1) for score in result["converged"].values()}
    assert len(scores) == 7  # otherwise a mix-up would go unnoticed
    assert sorted(str(path) for path in Path("made").iterdir()) == sorted(paths.values())
    assert Path(paths["map"]).read_bytes().startswith(b"\x89PNG")
    data = Path(paths["page"]).read_text().split('id="data">')[1].split("</script>")[0]
    header, _ = unpacked(gzip.decompress(base64.b64decode(data)))
    assert [column["name"] for column in header["columns"]] == ["topic", "degree"]
    assert (header["count"], len(header["model"]["losses"])) == (1500, 2)
    trained, _, about = load_model(paths["model"], device="cpu")
    assert about["accuracy (converged probe, LINQS split)"] == f"{result['default']:.1f} %"

    line = f"evaluate {paths['embeddings']} --labels cora-linqs --data-root {cora} --seed 1 --device cpu --json -q"
    assert run(line).json["accuracy"]["mean"] == pytest.approx(result["default"])
    assert result["default"] == result["converged"]["default"]
    run(f"embed cora-linqs --data-root {cora} --preset paper --epochs 2 --seed 1 -o paper.npy --device cpu -q")
    line = line.replace(paths["embeddings"], "paper.npy")
    assert run(line).json["accuracy"]["mean"] == pytest.approx(result["converged"]["accuracy"])
    assert run(f"{line} --protocol linear").json["accuracy"]["mean"] == pytest.approx(result["accuracy"])
    dataset = load("cora-linqs", cora)
    topics = [dataset.classes[number] for number in dataset.target]
    for key, codes in (
        ("untrained", untrained(dataset.graph, trained.model.settings, output=Output(preset="paper"), seed=1)),
        ("propagated", propagated(dataset.graph, trained.model.settings)),
    ):
        score = linear_probe(codes, topics, dataset.splits["train"], dataset.splits["test"], seed=1)
        assert result[key] == pytest.approx(100 * float(score)), key
        train, val, test = (dataset.splits[part] for part in ("train", "val", "test"))
        converged = logistic_probe(codes, topics, train, test, val=val)
        assert result["converged"][key] == pytest.approx(100 * float(converged)), key


def test_scores_are_printed_as_a_table(run, cora):
    outcome = run(f"demo --data-root {cora} --epochs 0 --device cpu -q")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("Accuracy on the 1,000 test papers of Cora (LINQS split), one seed, in percent")
    assert lines[1].split() == ["converged", "probe", "the", "paper's", "probe"]
    assert [line[:21].strip() for line in lines[2:6]] == [
        *("default vectors", "the paper's vectors", "untrained encoder", "propagated features")
    ]
    numbers = [[float(word) for word in line[21:].split("(")[0].split()] for line in lines[2:6]]
    assert [len(line) for line in numbers] == [1, 2, 2, 2]
    assert all(0 < number < 100 for line in numbers for number in line)
    assert numbers[1] == numbers[2]  # without an epoch of training
    assert lines[3].endswith("(in the paper: 86.8)")
    made = ("model", "embeddings.parquet", "map.png", "explorer.html")
    assert lines[-1] == f"wrote {', '.join(f'mvgrl-demo/{name}' for name in made)} (open it in a browser)"


def test_folder_with_other_files_is_not_overwritten(refused, folder):
    Path("made/model").mkdir(parents=True)
    Path("made/model/mine.txt").write_text("mine")
    refused("demo -o made", "made/model", "is not an mvgrl model", "another name")

"""datasets: every dataset, and whether it is on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from mvgrl.datasets import DATASETS, find


def test_every_dataset_is_listed_with_its_task_size_and_citation(run):
    result = run("datasets --json").json
    assert list(result) == ["datasets"]
    assert [row["name"] for row in result["datasets"]] == list(DATASETS)
    for row in result["datasets"]:
        assert list(row) == ["name", "task", "size", "here", "from"]
        info = DATASETS[row["name"]]
        assert (row["task"], row["size"], row["from"]) == (info.task, info.size, info.citation)
        assert (row["here"] is None) == (find(row["name"]) is None)


def test_a_dataset_in_the_data_folder_is_found(run, folder, monkeypatch):
    place = folder / "data" / DATASETS["pubmed"].folder
    place.mkdir(parents=True)
    (place / "ind.pubmed.x").write_text("")
    here = {row["name"]: row["here"] for row in run("datasets --data-root data --json").json["datasets"]}
    assert here["pubmed"] == f"data folder ({DATASETS['pubmed'].folder})"
    assert here["citeseer"] is None
    assert {row["name"]: row["here"] for row in run("datasets --json").json["datasets"]}["pubmed"] is None
    monkeypatch.setenv("MVGRL_DATA", "data")
    assert {row["name"]: row["here"] for row in run("datasets --json").json["datasets"]} == here


def test_the_text_output_lists_the_same_datasets(run):
    outcome = run("datasets")
    assert outcome.err == ""
    assert [line.split()[0] for line in outcome.out.splitlines() if not line.startswith(" ")] == list(DATASETS)
    assert "here: no; downloaded when first used" in outcome.out
    assert "here: no; put its files into gnn-benchmark of a data folder" in outcome.out
    assert DATASETS["mutag"].citation in outcome.out


def test_a_closed_pipe_is_not_an_error():
    ours, theirs = os.pipe()
    os.close(ours)
    process = subprocess.run([sys.executable, "-m", "mvgrl", "datasets"], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    assert (process.returncode, process.stderr) == (0, b"")


def test_a_new_entry_is_listed(run, monkeypatch):
    new = replace(DATASETS["cora"], name="new", folder="new", nodes=3, edges=2, citation="nobody")
    monkeypatch.setitem(DATASETS, "new", new)
    row = {"name": "new", "task": "node", "size": "3 nodes, 2 edges", "here": None, "from": "nobody"}
    assert run("datasets --json").json["datasets"][-1] == row

"""datasets: every name, and whether it is here."""

from __future__ import annotations

import os
import subprocess
import sys

from mvgrl.datasets.registry import KNOWN, NAMES, find


def test_every_name_with_its_task_size_and_origin(run):
    result = run("datasets --json").json
    assert list(result) == ["datasets"]
    assert [row["name"] for row in result["datasets"]] == list(NAMES)
    for row in result["datasets"]:
        assert list(row) == ["name", "task", "size", "here", "from"]
        known = KNOWN[row["name"]]
        assert (row["task"], row["size"], row["from"]) == (known.task, known.size, known.origin)
        assert (row["here"] is None) == (find(row["name"]) is None)


def test_one_in_the_data_folder_is_here(run, folder, monkeypatch):
    place = folder / "data" / KNOWN["pubmed"].folder
    place.mkdir(parents=True)
    (place / "ind.pubmed.x").write_text("")
    here = {row["name"]: row["here"] for row in run("datasets --data-root data --json").json["datasets"]}
    assert here["pubmed"] == f"data folder ({KNOWN['pubmed'].folder})"
    assert here["citeseer"] is None
    assert {row["name"]: row["here"] for row in run("datasets --json").json["datasets"]}["pubmed"] is None
    monkeypatch.setenv("MVGRL_DATA", "data")
    assert {row["name"]: row["here"] for row in run("datasets --json").json["datasets"]} == here


def test_a_person_sees_the_same(run):
    outcome = run("datasets")
    assert outcome.err == ""
    assert [line.split()[0] for line in outcome.out.splitlines() if not line.startswith(" ")] == list(NAMES)
    assert "here: no; downloaded when first used" in outcome.out
    assert KNOWN["mutag"].origin in outcome.out


def test_whoever_stops_reading_is_not_shown_an_error():
    ours, theirs = os.pipe()
    os.close(ours)
    process = subprocess.run([sys.executable, "-m", "mvgrl", "datasets"], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    assert (process.returncode, process.stderr) == (0, b"")

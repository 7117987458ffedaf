"""--history and --tensorboard of embed and train."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.test_recording import check_events, check_rows

from mvgrl.errors import InputError
from mvgrl.outofcore import plan


def losses_of(model):
    return json.loads(Path(model, "config.json").read_text())["losses"]


def test_train_writes_both_records_and_the_choices(run, graph, small):
    pytest.importorskip("tensorboard", reason="an extra")
    run(f"train {graph} -o model {small} --history records/history.csv --tensorboard records/run")
    check_rows("records/history.csv", losses_of("model"))
    events = check_events("records/run", losses_of("model"))
    text = events.Tensors("choices/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "| views |" in text
    assert "edges.csv" in events.Tensors("training/text_summary")[0].tensor_proto.string_val[0].decode()


def test_embed_of_many_graphs_writes_a_history(run, many_graphs, small):
    run(f"train {many_graphs} -o model {small}")
    run(f"embed {many_graphs} -o v.csv {small} --history history.csv")
    check_rows("history.csv", losses_of("model"))


def test_interrupted_run_continues_its_history(run, graph, small, monkeypatch):
    line = f"train {graph} -o model {small} --history history.csv"

    def fail(*_, **__):
        raise InputError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("mvgrl.pretrained.save_model", fail)
        run(line, code=2)
    before = Path("history.csv").read_text()
    assert Path("model.checkpoint").exists()
    run(f"{line} --resume")
    assert Path("history.csv").read_text() == before
    check_rows("history.csv", losses_of("model"))


def test_graph_that_stays_on_disk_has_a_history_too(run, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [f"{a},{b}" for a, b in rng.integers(40, size=(90, 2))]
    Path("edges.csv").write_text("\n".join(["source,target", *rows]) + "\n")
    run("import edges.csv -o GRAPH")
    monkeypatch.setattr(plan, "in_memory", lambda *_: 2**60)
    flags = "--hidden 4 --epochs 3 --sampler walk --sample-size 20 --views adjacency,ppr:top_k=8:method=push"
    run(f"train GRAPH -o model {flags} --features degree --memory 2GB --device cpu --history history.csv")
    check_rows("history.csv", losses_of("model"))


def test_records_that_cannot_be_written_are_refused_before_training(refused, run, graph, small, monkeypatch):
    shutil.copy("nodes.csv", "table.csv")
    line = f"train {graph} -o model {small}"
    refused(f"{line} --history nodes.csv", "nodes.csv", "also an input")
    refused(f"{line} --history table.csv", "table.csv", "not the history")
    refused(f"{line} --history history.txt", "history.txt", ".csv")
    refused(f"{line} --history model/history.csv", "--history", "model", "another path")
    refused(f"{line} --history nodes.csv/history.csv", "cannot be written")
    refused(f"{line} --history history.csv --method netmf", "--history", "netmf", "omit")
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    refused(f"{line} --tensorboard run", "pip install 'mvgrl[tensorboard]'")


def test_tensorboard_folders_that_cannot_be_used_are_refused(refused, run, graph, small):
    pytest.importorskip("tensorboard", reason="an extra")
    line = f"embed {graph} -o v.csv {small}"
    refused(f"{line} --tensorboard nodes.csv", "nodes.csv", "also an input")
    Path("taken").write_text("a file")
    refused(f"{line} --tensorboard taken", "taken", "cannot be written")
    run(f"{line} --tensorboard run")
    refused(f"{line} --tensorboard run", "run", "another training", "choose")

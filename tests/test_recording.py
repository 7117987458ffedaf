"""Records of a training: written while it runs, and continued without a gap or a repetition when it is resumed."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from mvgrl import Graph, NodeEmbedder, Settings, fit
from mvgrl.errors import InputError, MachineError, SettingsError
from mvgrl.history import History
from mvgrl.recording import COLUMNS, HistoryFile, TensorBoard

RING = Graph.from_edges(np.arange(30), (np.arange(30) + 1) % 30, features=np.random.default_rng(0).normal(size=(30, 3)))
RINGS = Graph.join([Graph.from_edges(np.arange(n), (np.arange(n) + 1) % n) for n in (4, 5, 6, 7)])
SETTINGS = Settings(hidden=8, epochs=7, patience=7)


class Stopped(Exception):  # noqa: N818 (not a failure)
    pass


def stop_after(number):
    def callback(epoch):
        if epoch.number == number:
            raise Stopped

    return callback


def rows_of(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def check_rows(path, losses):
    """Every epoch is there once, in order, with what is known of it."""
    rows = rows_of(path)
    assert list(rows[0]) == list(COLUMNS)
    assert [int(row["epoch"]) for row in rows] == list(range(1, len(losses) + 1))
    assert [float(row["loss"]) for row in rows] == losses
    history = History()
    for row in rows:
        history.add(float(row["loss"]))
        assert (float(row["lowest_loss"]), int(row["epochs_since_lowest"])) == (history.best_loss, history.waited)
    return rows


def events_of(folder):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="an extra")
    return reader.EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()


def check_events(folder, losses):
    events = events_of(folder)
    history = History.replay(losses)
    found = events.Scalars("loss")
    assert [one.step for one in found] == list(range(1, len(losses) + 1))
    np.testing.assert_array_equal([one.value for one in found], np.float32(losses))
    assert events.Scalars("lowest_loss")[-1].value == np.float32(history.best_loss)
    assert events.Scalars("epochs_since_lowest")[-1].value == history.waited
    return events


@pytest.mark.parametrize(("graph", "task"), [(RING, "node"), (RINGS, "graph")])
def test_file_has_a_row_per_epoch_as_soon_as_it_ends(graph, task, tmp_path):
    path = tmp_path / "new" / "history.csv"
    seen = []
    settings = Settings(task=task, hidden=8, epochs=4)
    callbacks = [HistoryFile(path), lambda epoch: seen.append(len(rows_of(path)))]
    trained = fit(graph, settings, device="cpu", callbacks=callbacks)
    assert seen == [1, 2, 3, 4]
    rows = check_rows(path, trained.history.losses)
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    assert seconds[-1] > 0


def test_tensorboard_folder_has_the_losses_and_the_settings(tmp_path):
    record = TensorBoard(tmp_path / "runs" / "a", {"choices": {"views": "sparse | exact"}})
    trained = fit(RING, SETTINGS, device="cpu", callbacks=[record])
    events = check_events(tmp_path / "runs" / "a", trained.history.losses)
    texts = {tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in events.Tags()["tensors"]}
    assert "| hidden | 8 |" in texts["settings/text_summary"]
    assert "sparse" in texts["choices/text_summary"]
    with pytest.raises(InputError, match="another training"):
        fit(RING, SETTINGS, device="cpu", callbacks=[TensorBoard(tmp_path / "runs" / "a")])


def interrupted(tmp_path, ahead):
    """Stop a training with both records after five epochs; the records are then ahead of the checkpoint or behind."""
    checkpoint, old = tmp_path / "checkpoint", tmp_path / "old"
    records = [HistoryFile(tmp_path / "history.csv"), TensorBoard(tmp_path / "events")]

    def keep(epoch):
        if epoch.number == 3:
            shutil.copy(checkpoint, old)

    callbacks = [keep, *records, stop_after(5)] if ahead else [stop_after(5), *records]
    with pytest.raises(Stopped):
        fit(RING, SETTINGS, device="cpu", callbacks=callbacks, checkpoint=checkpoint, checkpoint_every=0)
    assert len(rows_of(tmp_path / "history.csv")) == (5 if ahead else 4)
    if ahead:
        shutil.move(old, checkpoint)
    return {"checkpoint": checkpoint, "resume": True, "callbacks": records}


@pytest.mark.parametrize("ahead", [True, False])
def test_resumed_training_continues_its_records(tmp_path, ahead):
    pytest.importorskip("tensorboard", reason="an extra")
    again = interrupted(tmp_path, ahead)
    path = tmp_path / "history.csv"
    before = rows_of(path)
    times = [one.wall_time for one in events_of(tmp_path / "events").Scalars("loss")]
    trained = fit(RING, SETTINGS, device="cpu", **again)
    assert len(trained.history.losses) == 7
    rows = check_rows(path, trained.history.losses)
    kept = 3 if ahead else 4
    assert rows[:kept] == before[:kept]
    assert rows[4]["seconds"] == "" or ahead  # the fifth epoch is known from the checkpoint only
    assert float(rows[-1]["seconds"]) >= float(rows[kept - 1]["seconds"])
    found = check_events(tmp_path / "events", trained.history.losses).Scalars("loss")
    assert [one.wall_time for one in found[:kept]] == times[:kept]


@pytest.mark.parametrize("damage", ["removed", "torn", "of another training", "empty"])
def test_damaged_record_is_completed_from_the_checkpoint(tmp_path, damage):
    path, checkpoint = tmp_path / "history.csv", tmp_path / "checkpoint"
    callbacks = [HistoryFile(path), stop_after(4)]
    with pytest.raises(Stopped):
        fit(RING, SETTINGS, device="cpu", callbacks=callbacks, checkpoint=checkpoint)
    text = path.read_text()
    path.write_text(
        {
            "removed": "",
            "torn": text[:-9],
            "of another training": text.replace("\n2,", "\n2,1"),
            "empty": text.splitlines(keepends=True)[0],
        }[damage]
    )
    if damage == "removed":
        path.unlink()
    trained = fit(RING, SETTINGS, device="cpu", checkpoint=checkpoint, resume=True, callbacks=[HistoryFile(path)])
    check_rows(path, trained.history.losses)


def test_finished_training_that_is_resumed_is_recorded_too(tmp_path):  # as after a training on a cluster
    pytest.importorskip("tensorboard", reason="an extra")
    fit(RING, SETTINGS, device="cpu", checkpoint=tmp_path / "checkpoint")
    records = [HistoryFile(tmp_path / "history.csv"), TensorBoard(tmp_path / "events")]
    again = fit(RING, SETTINGS, device="cpu", checkpoint=tmp_path / "checkpoint", resume=True, callbacks=records)
    check_rows(tmp_path / "history.csv", again.history.losses)
    check_events(tmp_path / "events", again.history.losses)


def test_record_is_checked_before_training(tmp_path, monkeypatch):
    path = tmp_path / "nodes.csv"
    path.write_text("id,age\n1,2\n")
    never = [stop_after(1)]
    with pytest.raises(InputError, match=r"nodes.csv exists and is not the history"):
        fit(RING, SETTINGS, device="cpu", callbacks=[HistoryFile(path), *never])
    with pytest.raises(InputError, match="unsupported file type"):
        fit(RING, SETTINGS, device="cpu", callbacks=[HistoryFile(tmp_path / "history.txt"), *never])
    with pytest.raises(SettingsError, match="one seed"):
        fit(RING, SETTINGS, seed=[0, 1], device="cpu", callbacks=[HistoryFile(tmp_path / "history.csv"), *never])
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"pip install 'mvgrl\[tensorboard\]'"):
        fit(RING, SETTINGS, device="cpu", callbacks=[TensorBoard(tmp_path / "events"), *never])
    assert [one.name for one in tmp_path.iterdir()] == ["nodes.csv"]
    assert path.read_text() == "id,age\n1,2\n"


def test_full_disk_is_an_error_with_the_file(tmp_path, files_up_to):
    path = tmp_path / "history.csv"
    with files_up_to(120), pytest.raises(MachineError, match=r"history.csv cannot be written"):
        fit(RING, SETTINGS, device="cpu", callbacks=[HistoryFile(path)])


def test_embedders_take_records_as_callbacks(tmp_path):
    ring = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    embedder = NodeEmbedder(hidden=8, epochs=3, callbacks=[HistoryFile(tmp_path / "history.csv")], device="cpu")
    for _ in range(2):  # a second training replaces the record of the first
        embedder.fit(ring)
        check_rows(tmp_path / "history.csv", embedder.history_)

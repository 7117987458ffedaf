"""Outputs: never an input, never a file of the user, one run at a time, and checked before any work."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from mvgrl.tables.embeddings import read_embeddings
from mvgrl.tables.leftovers import hold

SMALL = "--hidden 4 --epochs 2 --device cpu -q"


@pytest.mark.parametrize("how", ["the same name", "another spelling", "link", "hard link", "link to the folder"])
def test_output_that_is_an_input_is_rejected(refused, run, graph, folder, how):
    def alias(name):
        if how == "the same name":
            return name
        if how == "another spelling":
            return f"../{folder.name}/./{name}"
        if how == "link to the folder":
            Path("same").exists() or Path("same").symlink_to(".")
            return f"same/{name}"
        other = Path(f"other-{name}")
        if not other.exists():
            other.symlink_to(name) if how == "link" else other.hardlink_to(name)
        return str(other)

    words = ("is also an input" if how == "the same name" else "is the same file as the input", "nothing was written")
    for name in ("edges.csv", "nodes.csv"):
        refused(f"embed {graph} -o {alias(name)} {SMALL}", name, *words)
    run(f"train {graph} -o model {SMALL}")
    for name in ("edges.csv", "nodes.csv"):
        refused(f"apply model {graph} -o {alias(name)} -q", name, *words)
    Path("config.csv").write_text("hidden = 4\n")
    refused(f"embed {graph} --config config.csv -o {alias('config.csv')}", "config.csv", *words)


def test_ids_table_of_numpy_output_is_no_input_either(refused, folder):
    Path("w.ids.csv").write_text("source,target\na,b\nb,c\n")
    refused(f"embed w.ids.csv -o w.npy {SMALL} --overwrite", "w.ids.csv is also an input")


def test_pictures_and_reports_do_not_replace_their_inputs(refused, folder):
    Path("z.csv").write_text("id,e0,e1\n1,0,1\n2,1,0\n3,1,1\n")
    Path("map.png").symlink_to("z.csv")
    refused("map z.csv -o map.png", "map.png is the same file as the input z.csv")
    Path("runs.md").write_text("{}\n")
    refused("report --ledger runs.md -o runs.md", "runs.md is also an input")
    Path("plot.svg").write_text("{}\n")
    refused("reproduce sweep-alpha --ledger plot.svg --plot plot.svg", "plot.svg is also an input")


def test_ids_table_that_belongs_to_something_else_is_kept(refused, run, graph):
    Path("w.ids.csv").write_text("my,precious,ids\n1,2,3\n")
    refused(f"embed {graph} -o w.npy {SMALL}", "w.ids.csv", "does not belong to w.npy", "--overwrite")
    run(f"embed {graph} -o w.npy {SMALL} --overwrite")
    assert read_embeddings("w.npy").ids[0] == "n0"
    run(f"embed {graph} -o w.npy {SMALL}")  # its own table is replaced without asking
    Path("w.npy").unlink()
    refused(f"embed {graph} -o w.npy {SMALL}", "w.ids.csv", "--overwrite")


def test_vectors_are_never_left_with_the_ids_of_others(run, folder, monkeypatch):
    Path("a.csv").write_text("source,target\na,b\nb,c\n")
    Path("b.csv").write_text("source,target\nc,a\na,b\n")
    run(f"embed a.csv -o w.npy {SMALL}")
    replace, done = Path.replace, []

    def fail_at_the_last_rename(self, target):
        done.append(Path(target).name)
        if done[-1] == "w.npy":
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail_at_the_last_rename)
        run(f"embed b.csv -o w.npy {SMALL}", code=1)
    assert done[-2:] == ["w.ids.csv", "w.npy"]
    assert not Path("w.npy").exists()
    run(f"embed b.csv -o w.npy {SMALL} --resume")
    assert read_embeddings("w.npy").ids.tolist() == ["c", "a", "b"]


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.npy"])
def test_csv_safe_disarms_formulas(run, folder, name):
    ids = ['=cmd|" /C calc"!A0', "+1", "-2+3", "@SUM(A1)", "plain", "a=b"]
    rows = "\n".join(f'"{one.replace(chr(34), 2 * chr(34))}","{ids[0].replace(chr(34), 2 * chr(34))}"' for one in ids)
    Path("edges.csv").write_text(f"source,target\n{rows}\n")
    run(f"embed edges.csv -o {name} {SMALL}")
    written = {str(one) for one in read_embeddings(name).ids}
    assert written == set(ids)
    run(f"embed edges.csv -o safe-{name} {SMALL} --csv-safe")
    safe = {str(one) for one in read_embeddings(f"safe-{name}").ids}
    assert safe == {f"'{one}" for one in ids[:4]} | {"plain", "a=b"}
    assert np.array_equal(read_embeddings(name).vectors, read_embeddings(f"safe-{name}").vectors)


def test_csv_safe_is_rejected_where_it_has_no_effect_or_would_merge_ids(refused, run, folder):
    Path("edges.csv").write_text("source,target\n=a,'=a\n")
    refused(f"embed edges.csv -o v.parquet {SMALL} --csv-safe", "v.parquet", "csv_safe")
    message = run(f"embed edges.csv -o v.csv {SMALL} --csv-safe", code=2).err
    assert "apostrophe" in message


def test_run_with_the_same_output_is_told_who_is_running(refused, graph):
    for line, output in ((f"embed {graph} -o v.csv", "v.csv"), (f"train {graph} -o model", "model")):
        with hold(Path(f"{output}.checkpoint")):
            message = _from_another_thread(lambda line=line: refused(f"{line} {SMALL}", "is in use by process"))
            assert f"{output}.checkpoint" in message
            _from_another_thread(lambda line=line: refused(f"{line} {SMALL} --resume", "is in use by process"))


def _from_another_thread(call):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc on this platform")
def test_ledger_that_cannot_be_written_is_rejected_before_any_run(refused, cora, folder):
    Path("runs.jsonl").symlink_to("/proc/runs.jsonl")  # where even the superuser cannot create files
    line = f"reproduce node-classification --dataset cora-linqs --runs 1 --data-root {cora} --ledger runs.jsonl"
    refused(line, "runs.jsonl cannot be written")  # on the first line, so no run was started


def test_model_folder_with_files_of_the_user_is_kept(refused, run, graph):
    run(f"train {graph} -o model {SMALL}")
    Path("edges.csv").rename("model/edges.csv")
    line = f"train model/{graph} -o model {SMALL}"
    refused(line, "model", "edges.csv", "nothing was written")
    Path("model/edges.csv").rename("edges.csv")
    run(f"train {graph} -o model {SMALL} --overwrite")

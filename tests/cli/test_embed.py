"""embed: a table of vectors with their ids, and one line that lists the automatic choices."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from mvgrl import Settings, fit
from mvgrl.automatic import resolve
from mvgrl.graphs.read import read
from mvgrl.tables.embeddings import read_embeddings

KEYS = ["task", "nodes", "edges", "graphs", "dim", "parts", "epochs", "loss", "seconds", "peak_memory_mb", "output"]


def vectors(path):
    return read_embeddings(path).vectors


def test_vectors_equal_those_of_the_library_and_keep_the_node_ids(run, graph, small):
    outcome = run(f"embed {graph} -o v.parquet {small} --seed 5")
    assert outcome.out == ""
    named = read("edges.csv", nodes="nodes.csv", label_column="topic")
    settings = resolve(named.graph, {"hidden": 4, "epochs": 3}).settings
    expected = fit(named.graph, settings, seed=5, device="cpu").vectors()
    table = pq.read_table("v.parquet")
    assert table.column_names == ["id", "embedding"]
    assert table["id"].to_pylist() == [f"n{i}" for i in range(12)]
    assert np.array_equal(np.stack(table["embedding"].to_numpy()), expected)


def test_json_result_has_these_keys(run, graph, small):
    result = run(f"embed {graph} -o v.parquet {small} --json").json
    assert [key for key in result if key in KEYS] == KEYS
    counted = {key: result[key] for key in ("task", "nodes", "edges", "graphs", "dim", "epochs", "output")}
    assert counted == dict(task="node", nodes=12, edges=13, graphs=1, dim=11, epochs=3, output="v.parquet")
    assert result["loss"] > 0
    assert result["seconds"] > 0
    assert result["peak_memory_mb"] > 10
    assert (result["seed"], result["device"]) == (0, "cpu")


def test_reported_loss_is_the_lowest(run, graph):
    named = read("edges.csv", nodes="nodes.csv", label_column="topic")
    settings = resolve(named.graph, {"hidden": 4, "epochs": 6, "learning_rate": 0.5}).settings
    losses = fit(named.graph, settings, device="cpu").history.losses
    result = run(f"embed {graph} -o v.csv --hidden 4 --epochs 6 --learning-rate 0.5 --device cpu --json").json
    assert result["loss"] == min(losses) < losses[-1]


def test_many_graphs_get_a_vector_per_graph(run, many_graphs, small):
    result = run(f"embed {many_graphs} -o v.csv {small} --json").json
    assert (result["task"], result["graphs"], result["nodes"], result["edges"]) == ("graph", 6, 33, 33)
    assert read_embeddings("v.csv").ids.tolist() == [f"ring{size}" for size in range(3, 9)]


@pytest.mark.parametrize("extension", ["parquet", "csv", "tsv", "npy"])
def test_every_file_type_holds_the_same_vectors(run, graph, small, extension):
    run(f"embed {graph} -o first.parquet {small}")
    run(f"embed {graph} -o v.{extension} {small}")
    first, other = read_embeddings("first.parquet"), read_embeddings(f"v.{extension}")
    assert np.array_equal(first.vectors, other.vectors)
    assert first.ids.tolist() == other.ids.tolist()


def test_vectors_depend_on_the_seed_only(run, graph, small):
    for name, seed in (("a", ""), ("b", "--seed 0"), ("c", "--seed 1"), ("d", "--seed 1")):
        run(f"embed {graph} -o {name}.npy {small} {seed}")
    a, b, c, d = (Path(f"{name}.npy").read_bytes() for name in "abcd")
    assert a == b != c == d


@pytest.mark.parametrize("flag", ["--hidden 8", "--epochs 7", "--views adjacency,heat:t=2", "--bound nce"])
def test_flags_set_the_settings(run, graph, flag):
    name, value = flag.removeprefix("--").split()
    values = {"hidden": 4, "epochs": 3} | {name: int(value) if value.isdigit() else value}
    values |= {"views": value.split(",")} if name == "views" else {}
    rest = " ".join(f"--{key} {values[key]}" for key in ("hidden", "epochs") if key != name)
    run(f"embed {graph} -o v.npy --device cpu {rest} {flag}")
    settings = Settings(normalise="standard", **values)
    named = read("edges.csv", nodes="nodes.csv", label_column="topic")
    assert np.array_equal(vectors("v.npy"), fit(named.graph, settings, device="cpu").vectors())


def test_automatic_choices_are_printed_on_one_line(run, graph, many_graphs, small):
    printed = run(f"embed {graph} -o v.csv {small}").err.splitlines()
    (line,) = [line for line in printed if line.startswith("picked: ")]
    assert line.startswith("picked: task node (one graph); 2 features scaled by column; ppr exact (12 nodes)")
    assert "whole graph in each step" in line
    assert line.endswith("; vectors of up to 12: codes of adjacency and ppr, raw and propagated features, positions")
    assert printed[-1].endswith("wrote 12 vectors of 11 to v.csv")
    (line,) = [line for line in run(f"embed {many_graphs} -o r.csv {small}").err.splitlines() if "picked" in line]
    assert line == (
        "picked: task graph (6 graphs); degrees as features (none are given); ppr exact (199 entries); "
        "vectors of up to 6: codes of adjacency and ppr, counts of substructures, histogram"
    )


def test_given_settings_are_not_listed_as_choices(run, graph, small):
    flags = "--task node --normalise row --views adjacency,ppr:top_k=3 --sampler full"
    printed = run(f"embed {graph} -o v.csv {small} {flags} --beside propagated+position").err.splitlines()
    assert "picked: vectors of up to 12: codes of adjacency and ppr, raw and propagated features, positions" in printed
    printed = run(f"embed {graph} -o v.csv {small} {flags} --preset paper").err.splitlines()
    assert "picked: vectors of 4: sum of the codes of adjacency and ppr" in printed


def test_quiet_prints_nothing_and_verbose_prints_more(run, graph, small):
    assert run(f"embed {graph} -o v.csv {small} -q").err == ""
    assert run(f"embed {graph} -o v.csv {small} -q -vv").err == ""
    plain, once, twice = (run(f"embed {graph} -o v.csv {small} {flag}").err.splitlines() for flag in ("", "-v", "-vv"))
    assert set(map(without_time, plain)) < set(map(without_time, once)) < set(map(without_time, twice))
    assert any("12 nodes" in line and "seed 0" in line for line in once)
    assert [line.split(":")[0] for line in twice if line.startswith("epoch")] == ["epoch 1", "epoch 2", "epoch 3"]
    assert len(set(twice)) == len(twice)  # no line is printed twice


def without_time(line):
    return re.sub(r"\d+ s\b", "", line)


def test_ids_with_spaces_and_graphs_without_edges_are_noted(run, small):
    Path("spaces.csv").write_text("source,target\na, b\nb,c\n")
    assert "note: ids are used as written, including spaces: ' b'" in run(f"embed spaces.csv -o v.csv {small}").err
    Path("loops.csv").write_text("source,target\na,a\nb,b\n")
    outcome = run(f"embed loops.csv -o v.csv {small}")
    assert "note: the graph has no edges" in outcome.err


def test_constant_features_still_give_different_vectors(run, graph, small):
    Path("same.csv").write_text("id,x,y\n" + "".join(f"n{i},1,5\n" for i in range(12)))
    printed = run(f"embed edges.csv --nodes same.csv -o v.npy {small}").err
    assert "positions in the graph as features (the given ones are the same for every node)" in printed
    assert len(np.unique(vectors("v.npy").round(4), axis=0)) > 1


def test_existing_output_is_replaced(run, graph, small):
    Path("v.csv").write_text("an earlier file")
    run(f"embed {graph} -o v.csv {small}")
    assert vectors("v.csv").shape == (12, 11)
    assert sorted(path.name for path in Path().iterdir()) == ["edges.csv", "nodes.csv", "v.csv"]


def test_folders_of_the_output_are_created(run, graph, small):
    run(f"embed {graph} -o deep/er/v.csv {small}")
    assert vectors("deep/er/v.csv").shape == (12, 11)


IN_A_TERMINAL = """
import os, sys
from mvgrl.cli import main
words = "embed edges.csv -o v.csv --hidden 4 --epochs 3 --device cpu".split()
for colours in (True, False):
    if not colours:
        os.environ["NO_COLOR"] = "1"
    assert main(words) == 0
    print("NEXT", file=sys.stderr, flush=True)
assert main([*words, "-q"]) == 0
"""


def test_terminal_shows_a_progress_bar_and_respects_no_color(graph, in_a_terminal):
    coloured, plain, quiet = in_a_terminal(IN_A_TERMINAL).split("NEXT")
    colour = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|38;[25][;\d]*|9[0-7])m")
    assert colour.search(coloured)
    assert not colour.search(plain)
    for shown in (coloured, plain):
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
        assert re.search(r"training .*3/3 loss \d\.\d+, lowest \d\.\d+ \d:\d\d:\d\d at most (-|\d):", text), text
    assert quiet.strip() == ""


def test_no_progress_bar_without_a_terminal(run, graph, small):
    printed = run(f"embed {graph} -o v.csv {small}").err
    assert "\x1b" not in printed
    assert "at most" not in printed
    assert "training" not in printed

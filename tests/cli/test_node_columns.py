"""Columns of the node table in the shell: chosen by flags, printed, kept in the model, and applied to new nodes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mvgrl.tables.embeddings import read_embeddings

WORDS = ["cat", "dog", "tree", "river", "stone", "cloud"]


@pytest.fixture
def people(graph):
    """A table of nodes with columns of all kinds, in people.csv, and the edges of the sample graph."""

    def row(i):
        age = "" if i == 4 else str(20 + i)
        bio = " ".join(WORDS[(i + j) % 6] for j in range(0, 12, 1 + i % 2))
        return f"n{i},{age},{100_000 * i},{i % 2 == 0},{['Rome', 'Oslo', ''][i % 3]},{bio},{2000 + i}-05-01,{i % 2}"

    head = "id,age,income,member,city,bio,joined,target"
    Path("people.csv").write_text("\n".join([head, *map(row, range(12))]) + "\n")
    return "edges.csv --nodes people.csv"


def test_columns_are_printed_and_kept_in_the_model(run, people, small):
    printed = run(f"train {people} -o model {small}").err
    line = (
        "features: age (number, 26 where missing), income, target (numbers), member (boolean), city (2 categories or "
        "missing), bio (text, 4,096 hashed words), joined (date); numbers scaled to 0…1 to match categories and text"
    )
    assert f"note: {line}\n" in printed
    assert "note: column 'target' is used as a feature; if it is what you want to predict" in printed
    summary = line.removeprefix("features: ")
    assert json.loads(Path("model/config.json").read_text())["columns"] == summary
    assert f"| columns | {summary} |" in Path("model/README.md").read_text()
    assert run("info model --json").json["columns"] == summary
    assert summary in run("info model").out
    assert line in run(f"info {people} --json").json["notes"]


def test_apply_encodes_as_in_training(run, people, small):
    run(f"train {people} -o model {small}")
    run(f"embed {people} -o trained.npy {small}")
    run(f"apply model {people} -o again.npy")
    assert np.array_equal(read_embeddings("trained.npy").vectors, read_embeddings("again.npy").vectors)
    lines = Path("people.csv").read_text().splitlines()
    lines = [lines[0] + ",extra", *(line.replace("Oslo", "Bonn") + ",1" for line in lines[1:])]
    Path("new.csv").write_text("\n".join(lines) + "\n")
    printed = run("apply model edges.csv --nodes new.csv -o new.npy").err
    assert "ignored columns that the model was not trained with: extra" in printed
    assert "column 'city': 4 rows have values such as 'Bonn'" in printed
    assert "features:" not in printed


def test_apply_names_missing_columns(refused, run, people, small):
    run(f"train {people} -o model {small}")
    cut = [",".join(line.split(",")[:3]) for line in Path("people.csv").read_text().splitlines()]
    Path("cut.csv").write_text("\n".join(cut) + "\n")
    words = ["cut.csv has no column 'member', 'city', 'bio', 'joined', 'target'", "it has 'age', 'income'"]
    refused("apply model edges.csv --nodes cut.csv -o v.npy", *words)
    refused("apply model edges.csv -o v.npy", "columns age, income, member", "--nodes")
    refused(f"apply model {people} --ignore age -o v.npy", "omit --ignore")
    refused(f"apply model {people} --text-column age -o v.npy", "omit --text-column")


def test_flags_choose_columns(run, people, small):
    printed = run(f"embed {people} -o v.npy {small} --features age,city").err
    assert "features: age (number, 26 where missing), city (2 categories or missing); numbers" in printed
    printed = run(f"embed {people} -o v.npy {small} --ignore age,bio,income,target,joined").err
    assert "features: member (boolean), city (2 categories or missing)\n" in printed
    chosen = "--features age --text-column city --text-column bio"
    assert "city, bio (text" in run(f"embed {people} -o v.npy {small} {chosen}").err


def test_kinds_of_features_still_work(run, refused, people, small):
    printed = run(f"embed {people} -o v.npy {small} --features degree-one-hot").err
    assert "note: features" not in printed
    Path("people.csv").write_text(Path("people.csv").read_text().replace("age", "degree", 1))
    refused(f"embed {people} -o w.npy {small} --features degree", "'degree' is both", "--ignore degree")
    assert "note: features: degree (number" in run(f"embed {people} -o w.npy {small} --features degree,").err
    assert "note: features" not in run(f"embed {people} -o x.npy {small} --features degree --ignore degree").err


def test_wrong_columns_are_refused(refused, people, small, data_root):
    refused(f"embed {people} -o v.npy --features age,ctiy", "people.csv has no column 'ctiy'", "'city'")
    refused("embed edges.csv -o v.npy --features age,city", "age,city", "--nodes")
    refused("embed edges.csv -o v.npy --features degres", "'degres'", "'degree'")
    refused(f"embed cora-linqs --data-root {data_root} -o v.npy --ignore age", "--ignore")
    refused(f"embed cora-linqs --data-root {data_root} -o v.npy --text-column age", "--text-column")


def test_chosen_columns_are_part_of_a_printed_configuration(run, people, small):
    text = run(f"train {people} {small} --features age --print-config").out
    assert 'features = "age,"' in text
    Path("run.toml").write_text(text)
    run(f"embed {people} -o one.npy --config run.toml")
    run(f"embed {people} -o two.npy {small} --features age")
    assert np.array_equal(read_embeddings("one.npy").vectors, read_embeddings("two.npy").vectors)


def test_a_model_without_features_ignores_the_columns_of_new_nodes(run, people, small):
    run(f"train edges.csv -o model {small} --features degree-one-hot")
    printed = run(f"apply model {people} -o v.npy").err
    assert "features:" not in printed


def test_labels_that_were_a_feature_are_called_out(run, people, small):
    run(f"embed {people} -o v.parquet {small}")
    evaluate = "evaluate v.parquet --labels people.csv --splits 1 --protocol clustering --label-column"
    assert "the column 'target' as a feature, so they contain the labels" in run(f"{evaluate} target").err
    run(f"embed {people} -o v.parquet {small} --ignore target")
    assert "as a feature" not in run(f"{evaluate} target").err
    run(f"train {people} -o model {small}")
    run(f"apply model {people} -o v.parquet")
    assert "the column 'target' as a feature" in run(f"{evaluate} target").err


def test_codes_with_leading_zeros_are_the_same_categories_in_every_file(run, graph, small):
    def write(name, codes):
        Path(name).write_text("id,code\n" + "".join(f"n{i},{codes[i % len(codes)]}\n" for i in range(12)))

    write("codes.csv", ["01", "02", "none"])
    write("later.csv", ["01", "02"])  # alone, these would be read as integers
    run(f"train edges.csv --nodes codes.csv -o model {small}")
    assert "not seen in training" not in run("apply model edges.csv --nodes later.csv -o v.npy").err


def test_the_result_of_a_run_has_the_columns(run, people, small):
    assert run(f"embed {people} -o v.npy {small} --features age, --json").json["columns"].startswith("age (number")

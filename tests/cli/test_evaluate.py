"""evaluate: scores of any table of embeddings, with labels matched by id."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mvgrl.datasets import load
from mvgrl.evaluation import (
    clustering_scores,
    cross_validate,
    linear_scores,
    logistic_scores,
    random_splits,
    regression_scores,
    regression_splits,
)
from mvgrl.tables.embeddings import Embeddings, write_embeddings


@pytest.fixture
def labelled(folder):
    """Sixty noisy vectors of three classes in v.parquet, and their labels, in another order, in labels.csv."""
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    vectors = (np.eye(3)[classes] + rng.normal(scale=0.6, size=(60, 3))).astype(np.float32)
    names = np.array(["ape", "bee", "cat"])[classes]
    write_embeddings("v.parquet", Embeddings(np.array([f"n{i}" for i in range(60)]), vectors))
    write_rows("labels.csv", "id,label", [f"n{i},{names[i]}" for i in rng.permutation(60)])
    return vectors, names


def write_rows(path, header, rows):
    Path(path).write_text("\n".join([header, *rows]) + "\n")


def scores(values):
    return {"mean": pytest.approx(np.mean(values)), "std": pytest.approx(np.std(values))}


@pytest.mark.parametrize(
    ("flag", "protocol", "score"),
    [("", "logistic", logistic_scores), ("--protocol linear", "linear", linear_scores)],
    ids=["default", "linear"],
)
def test_random_splits_are_scored_with_labels_matched_by_id(run, labelled, flag, protocol, score):
    vectors, names = labelled
    expected = score(vectors, names, random_splits(names, count=3, seed=0))
    result = run(f"evaluate v.parquet --labels labels.csv --splits 3 --json {flag}").json
    assert list(result)[:4] == ["protocol", "splits", "accuracy", "macro_f1"]
    assert (result["protocol"], result["splits"]) == (protocol, 3)
    assert result["accuracy"] == scores(expected["accuracy"])
    assert result["macro_f1"] == scores(expected["macro_f1"])
    assert 50 < result["accuracy"]["mean"] < 100
    assert result["accuracy"]["std"] > 0


@pytest.mark.parametrize("protocol", ["logistic", "linear"])
def test_a_terminal_shows_how_many_splits_are_scored(labelled, in_a_terminal, protocol):
    words = ["evaluate", "v.parquet", "--labels", "labels.csv", "--splits", "3", "--protocol", protocol]
    assert "scored 3 of 3 splits" in in_a_terminal(f"from mvgrl.cli import main; main({words})")
    assert "scored" not in in_a_terminal(f"from mvgrl.cli import main; main({[*words, '-q']})")


def test_fractions_number_and_seed_of_splits_can_be_chosen(run, labelled):
    vectors, names = labelled
    splits = random_splits(names, train_fraction=0.5, val_fraction=0, count=2, seed=4)
    line = "evaluate v.parquet --labels labels.csv --train-fraction .5 --splits 2 --seed 4 --json"
    result = run(f"{line} --val-fraction 0 --protocol linear").json
    assert result["splits"] == 2
    assert result["accuracy"] == scores(linear_scores(vectors, names, splits, seed=4)["accuracy"])
    assert "validation_accuracy" not in result
    splits = random_splits(names, train_fraction=0.5, val_fraction=0.2, count=2, seed=4)
    result = run(f"{line} --val-fraction .2").json
    assert result["splits"] == 2
    assert result["accuracy"] == scores(logistic_scores(vectors, names, splits)["accuracy"])


def test_scores_depend_on_the_seed_alone(run, labelled):
    line = "evaluate v.parquet --labels labels.csv --splits 2 --json"
    first, again, other = (run(f"{line} --seed {seed}").json for seed in (1, 1, 2))
    assert first == again != other


def test_split_of_a_file_is_used(run, labelled):
    vectors, names = labelled
    part = np.array(["train", "val", "test", "test", "train"] * 12)
    rows = [f"n{i},{part[i]}" for i in reversed(range(60))]
    write_rows("split.csv", "id,split", rows)
    expected = linear_scores(
        vectors, names, [{name: np.flatnonzero(part == name) for name in ("train", "val", "test")}]
    )
    line = "evaluate v.parquet --labels labels.csv --split split.csv --protocol linear"
    result = run(f"{line} --json").json
    assert result["splits"] == 1
    assert result["accuracy"] == {"mean": pytest.approx(expected["accuracy"][0]), "std": 0}
    assert result["validation_accuracy"]["mean"] == pytest.approx(expected["validation_accuracy"][0])
    shown = run(line).out
    assert shown.startswith("linear: the split of split.csv\n")
    assert f"{expected['accuracy'][0]:.2f} ± 0.00" in shown


def test_default_is_converged_logistic_regression(run, refused, labelled):
    vectors, names = labelled
    part = np.array(["train", "val", "test", "test", "train"] * 12)
    write_rows("split.csv", "id,split", [f"n{i},{part[i]}" for i in range(60)])
    expected = logistic_scores(
        vectors, names, [{name: np.flatnonzero(part == name) for name in ("train", "val", "test")}]
    )
    result = run("evaluate v.parquet --labels labels.csv --split split.csv --protocol logistic --json").json
    assert (result["protocol"], result["splits"]) == ("logistic", 1)
    assert result["accuracy"]["mean"] == pytest.approx(expected["accuracy"][0])
    assert run("evaluate v.parquet --labels labels.csv --split split.csv --json").json == result
    shown = run("evaluate v.parquet --labels labels.csv --split split.csv").out
    assert shown.startswith("logistic: the split of split.csv\n")
    assert f"{expected['accuracy'][0]:.2f} ± 0.00" in shown
    assert run("evaluate v.parquet --labels labels.csv --protocol logistic --splits 3 --json").json["splits"] == 3
    write_rows("split.csv", "id,split", [f"n{i},{'test' if part[i] == 'val' else part[i]}" for i in range(60)])
    refused("evaluate v.parquet --labels labels.csv --split split.csv ", "val is empty", "--protocol linear")


def test_split_of_a_dataset_is_the_default(run, cora):
    rng = np.random.default_rng(0)
    topics = np.arange(1500) % 7
    vectors = (np.eye(7)[topics] + rng.normal(scale=0.5, size=(1500, 7))).astype(np.float32)
    order = rng.permutation(1500)
    write_embeddings("v.npy", Embeddings(order, vectors[order]))
    parts = {"train": np.arange(140), "val": np.arange(200, 500), "test": np.arange(500, 1500)}
    names = np.array(load("cora-linqs", cora).classes)[topics]
    line = f"evaluate v.npy --labels cora-linqs --data-root {cora} -q"
    for score, protocol in ((logistic_scores, "logistic"), (linear_scores, "linear")):
        expected = score(vectors, names, [parts])
        result = run(f"{line} --protocol {protocol} --json").json
        assert result["splits"] == 1
        # Sums over rows in another order round differently: one paper in a thousand may be classified differently.
        assert result["accuracy"]["mean"] == pytest.approx(expected["accuracy"][0], abs=0.1)
        assert run(f"{line} --protocol {protocol}").out.startswith(f"{protocol}: the split of cora-linqs\n")
    assert run(f"{line} --splits 2 --json").json["splits"] == 2  # random splits, because they are requested
    assert run(line).out.startswith("logistic: the split of cora-linqs\n")


def test_clustering(run, labelled):
    vectors, names = labelled
    expected = clustering_scores(vectors, names, runs=3, seed=5)
    result = run("evaluate v.parquet --labels labels.csv --protocol clustering --splits 3 --seed 5 --json").json
    assert list(result) == ["protocol", "splits", "nmi", "ari", "rows", "labelled"]
    assert (result["protocol"], result["splits"]) == ("clustering", 3)
    assert result["nmi"] == scores(expected["nmi"])
    assert result["ari"] == scores(expected["ari"])
    assert run("evaluate v.parquet --labels labels.csv --protocol clustering --json").json["splits"] == 10


def test_svm(run, labelled):
    vectors, names = labelled
    found = cross_validate(vectors, names, folds=4, runs=2, seed=5)
    line = "evaluate v.parquet --labels labels.csv --protocol svm --folds 4 --splits 2 --seed 5"
    result = run(f"{line} --json").json
    assert list(result) == ["protocol", "splits", "accuracy", "macro_f1", "best_c_accuracy", "rows", "labelled"]
    assert (result["protocol"], result["splits"]) == ("svm", 2)
    assert result["accuracy"] == scores(found.nested_accuracy)
    assert result["macro_f1"] == scores(found.nested_macro_f1)
    assert result["best_c_accuracy"] == scores(found.best_c_accuracy)
    shown = run(line).out.splitlines()
    assert shown[0] == "svm: 2 runs of nested 4-fold cross-validation"
    assert shown[3].split()[:2] == ["best-C", "accuracy"]


def test_svm_on_the_graphs_of_a_dataset(run, data_root):
    mutag = load("mutag", data_root)
    vectors = np.random.default_rng(0).normal(size=(188, 3)) + mutag.target[:, None]
    write_embeddings("v.npy", Embeddings(np.arange(188), vectors))
    result = run(f"evaluate v.npy --labels mutag --data-root {data_root} --protocol svm --splits 1 --json").json
    assert result["accuracy"] == scores(cross_validate(vectors, mutag.target).nested_accuracy)


def test_too_many_folds_for_a_class_are_rejected(refused, labelled):
    refused("evaluate v.parquet --labels labels.csv --protocol svm --folds 21", "20 members", "at most 20 folds")


@pytest.mark.parametrize("protocol", ["clustering", "svm --folds 3"])
def test_rows_without_a_label_do_not_change_clustering_or_svm(run, labelled, protocol):
    vectors, names = labelled
    write_rows("some.csv", "id,label", [f"n{i},{names[i] if i < 40 else ''}" for i in range(50)])
    write_embeddings("known.parquet", Embeddings(np.array([f"n{i}" for i in range(40)]), vectors[:40]))
    some, known = (
        run(f"evaluate {table}.parquet --labels some.csv --protocol {protocol} --splits 2 --json").json
        for table in ("v", "known")
    )
    assert (some.pop("rows"), known.pop("rows")) == (60, 40)
    assert some == known
    assert some["labelled"] == 40


def test_rows_without_a_label_are_skipped(run, labelled):
    vectors, names = labelled
    write_rows("some.csv", "id,label", [f"n{i},{names[i] if i % 2 else ''}" for i in range(50)])
    known = np.array([names[i] if i < 50 and i % 2 else "" for i in range(60)])
    for score, protocol in ((logistic_scores, "logistic"), (linear_scores, "linear")):
        expected = score(vectors, known, random_splits(known, count=2))
        result = run(f"evaluate v.parquet --labels some.csv --splits 2 --protocol {protocol} --json").json
        assert result["accuracy"] == scores(expected["accuracy"])


def test_tables_of_other_tools_are_scored(run, labelled):
    vectors, names = labelled
    columns = [f"{i},{','.join(map(str, vector))}" for i, vector in enumerate(vectors)]
    write_rows("theirs.csv", "node,x,y,z", columns)
    write_rows("kinds.tsv", "name\tage\tkind", [f"{i}\t{i % 9}\t{names[i]}" for i in range(60)])
    theirs = run("evaluate theirs.csv --labels kinds.tsv --id-column name --label-column kind --splits 1 --json").json
    assert theirs == run("evaluate v.parquet --labels labels.csv --splits 1 --json").json


def test_default_is_twenty_random_splits_and_a_line_per_score(run, labelled):
    outcome = run("evaluate v.parquet --labels labels.csv")
    lines = outcome.out.splitlines()
    assert lines[0] == "logistic: 20 random splits, 10% train, 10% validation"
    assert [line.split()[0] for line in lines[1:]] == ["accuracy", "macro-F1", "labelled"]
    assert lines[-1].split() == ["labelled", "rows", "60", "of", "60"]
    outcome = run("evaluate v.parquet --labels labels.csv --protocol linear")
    lines = outcome.out.splitlines()
    assert outcome.err == ""
    assert lines[0] == "linear: 20 random splits, 10% train, 10% validation"
    assert [line.split()[0] for line in lines[1:]] == ["accuracy", "macro-F1", "validation", "labelled"]
    shown = run("evaluate v.parquet --labels labels.csv --protocol clustering").out
    assert shown.splitlines()[0] == "clustering: 10 runs of K-Means"
    assert "NMI" in shown
    assert "ARI" in shown


def test_default_prints_only_scores(run, labelled):
    assert run("evaluate v.parquet --labels labels.csv").err == ""


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--protocol linaer", ["'linaer'", "'linear'", "'svm'"]),
        ("--protocol clustering --train-fraction .2", ["--train-fraction", "clustering", "omit it"]),
        ("--protocol clustering --split labels.csv", ["--split", "clustering"]),
        ("--folds 3", ["--folds", "logistic", "omit it"]),
        ("--protocol linear --folds 3", ["--folds", "linear", "omit it"]),
        ("--protocol svm --folds 1", ["--folds is 1", "at least 2"]),
        ("--splits 0", ["--splits is 0", "at least 1"]),
        ("--split labels.csv --splits 3", ["--splits", "--split file", "omit it"]),
        ("--split labels.csv --val-fraction .1", ["--val-fraction", "--split file"]),
        ("--train-fraction .9 --val-fraction .1", ["0.9", "0.1", "leave nothing to test"]),
        ("--train-fraction nan", ["nan", "between 0 and 1"]),
        ("--device cuda:99", ["'cuda:99'", "'auto' or 'cpu'"]),
        ("--seed -1", ["-1", "--seed"]),
    ],
)
def test_options_that_do_not_apply_are_rejected(refused, labelled, flags, words):
    refused(f"evaluate v.parquet --labels labels.csv {flags}", *words)


def test_split_with_an_unlabelled_id_is_rejected(refused, labelled):
    write_rows("some.csv", "id,label", ["n0,ape", "n1,bee", "n3,ape", "n4,bee", "n7,"])
    write_rows("split.csv", "id,split", ["n0,train", "n1,train", "n3,test", "n9,test"])
    line = refused(
        "evaluate v.parquet --labels some.csv --split split.csv",
        *("split.csv, line 5", "'n9'", "test", "some.csv has no label", "add the label", "remove the id"),
    )
    assert "node 9" not in line
    write_rows("split.csv", "id,split", ["n7,train", "n1,train", "n3,test"])
    refused("evaluate v.parquet --labels some.csv --split split.csv", "split.csv, line 2", "'n7'", "train", "some.csv")


def test_split_with_a_class_missing_from_train_is_rejected(refused, labelled):
    write_rows("split.csv", "id,split", ["n0,train", "n1,train", "n3,test", "n2,val"])
    refused(
        "evaluate v.parquet --labels labels.csv --split split.csv",
        *("split.csv, line 5", "'n2'", "val", "class cat", "which is missing from train"),
    )


def test_split_with_ids_without_embedding_is_rejected(refused, labelled, cora):
    write_rows("split.csv", "id,split", ["n0,train", "n1,train", "n3,test", "n99,test"])
    refused("evaluate v.parquet --labels labels.csv --split split.csv", "split.csv, line 5", "'n99'", "no embedding")
    write_embeddings("few.npy", Embeddings(np.arange(700), np.ones((700, 2))))
    refused(f"evaluate few.npy --labels cora-linqs --data-root {cora} -q", "cora-linqs", "700", "no embedding")


def test_no_common_id_shows_one_of_each(refused, labelled, cora):
    write_rows("others.csv", "id,label", ["x1,ape", "x2,bee"])
    refused("evaluate v.parquet --labels others.csv", "others.csv", "'x1'", "'n0'", "another")
    refused(f"evaluate v.parquet --labels cora-linqs --data-root {cora} -q", "cora-linqs", "0", "'n0'")


def test_dataset_has_its_own_columns(refused, labelled, cora):
    line = f"evaluate v.parquet --labels cora-linqs --data-root {cora} -q"
    refused(f"{line} --label-column topic", "cora-linqs", "--label-column")
    refused(f"{line} --id-column paper", "cora-linqs", "--id-column")


def test_single_class_is_rejected(refused, labelled):
    write_rows("same.csv", "id,label", [f"n{i},ape" for i in range(60)])
    refused("evaluate v.parquet --labels same.csv", "only the class ape", "two classes")


@pytest.fixture
def measured(labelled):
    """A price for all but one of the sixty nodes, a linear function of its vector with noise, in prices.csv."""
    vectors, _ = labelled
    prices = vectors @ np.array([1.0, -2.0, 0.5]) + np.random.default_rng(1).normal(scale=0.1, size=60)
    write_rows("prices.csv", "id,label", [f"n{i},{prices[i]:.4f}" for i in range(59)])
    return vectors, np.append(np.round(prices[:59], 4), np.nan)


def test_measurements_are_regressed(run, measured):
    vectors, prices = measured
    line = "evaluate v.parquet --labels prices.csv --train-fraction .5 --splits 3"
    splits = regression_splits(prices, train_fraction=0.5, count=3)
    expected = regression_scores(vectors, prices, splits)
    result = run(f"{line} --json").json
    assert list(result) == ["protocol", "splits", "r2", "mae", "rows", "labelled"]
    assert (result["protocol"], result["splits"], result["labelled"]) == ("regression", 3, 59)
    assert result["r2"] == scores(expected["r2"])
    assert result["mae"] == scores(expected["mae"])
    assert result["r2"]["mean"] > 0.9
    assert [text.split()[0] for text in run(line).out.splitlines()] == ["regression:", "R²", "mean", "labelled"]


def test_split_of_a_file_is_used_for_regression(run, measured):
    vectors, prices = measured
    part = np.array(["train", "val", "test", "train", "train"] * 12)
    write_rows("split.csv", "id,split", [f"n{i},{part[i]}" for i in range(59)])
    split = {name: np.flatnonzero(part[:59] == name) for name in ("train", "val", "test")}
    result = run("evaluate v.parquet --labels prices.csv --split split.csv --json").json
    assert result["mae"] == scores(regression_scores(vectors, prices, [split])["mae"])


@pytest.mark.parametrize("protocol", ["logistic", "linear", "clustering", "svm"])
def test_measurements_are_not_scored_as_classes(run, measured, protocol):
    outcome = run(f"evaluate v.parquet --labels prices.csv --protocol {protocol}", code=2)
    assert "prices.csv are numbers with fractions, not classes; use --protocol regression" in outcome.err


def test_text_is_not_regressed(run, labelled):
    outcome = run("evaluate v.parquet --labels labels.csv --protocol regression", code=2)
    assert "labels.csv are not numbers" in outcome.err


def test_whole_numbers_can_be_classes_or_measurements(run, labelled):
    write_rows("years.csv", "id,label", [f"n{i},{1960 + i % 3}" for i in range(60)])
    line = "evaluate v.parquet --labels years.csv --splits 2 --json"
    assert run(line).json["protocol"] == "logistic"
    assert run(f"{line} --protocol regression").json["r2"]["mean"] < 1

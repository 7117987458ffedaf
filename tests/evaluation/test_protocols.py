"""Protocols: scores per seed from vectors, kernels or predictions, computed together where possible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

from mvgrl.datasets import Dataset
from mvgrl.evaluation import clustering_scores, cross_validate, linear_probe, logistic_probe, protocols
from mvgrl.evaluation.protocols import PROTOCOLS, Evaluation, measure
from mvgrl.evaluation.random_probe import random_10_accuracy, tuning_nodes
from mvgrl.evaluation.scores import SCORES
from mvgrl.evaluation.splits import random_splits
from mvgrl.evaluation.svm import choose_and_validate
from mvgrl.folds import shuffled_folds
from mvgrl.graphs import Graph
from mvgrl.methods import Outcome

CPU = torch.device("cpu")
SPLITS = {"train": np.arange(0, 60), "val": np.arange(60, 100), "test": np.arange(100, 190)}  # ten nodes are in no part


@pytest.fixture(scope="module")
def vectors() -> tuple[list[np.ndarray], np.ndarray]:
    """Return the vectors of 200 points for three seeds, and their classes."""
    points, labels = make_blobs(200, n_features=5, centers=3, cluster_std=4.0, random_state=1)
    rng = np.random.default_rng(0)
    return [(points + rng.normal(size=points.shape)).astype(np.float32) for _ in range(3)], labels


def dataset(task: str, labels: np.ndarray) -> Dataset:
    return Dataset("any", Graph.from_edges([0], [1]), labels, task, SPLITS if task == "node" else None, (), "")


def evaluation(task: str, vectors: tuple[list[np.ndarray], np.ndarray], **more: float) -> Evaluation:
    return Evaluation(dataset(task, vectors[1]), [Outcome(one) for one in vectors[0]], (3, 4, 5), CPU, **more)


def test_every_protocol_reports_the_scores_it_names(vectors) -> None:
    for name, protocol in PROTOCOLS.items():
        found = measure([name], evaluation(protocol.task, vectors, share=0.3))
        assert len(found) == 3
        for scores in found:
            assert set(protocol.scores) <= set(scores) <= set(SCORES)


def test_probes_of_many_seeds_score_the_same_as_separate_ones(vectors) -> None:
    many, labels = vectors
    found = measure(["linear-probe", "converged-probe", "clustering"], evaluation("node", vectors, weight_decay=0.01))
    for seed, codes, scores in zip((3, 4, 5), many, found, strict=True):
        train, val, test = SPLITS.values()
        options = dict(weight_decay=0.01, seed=seed)
        assert scores["accuracy"] == pytest.approx(100 * linear_probe(codes, labels, train, test, **options))
        assert scores["validation"] == pytest.approx(100 * linear_probe(codes, labels, train, val, **options))
        assert scores["logistic"] == pytest.approx(100 * logistic_probe(codes, labels, train, test, val=val))
        clusters = clustering_scores(codes, labels, runs=1, seed=seed)
        assert (scores["nmi"], scores["ari"]) == (clusters["nmi"][0], clusters["ari"][0])


def test_seeds_may_have_different_numbers_of_components(vectors) -> None:
    many, labels = vectors
    cut = [many[0], many[1][:, :3], many[2][:, :4]]
    found = measure(["converged-probe"], evaluation("node", (cut, labels)))
    train, val, test = SPLITS.values()
    for codes, scores in zip(cut, found, strict=True):
        assert scores["logistic"] == pytest.approx(100 * logistic_probe(codes, labels, train, test, val=val))


def test_random_splits_are_scored_per_split_and_once_per_outcome(vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    many, labels = vectors
    calls = []
    monkeypatch.setattr(
        protocols, "random_10_accuracy", lambda *args: calls.append(args[2]) or random_10_accuracy(*args)
    )
    one, other = Outcome(many[0]), Outcome(many[1])
    target = replace(dataset("node", labels), splits=None)
    runs = Evaluation(target, [one, one, other, one], [0, 2, 4, 3], CPU, splits=3)
    found = [scores["random_10"] for scores in measure(["random-10-10-80"], runs)]
    assert calls == [[0, 2], [1]]
    exclude = tuning_nodes(len(labels))
    first = random_10_accuracy(torch.from_numpy(many[0]), labels, [0, 2], exclude)
    second = random_10_accuracy(torch.from_numpy(many[1]), labels, [1], exclude)
    assert found == [first[0], first[1], second[0], first[0]]


def test_both_svm_protocols_come_from_one_cross_validation(vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(
        protocols, "choose_and_validate", lambda *args, **more: calls.append(more) or choose_and_validate(*args, **more)
    )
    found = measure(["nested-svm", "best-c-svm", "linear-probe"], evaluation("graph", vectors))
    assert [call["seed"] for call in calls] == [3, 4, 5]
    separate = cross_validate(vectors[0][1], vectors[1], seed=4)
    assert found[1] == {"nested": separate.nested_accuracy[0], "best_c": separate.best_c_accuracy[0]}


def test_a_kernel_scores_the_same_as_its_vectors(vectors) -> None:
    codes = vectors[0][0].astype(np.float64)
    target = dataset("graph", vectors[1])
    both = [Outcome(codes), Outcome(kernel=codes @ codes.T)]
    plain, kernel = (measure(["nested-svm"], Evaluation(target, [one], [0], CPU)) for one in both)
    assert kernel == plain


def test_an_outcome_with_choices_is_chosen_together_with_c(vectors) -> None:
    codes = vectors[0][0].astype(np.float64)
    target = dataset("graph", vectors[1])
    useless = Outcome(np.ones((len(codes), 2)))
    offered = Outcome(useless.vectors, choices=(useless, Outcome(kernel=codes @ codes.T)))
    (found,), (plain,), (bad,) = (
        measure(["nested-svm", "best-c-svm"], Evaluation(target, [one], [0], CPU))
        for one in (offered, Outcome(codes), useless)
    )
    assert found == plain
    assert found["nested"] > bad["nested"]


def test_predictions_are_scored_directly(vectors) -> None:
    labels = vectors[1]
    guesses = labels.copy()
    guesses[SPLITS["test"][:9]] = (guesses[SPLITS["test"][:9]] + 1) % 3
    evaluation = Evaluation(dataset("node", labels), [Outcome(predictions=guesses)], [0], CPU)
    (scores,) = measure(["linear-probe", "converged-probe"], evaluation)
    assert scores == {"accuracy": 90.0, "validation": 100.0, "logistic": 90.0}
    with pytest.raises(ValueError, match="predictions have no vectors"):
        measure(["clustering"], Evaluation(dataset("node", labels), [Outcome(predictions=guesses)], [0], CPU))


@pytest.mark.parametrize("public", [False, True])
def test_predictions_on_random_splits_are_scored_without_nodes_used_for_tuning(vectors, public: bool) -> None:
    labels = vectors[1]
    data = replace(dataset("node", labels), splits=SPLITS if public else None)
    # On a graph with a public split, all but its test nodes were used for tuning.
    used = np.setdiff1d(np.arange(len(labels)), SPLITS["test"]) if public else tuning_nodes(len(labels))
    scored = [np.setdiff1d(split["test"], used) for split in random_splits(labels, count=3)]
    outcomes = []
    for nodes in scored:
        guesses = (labels + 1) % 3  # all wrong but for half of the scored nodes
        guesses[nodes[::2]] = labels[nodes[::2]]
        outcomes.append(Outcome(predictions=guesses))
    evaluation = Evaluation(data, outcomes, [0, 1, 2], CPU, splits=3)
    found = measure(["random-10-10-80", "random-20-80"], evaluation)
    assert found == [{"random_10": pytest.approx(100 * len(nodes[::2]) / len(nodes))} for nodes in scored]


def test_vectors_on_random_splits_of_a_graph_with_a_public_split_are_scored_on_its_test_nodes(vectors) -> None:
    many, labels = vectors
    runs = Evaluation(dataset("node", labels), [Outcome(many[0])], [0], CPU)
    (scores,) = measure(["random-10-10-80"], runs)
    train, val, test = random_splits(labels, count=1)[0].values()
    scored = np.intersect1d(test, SPLITS["test"])
    assert scores["random_10"] == pytest.approx(100 * logistic_probe(many[0], labels, train, scored, val=val))


def test_predictions_for_graphs_are_averaged_over_the_folds_of_the_seed(vectors) -> None:
    labels = vectors[1]
    folds = [held for _, held in shuffled_folds(10, 4, 0).split(labels, labels)]
    guesses = labels.copy()
    guesses[folds[3]] = (labels[folds[3]] + 1) % 3
    (scores,) = measure(["nested-svm"], Evaluation(dataset("graph", labels), [Outcome(predictions=guesses)], [4], CPU))
    assert scores == {"nested": pytest.approx(90.0)}


def test_a_score_is_defined_once_with_its_unit_and_digits() -> None:
    assert [SCORES[name].text(value, 0.05) for name, value in (("ari", 0.5), ("logistic", 80.25))] == [
        "0.500 ± 0.050",
        "80.2 ± 0.1",
    ]
    assert SCORES["nmi"].points(0.02) == SCORES["accuracy"].points(2.0) == 2.0
    assert (SCORES["best_c"].axis, SCORES["nmi"].axis) == ("accuracy (best-C), %", "NMI")

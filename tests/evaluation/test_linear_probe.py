"""The linear probe: the documented regression, alone or in a stack, and strict about its input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from mvgrl.errors import InputError
from mvgrl.evaluation import linear_predictions, linear_probe

TRAIN, TEST = np.arange(60), np.arange(60, 300)


@pytest.fixture(scope="module")
def blobs():
    points, labels = make_blobs(300, n_features=8, centers=4, cluster_std=4.5, random_state=0)
    return (points / 10).astype(np.float32), labels


def plain_probe(points, labels, steps=300, learning_rate=0.01, weight_decay=0.0, seed=0):
    """The protocol written out for one probe: a torch layer, a torch loss, torch's Adam."""
    points, labels = torch.from_numpy(points), torch.from_numpy(labels)
    train_points, train_labels = points[TRAIN], labels[TRAIN]
    layer = torch.nn.Linear(points.shape[1], int(labels.max()) + 1)
    torch.nn.init.zeros_(layer.bias)
    torch.nn.init.xavier_uniform_(layer.weight, generator=torch.Generator().manual_seed(seed))
    adam = torch.optim.Adam(layer.parameters(), lr=learning_rate, weight_decay=weight_decay)
    for _ in range(steps):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(layer(train_points), train_labels).backward()
        adam.step()
    return (layer(points[TEST]).argmax(dim=1) == labels[TEST]).double().mean().item()


@pytest.mark.parametrize(
    ("options", "seeds"),
    [({}, 1), ({"steps": 5}, 3), ({"steps": 40, "learning_rate": 0.1}, 3), ({"steps": 100, "weight_decay": 0.1}, 2)],
    ids=str,
)
def test_probe_equals_a_plain_training_loop(blobs, options, seeds):
    for seed in range(seeds):
        assert float(linear_probe(*blobs, TRAIN, TEST, seed=seed, **options)) == plain_probe(
            *blobs, seed=seed, **options
        )


def test_long_training_reaches_scikit_learns_optimum(blobs):
    points, labels = blobs
    oracle = LogisticRegression(C=1e4, max_iter=5000).fit(points[TRAIN], labels[TRAIN])
    score = linear_probe(points, labels, TRAIN, TEST, steps=1000, learning_rate=0.1)
    assert abs(score - oracle.score(points[TEST], labels[TEST])) < 0.02


def test_probes_of_a_stack_do_not_affect_each_other(blobs):
    points, labels = blobs
    noise = np.random.default_rng(0).normal(size=(2, 3, *points.shape)).astype(np.float32)
    stack = points * np.array([[1, 0.3, 10], [0.1, 0, 1]], dtype=np.float32)[..., None, None] + noise / 3
    options = {"steps": 100, "weight_decay": 0.1}  # Adam hides a wrongly scaled loss, weight decay reveals it
    scores = linear_probe(stack, labels, TRAIN, TEST, **options)
    alone = [[float(linear_probe(one, labels, TRAIN, TEST, **options)) for one in row] for row in stack]
    assert scores.tolist() == alone
    assert len(np.unique(scores)) > 3


def test_a_stack_accepts_a_seed_per_probe(blobs):
    points, labels = blobs
    scores = linear_probe(np.stack([points] * 4), labels, TRAIN, TEST, steps=3, seed=range(4))
    assert scores.tolist() == [float(linear_probe(points, labels, TRAIN, TEST, steps=3, seed=s)) for s in range(4)]
    assert len(set(scores.tolist())) > 1
    with pytest.raises(InputError, match="2 seeds for 4 probes"):
        linear_probe(np.stack([points] * 4), labels, TRAIN, TEST, seed=[1, 2])


def test_a_stack_accepts_a_weight_decay_per_probe(blobs):
    points, labels = blobs
    decays = [0.0, 0.1, 1.0]
    together = linear_probe(np.stack([points] * 3), labels, TRAIN, TEST, weight_decay=decays, steps=100)
    assert together.tolist() == [plain_probe(points, labels, weight_decay=decay, steps=100) for decay in decays]
    assert len(set(together.tolist())) > 1
    with pytest.raises(InputError, match="2 weight decays for 3 probes; give one for all or one per probe"):
        linear_probe(np.stack([points] * 3), labels, TRAIN, TEST, weight_decay=[0.0, 0.1])


def test_arrays_tensors_masks_and_strings_give_the_same_score(blobs):
    points, labels = blobs
    mask = np.zeros(300, dtype=bool)
    mask[TRAIN] = True
    expected = linear_probe(points, labels, TRAIN, TEST, steps=30)
    assert expected.shape == ()
    tensors = [torch.from_numpy(array) for array in (points, labels, mask)]
    assert linear_probe(*tensors, ~mask, steps=30) == expected
    texts = [f"class {i}" for i in labels]
    assert linear_probe(points.tolist(), texts, TRAIN.tolist(), TEST.tolist(), steps=30) == expected


def test_the_global_random_state_is_neither_used_nor_changed(blobs):
    torch.manual_seed(1)
    before, first = torch.get_rng_state(), linear_probe(*blobs, TRAIN, TEST, steps=3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert linear_probe(*blobs, TRAIN, TEST, steps=3) == first


def test_probe_trains_when_gradients_are_disabled(blobs):
    points, labels = torch.from_numpy(blobs[0]), blobs[1]
    expected = linear_probe(points, labels, TRAIN, TEST, steps=30)
    with torch.no_grad():
        assert linear_probe(points, labels, TRAIN, TEST, steps=30) == expected
    with torch.inference_mode():
        frozen = points * 1.0
        assert linear_probe(frozen, labels, TRAIN, TEST, steps=30) == expected
    assert linear_probe(frozen, labels, TRAIN, TEST, steps=30) == expected


def test_the_embeddings_get_no_gradient(blobs):
    points = torch.from_numpy(blobs[0]).requires_grad_()
    linear_probe(points, blobs[1], TRAIN, TEST, steps=3)
    assert points.grad is None


def test_predictions_have_the_labels_dtype_and_match_the_score(blobs):
    points, labels = blobs
    texts = np.array([f"class {i}" for i in labels])
    for own in (labels, texts, texts.astype(object), labels > 1, labels / 4):
        predicted = linear_predictions(points, own, TRAIN, TEST, steps=30)
        assert predicted.dtype.kind == (own.dtype.kind if own.dtype != object else "U")
        assert set(predicted.tolist()) <= set(own[TRAIN].tolist())
        assert np.mean(predicted == own[TEST]) == float(linear_probe(points, own, TRAIN, TEST, steps=30))
    stack = np.stack([[points, points / 3, -points]] * 2)
    predicted = linear_predictions(stack, texts, TRAIN, TEST[:7], steps=30)
    assert predicted.shape == (2, 3, 7)
    assert predicted[1, 2].tolist() == linear_predictions(-points, texts, TRAIN, TEST[:7], steps=30).tolist()


@pytest.mark.parametrize("nothing", ["", None, np.nan], ids=repr)
def test_nodes_without_a_label_are_predicted_but_not_used_for_training_or_scoring(blobs, nothing):
    points, labels = blobs
    texts = [f"class {i}" for i in labels]
    expected = linear_predictions(points, texts, TRAIN, TEST, steps=30).tolist()
    texts[60:] = [nothing] * 240
    assert linear_predictions(points, texts, TRAIN, TEST, steps=30).tolist() == expected
    with pytest.raises(InputError, match="train node 60 has no label; give its label or take it out of the split"):
        linear_predictions(points, texts, np.arange(61), TEST)
    with pytest.raises(InputError, match="test node 60 has no label"):
        linear_probe(points, texts, TRAIN, TEST)


def spoiled(points):
    points = np.stack([points, points])
    points[1, 7, 2] = np.nan
    return points


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embeddings": lambda x: x[0]}, "nodes × columns"),
        ({"embeddings": lambda x: x[:, :0]}, "nodes × columns"),
        ({"embeddings": spoiled}, r"node 7, column 2 of stack element \[1\] is nan"),
        ({"embeddings": lambda x: [["a"]] * 300}, "not a table of numbers"),
        ({"labels": lambda y: y[:-1]}, r"labels has shape \(299,\).*300 nodes"),
        ({"labels": lambda y: np.where(np.arange(300) == 70, 9, y)}, "test node 70 has class 9"),
        ({"labels": lambda y: np.where(np.arange(300) == 70, np.nan, y)}, "test node 70 has no label"),
        ({"labels": lambda y: [*y[:-1], {"a"}]}, r"labels: node 299 has {'a'}; use a number, a string, or None"),
        ({"train": lambda t: []}, "train names no node; there is nothing to learn from"),
        ({"test": lambda t: np.zeros(300, dtype=bool)}, "test names no node; there is nothing to score"),
        ({"test": lambda t: np.ones(10, dtype=bool)}, "mask of shape"),
        ({"train": lambda t: t + 0.5}, "node numbers or a mask"),
        ({"train": lambda t: t + 280}, "train names node 300, but nodes are numbered 0 to 299"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_input_is_refused_with_its_place(blobs, change, message):
    arguments = {"embeddings": blobs[0], "labels": blobs[1], "train": TRAIN, "test": TEST}
    for name, spoil in change.items():
        arguments[name] = spoil(arguments[name])
    with pytest.raises(InputError, match=message):
        linear_probe(**arguments)

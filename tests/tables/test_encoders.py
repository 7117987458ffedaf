"""The columns of a table as features: fitted once, applied to later tables, saved as plain values."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.tables.columns import Place
from mvgrl.tables.encoders import TableEncoder
from mvgrl.tables.hashed_text import COLUMNS, hashed_text

NODES = Place("nodes")
BIOS = ["plays the piano in a jazz band", "walks along the river every day", "collects stones and old trees"] * 2
MESSY = {
    "age": [20, None, 60, 40, 30, 50],
    "income": [1e5, 2e5, 3e5, 4e5, 5e5, 6e5],
    "member": [True, False, True, True, False, False],
    "city": ["Rome", "Oslo", "Rome", None, "Oslo", "Rome"],
    "bio": BIOS,
    "joined": [dt.date(2000 + i, 1, 1) for i in range(6)],
}


def fit(columns, **more):
    return TableEncoder.fit(pa.table(columns), list(columns), NODES, **more)


def transform(encoder, columns, **more):
    return encoder.transform(pa.table(columns), NODES, **more)


def dense(features):
    return features.toarray() if sp.issparse(features) else features


def restored(encoder):
    state, weights = encoder.to_state()
    return TableEncoder.from_state(json.loads(json.dumps(state)), weights)


def test_numbers_and_booleans_alone_are_used_as_they_are():
    numbers = {"a": [1, 2], "b": [0.1, -7e9], "c": pa.array([1.5, 2.5], pa.float32()), "d": [True, False]}
    _, encoded = fit(numbers)
    assert encoded.features.dtype == np.float64
    assert encoded.features.tolist() == [[1, 0.1, 1.5, 1], [2, -7e9, 2.5, 0]]
    _, singles = fit({"a": pa.array([0.1], pa.float32())})
    assert singles.features.dtype == np.float32


def test_missing_numbers_are_the_median_with_an_indicator_column():
    encoder, encoded = fit({"age": [20.0, None, 40.0, float("nan")], "on": [True, None, None, True], "n": [1, 2, 3, 4]})
    assert encoder.names == ("age", "age is missing", "on", "on is missing", "n")
    assert encoded.features[:, :2].tolist() == [[20, 0], [30, 1], [40, 0], [30, 1]]
    assert encoded.features[:, 2:4].tolist() == [[1, 0], [1, 1], [1, 1], [1, 0]]
    later = transform(encoder, {"age": [None, 7], "on": [False, True], "n": [9, None]})
    assert later.features.tolist() == [[30, 1, 0, 0, 9], [7, 0, 1, 0, 2.5]]
    (note,) = later.notes  # there is no indicator for n: nothing was missing in training
    assert "'n'" in note
    assert "1 missing values are 2.5" in note


def test_categories_are_one_hot_the_most_frequent_first():
    encoder, encoded = fit({"city": ["Oslo", "Rome", None, "Rome", "Bonn", "", "Rome"]})
    assert encoder.names == ("city=Rome", "city is missing", "city=Bonn", "city=Oslo")
    assert encoded.features.dtype == np.float32
    assert encoded.features.sum(axis=1).tolist() == [1] * 7
    assert encoded.features[:, 1].tolist() == [0, 0, 1, 0, 0, 1, 0]
    later = transform(encoder, {"city": ["Paris", "Rome", None]})
    assert later.features.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]
    assert "1 rows have values such as 'Paris', not seen in training" in later.notes[0]


def test_a_column_declared_as_a_category_is_one():
    encoder, _ = fit({"code": pa.array([7, 8, 7, 9]).dictionary_encode()})
    assert encoder.names == ("code=7", "code=8", "code=9")
    assert transform(encoder, {"code": [8, 1]}).features.tolist() == [[0, 1, 0], [0, 0, 0]]
    many, _ = fit({"code": pa.array(range(101)).dictionary_encode()})
    assert many.names == ("code",)


def test_a_missing_category_is_zeros_if_there_was_none_in_training():
    encoder, _ = fit({"city": ["Oslo", "Rome", "Rome"]})
    assert transform(encoder, {"city": [None, "Oslo"]}).features.tolist() == [[0, 0], [0, 1]]


def test_text_is_the_same_as_that_of_the_datasets_and_sparse():
    encoder, encoded = fit({"bio": BIOS})
    assert isinstance(encoded.features, sp.csr_array)
    assert encoded.features.dtype == np.float32
    assert (encoded.features != hashed_text(BIOS)).nnz == 0
    assert (transform(encoder, {"bio": BIOS[1:3]}).features != hashed_text(BIOS)[1:3]).nnz == 0


def test_lists_of_words_are_text():
    tags = [["jazz", "piano"], ["rock"], [], None]
    _, encoded = fit({"tags": tags})
    assert (encoded.features != hashed_text(["jazz piano", "rock", "", ""])).nnz == 0


def test_rarity_of_words_is_learned_from_the_training_table():
    encoder, _ = fit({"bio": ["rare common", "common words", "common", "common"]}, text=["bio"])
    later = transform(encoder, {"bio": ["rare common", "rare rare", "rare"]}).features
    row = later[[0]]
    assert row.max() > 1.2 * row.data.min()  # among the new rows alone, "common" would be the rare word


def test_large_numbers_do_not_drown_categories_and_text():
    _, encoded = fit(MESSY)
    features = dense(encoded.features)
    assert features.min() >= 0  # so that features with text are scaled by row
    assert features.max() <= 1
    _, with_lists = fit({"city": MESSY["city"], "v": [[1e6 * i, -1e6 * i] for i in range(6)]})
    assert np.linalg.norm(with_lists.features[:, 3:], axis=1).max() <= 1


def test_outliers_do_not_squeeze_the_other_numbers():
    values = [*range(1000), 10**9]
    encoder, encoded = fit({"n": values, "city": ["Rome", "Oslo", "Rome"] + ["Oslo"] * 998})
    assert encoded.features[500, 0] == pytest.approx(0.5, abs=0.02)
    assert transform(encoder, {"n": [-(10**9), 10**9], "city": ["", ""]}).features[:, 0].tolist() == [0, 1]


def test_many_categories_are_sparse():
    _, encoded = fit({name: [f"{name}{i % 60}" for i in range(200)] for name in "ab"})
    assert isinstance(encoded.features, sp.csr_array)
    assert encoded.features.nnz == 400


def test_a_restored_encoder_gives_the_same_bits():
    columns = MESSY | {"v": [[float(i), i / 3] for i in range(6)]}
    encoder, encoded = fit(columns)
    again = restored(encoder)
    assert again.names == encoder.names
    assert again.summary == encoder.summary
    for one in (encoder, again):
        assert np.array_equal(dense(transform(one, columns).features), dense(encoded.features))


def test_one_line_says_how_each_column_is_encoded():
    _, encoded = fit(MESSY | {"v": [[1.0, 2.0]] * 6, "url": [f"x.org/{i}" for i in range(6)], "none": [None] * 6})
    assert encoded.notes[0] == (
        "features: age (number, 40 where missing), income (number), member (boolean), city (2 categories or missing), "
        "bio (text, 4,096 hashed words), joined (date), v (lists of 2 numbers); numbers scaled to 0…1 to match "
        "categories and text"
    )
    assert encoded.notes[1].startswith(
        "not used as features: url (a different word in almost every row), none (no values)"
    )
    wide, _ = fit({f"f{i}": [1, 2] for i in range(30)})
    assert wide.summary == "f0, f1, f2, f3, f4, f5, f6, f7 and 22 more (numbers)"
    assert "url" in fit({"url": [f"x.org/{i}" for i in range(6)]}, text=["url"])[0].columns


@pytest.mark.parametrize("name", ["target", "Class", " y", "LABEL", "category"])
def test_a_feature_with_the_name_of_a_label_is_called_out(name):
    _, encoded = fit({name: [1, 2], "other": [3, 4]})
    (note,) = encoded.notes[1:]
    assert f"column {name!r} is used as a feature" in note
    assert "--label-column" in note
    assert "--ignore" in note


def test_numbers_with_a_few_other_values_are_noted():
    _, encoded = fit({"n": [*map(str, range(20)), "?"]})
    assert encoded.features[20].tolist() == [9.5, 1]
    assert "'?' instead of a number counts as missing" in encoded.notes[1]


def test_all_problem_columns_are_in_one_message(input_error):
    columns = {"a": [1.0, np.inf], "b": [b"x", b"y"], "c": [[1, 2], [3]], "fine": [1, 2], "d": [{"x": 1}, {"x": 2}]}
    message = input_error(lambda: fit(columns), "nodes has 4 columns")
    assert "nodes, row 1: 'a' is inf" in message
    assert "column 'b' holds binary" in message
    assert "nodes, row 1: 'c' has 1 values" in message
    assert "column 'd' holds struct" in message
    assert "'fine'" not in message
    encoder, _ = fit({"a": [1, 2], "b": ["2020-01-01", "2021-01-01"], "fine": [1, 2]})
    later = {"a": ["x", "y"], "b": [1, 2], "fine": [1, 2]}
    input_error(lambda: transform(encoder, later), "2 columns", "'a' is not numeric: 'x'", "'b' does not hold dates")


def test_all_missing_columns_are_named_with_those_there_are(input_error):
    encoder, _ = fit(MESSY)
    words = ["'age'", "'city'", "'joined'", "it has 'income', 'member', 'bio', 'more'"]
    later = {name: MESSY[name] for name in ("income", "member", "bio")} | {"more": [1] * 6, "id": range(6)}
    message = input_error(lambda: transform(encoder, later, others=["id"]), *words)
    assert "'id'" not in message


def test_new_columns_are_ignored_with_a_note():
    encoder, _ = fit({"a": [1, 2]})
    later = transform(encoder, {"new": ["x", "y"], "id": [0, 1], "a": [3, 4]}, others=["id"])
    assert later.features.tolist() == [[3], [4]]
    assert later.notes == ("ignored columns that the model was not trained with: new",)


def test_lists_of_another_length_are_rejected(input_error):
    encoder, _ = fit({"v": [[1, 2], [3, 4]]})
    input_error(lambda: transform(encoder, {"v": [[1, 2, 3]]}), "nodes: column 'v'", "3 numbers, but 2")


def test_features_of_the_same_name_are_rejected(input_error):
    input_error(lambda: fit({"v": [[1, 2], [3, 4]], "v[0]": [1, 2]}), "'v[0]'", "rename")


def good(**changes):
    return [{"name": "a", "kind": "number", "median": 1.0, "missing": False, **changes}]


@pytest.mark.parametrize(
    ("state", "weights"),
    [
        ({}, None),
        ([], None),
        (["a"], None),
        ([{}], None),
        (good() * 2, None),
        (good(name=5), None),
        (good(kind="nonsense"), None),
        (good(kind=["number"]), None),
        (good(kind="list"), None),
        (good(median="1"), None),
        (good(median=float("nan")), None),
        (good(median=10**400), None),
        (good(median=True), None),
        (good(missing=1), None),
        (good(more=1), None),
        (good(low=[0.0]), None),
        (good(low=[0.0], high=[-1.0]), None),
        (good(low=[0.0, 1.0], high=[1.0, 2.0]), None),
        (good(low=5, high=6), None),
        (good(kind="boolean", low=[0.0], high=[1.0]), None),
        ([{"name": "a", "kind": "list", "length": 0}], None),
        ([{"name": "a", "kind": "list", "length": 2.0}], None),
        ([{"name": "a", "kind": "category", "levels": []}], None),
        ([{"name": "a", "kind": "category", "levels": ["x", "x"]}], None),
        ([{"name": "a", "kind": "category", "levels": ["x", 1]}], None),
        ([{"name": "a", "kind": "category", "levels": "xy"}], None),
        ([{"name": "a", "kind": "text"}], None),
        ([{"name": "a", "kind": "text"}], np.ones((2, COLUMNS))),
        ([{"name": "a", "kind": "text"}], np.ones((1, COLUMNS - 1))),
        ([{"name": "a", "kind": "text"}], np.ones((1, COLUMNS), np.float32)),
        ([{"name": "a", "kind": "text"}], np.full((1, COLUMNS), np.inf)),
        ([{"name": "a", "kind": "text"}], np.zeros((1, COLUMNS))),
        (good(), np.ones((1, COLUMNS))),
        (good(), np.ones((0, COLUMNS))),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_state_that_fit_does_not_leave_behind_is_rejected(state, weights):
    assert TableEncoder.from_state(good(), None).names == ("a",)
    with pytest.raises(InputError):
        TableEncoder.from_state(state, weights)

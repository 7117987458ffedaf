"""How one column of a node table becomes features: numbers, lists of numbers, categories and words.

Each encoder is fitted on the training table, describes itself in a few words, and is saved as plain JSON values
(the weights of words as an array), so that nothing has to be unpickled to apply it to new rows. skrub's TableVectorizer
chooses encodings in a similar way, but it returns data frames, which sparse hashed text does not fit into, and like
most estimators of scikit-learn it is usually saved by pickling it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError, shown
from mvgrl.tables.hashed_text import HashedText

_LIMIT = float(np.finfo(np.float32).max)
_TAILS = (1, 99)  # percentiles of a number that become 0 and 1 where numbers are scaled


@dataclass(frozen=True)
class Range:
    """The values that become 0 and 1, one of each per number: percentiles, so that a few outliers do not matter."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> Range:
        """Find the range of the columns of a table without missing values.

        >>> Range.of(np.arange(101.0)[:, None]).scale(np.array([[50.0], [1000.0]])).tolist()
        [[0.5], [1.0]]
        """
        values = values.astype(np.float64)
        low, high = np.percentile(values, _TAILS, axis=0)
        narrow = low == high  # almost all values are the same
        return cls(np.where(narrow, values.min(axis=0), low), np.where(narrow, values.max(axis=0), high))

    def scale(self, values: np.ndarray) -> np.ndarray:
        """Return values from 0 to 1."""
        above, width = values - self.low, self.high - self.low
        return np.clip(np.divide(above, width, out=np.zeros_like(above), where=width > 0), 0.0, 1.0)


@dataclass(frozen=True)
class Numbers:
    """A number, a boolean or a date: its value, the training median where it is missing.

    If values are missing in the training table, a second column says where.

    >>> numbers = Numbers.fit(np.array([1.0, np.nan, 5.0]), "number", scaled=False)
    >>> numbers.encode(np.array([2.0, np.nan])).tolist()
    [[2.0, 0.0], [3.0, 1.0]]
    """

    KINDS: ClassVar[tuple[str, ...]] = ("number", "boolean", "date")
    kind: str
    median: float
    missing: bool
    range: Range | None = None

    @classmethod
    def fit(cls, values: np.ndarray, kind: str, *, scaled: bool) -> Numbers:
        """Learn the median, and the range if numbers are to be scaled."""
        unknown = np.isnan(values)
        known = values[~unknown]
        limits = Range.of(known[:, None]) if scaled and kind != "boolean" else None
        return cls(kind, float(np.median(known)), bool(unknown.any()), limits)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return one column or two."""
        unknown = np.isnan(values)
        filled = np.where(unknown, values.dtype.type(self.median), values)[:, None]
        if self.range is not None:
            filled = self.range.scale(filled)
        return np.column_stack([filled, unknown.astype(filled.dtype)]) if self.missing else filled

    @property
    def width(self) -> int:
        """The number of columns."""
        return 2 if self.missing else 1

    def names(self, name: str) -> list[str]:
        """Return the names of the columns."""
        return [name, f"{name} is missing"] if self.missing else [name]

    def text(self) -> str:
        """Describe the encoding."""
        return self.kind + (f", {self.median:.6g} where missing" if self.missing else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        limits = {} if self.range is None else {"low": self.range.low.tolist(), "high": self.range.high.tolist()}
        return {"kind": self.kind, "median": self.median, "missing": self.missing, **limits}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Numbers:
        """Restore the state, checked."""
        if type(state["missing"]) is not bool:
            raise InputError("whether values are missing is not true or false")
        (median,) = _finite([state["median"]], 1)
        return cls(state["kind"], float(median), state["missing"], _range(state, 1))


@dataclass(frozen=True)
class Lists:
    """Lists of numbers of one length: a column per number. Scaled, they are divided by √length, to weigh as one."""

    length: int
    range: Range | None = None

    @classmethod
    def fit(cls, values: np.ndarray, *, scaled: bool) -> Lists:
        """Learn the length, and the range if numbers are to be scaled."""
        return cls(values.shape[1], Range.of(values) if scaled else None)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return a column per number."""
        if values.shape[1] != self.length:
            raise InputError(f"the lists have {values.shape[1]} numbers, but {self.length} in training")
        return values if self.range is None else self.range.scale(values) / math.sqrt(self.length)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.length

    def names(self, name: str) -> list[str]:
        """Return the names of the columns."""
        return [name] if self.length == 1 else [f"{name}[{i}]" for i in range(self.length)]

    def text(self) -> str:
        """Describe the encoding."""
        return f"lists of {self.length:,} numbers"

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        limits = {} if self.range is None else {"low": self.range.low.tolist(), "high": self.range.high.tolist()}
        return {"kind": "list", "length": self.length, **limits}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Lists:
        """Restore the state, checked."""
        length = state["length"]
        if type(length) is not int or not 1 <= length < 2**31:
            raise InputError(f"the length of the lists is {shown(length)}")
        return cls(length, _range(state, length))


@dataclass(frozen=True)
class Categories:
    """A category: a column of zeros and ones per value of the training table, the most frequent first.

    A missing value is a value of its own if the training table has any (written as an empty text); a value that it does
    not have is all zeros.
    """

    levels: tuple[str, ...]

    @classmethod
    def fit(cls, texts: Any) -> Categories:
        """Learn the values of an Arrow array of text."""
        counts = [(count["counts"], count["values"] or "") for count in texts.value_counts().to_pylist()]
        return cls(tuple(level for _, level in sorted(counts, key=lambda one: (-one[0], one[1]))))

    def encode(self, texts: Any) -> sp.csr_array:
        """Return a one or nothing per row."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.index_in(texts.fill_null(""), value_set=pa.array(self.levels, texts.type))
        rows = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        columns = found.drop_null().to_numpy()
        shape = (len(texts), len(self.levels))
        return sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.levels)

    def names(self, name: str) -> list[str]:
        """Return the names of the columns."""
        return [f"{name}={level}" if level else f"{name} is missing" for level in self.levels]

    def text(self) -> str:
        """Describe the encoding."""
        values = len(self.levels) - ("" in self.levels)
        return f"{values} {'category' if values == 1 else 'categories'}" + (" or missing" if "" in self.levels else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {"kind": "category", "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Categories:
        """Restore the state, checked."""
        levels = state["levels"]
        if not isinstance(levels, list) or not levels or not all(isinstance(level, str) for level in levels):
            raise InputError("the levels of a category are not a list of texts")
        if len(set(levels)) < len(levels):
            raise InputError("a category has the same level twice")
        return cls(tuple(levels))


@dataclass(frozen=True, eq=False)
class Words:
    """Text: hashed words, weighted by how rare they are in the training table."""

    hashed: HashedText

    def encode(self, texts: Any) -> sp.csr_array:
        """Return TF-IDF, in rows of length 1."""
        return self.hashed.transform(texts.fill_null("").to_pylist())

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.hashed.idf)

    def names(self, name: str) -> list[str]:
        """Return the names of the columns."""
        return [f"{name}#{i}" for i in range(self.width)]

    def text(self) -> str:
        """Describe the encoding."""
        return f"text, {self.width:,} hashed words"

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values, without the weights."""
        return {"kind": "text"}


ColumnEncoder = Numbers | Lists | Categories | Words


def column_encoder(state: dict[str, Any], idf: np.ndarray | None) -> ColumnEncoder:
    """Restore an encoder from its JSON values; ``idf`` are the weights of words."""
    needed = {"list": {"length"}, "category": {"levels"}, "text": set()}
    needed |= {kind: {"median", "missing"} for kind in Numbers.KINDS}
    kind = state.get("kind")
    if not isinstance(kind, str) or kind not in needed:
        raise InputError(f"the kind of a column is {shown(kind)}")
    limits = {"low", "high"} if "low" in state and kind in ("number", "date", "list") else set()
    if set(state) != needed[kind] | limits | {"name", "kind"}:
        raise InputError(f"a column of kind {kind!r} has {shown(sorted(state))}")
    if kind == "text":
        assert idf is not None
        return Words(HashedText(idf))
    if kind == "category":
        return Categories.from_dict(state)
    return Lists.from_dict(state) if kind == "list" else Numbers.from_dict(state)


def _range(state: dict[str, Any], length: int) -> Range | None:
    if "low" not in state:
        return None
    low, high = _finite(state["low"], length), _finite(state["high"], length)
    if not bool((low <= high).all()):
        raise InputError("the range of a column ends before it starts")
    return Range(low, high)


def _finite(values: Any, length: int) -> np.ndarray:
    plain = isinstance(values, list) and all(type(one) in (int, float) and abs(one) <= _LIMIT for one in values)
    if not plain or len(values) != length:
        raise InputError(f"a column does not have {length} finite numbers")
    return np.array(values, dtype=np.float64)

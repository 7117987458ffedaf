"""Fit the encoders of a node table that is larger than memory, in two passes over its batches.

The result is that of ``TableEncoder.fit``. The first pass finds what each column holds, and the second what its encoder
has to know. Of the numbers, one column at a time is in memory; the others wait in files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError, shown
from mvgrl.tables import column_kinds as kinds
from mvgrl.tables.column_encoders import Categories, ColumnEncoder, Lists, Numbers, Range, Words
from mvgrl.tables.columns import Place, to_array
from mvgrl.tables.encoders import Problems, TableEncoder, Tally, fit_notes, is_scaled
from mvgrl.tables.hashed_text import COLUMNS, HashedText
from mvgrl.tables.id_map import hash_texts

Batches = Callable[[], Iterator[tuple[int, Any]]]  # from the first row of each batch to the batch
BYTES_PER_ROW = 48  # of one column of numbers while its encoder is fitted


class _Look:
    """What is known about a column after some of its batches."""

    def __init__(self, name: str, chosen: bool, spool: Path) -> None:
        self.name, self.chosen, self._spool = name, chosen, spool
        self.seen, self._kind, self._reason = False, "", ""
        self._levels: set[Any] | None = set()  # of a declared category; None once there are too many
        self._declared = False
        self._count = self._numbers = self._words = 0
        self._zones = {None: True, "UTC": True}  # whether all texts are times without and with a time zone

    def add(self, place: Place, column: Any) -> None:
        """Look at a batch."""
        array = to_array(place, self.name, column)
        missing = array.is_null(nan_is_null=True) if pa.types.is_floating(array.type) else array.is_null()
        self.seen = self.seen or not pc.all(missing).as_py()
        if pa.types.is_dictionary(column.type) and not pa.types.is_nested(array.type):
            self._declared = True
            self._add_levels(array.drop_null())
        if pa.types.is_large_string(array.type):
            self._add_texts(kinds.present(array).drop_null())
        elif self.seen and not self._kind:
            if self._declared and self._levels is not None:
                return  # a category, whatever its values are
            self._kind, self._reason = kinds.kind_of(place, self.name, array, chosen=self.chosen)  # type: ignore[assignment]

    def _add_levels(self, values: Any) -> None:
        if self._levels is not None:
            self._levels |= {str(one) if one != one else one for one in pc.unique(values).to_pylist()}
            if len(self._levels) > kinds.MOST_LEVELS:
                self._levels = None

    def _add_texts(self, values: Any) -> None:
        self._count += len(values)
        if not len(values):
            return
        self._numbers += kinds.count_numbers(values)
        self._words += kinds.count_words(values)
        for zone in [zone for zone, all_are in self._zones.items() if all_are]:
            self._zones[zone] = kinds.are_times(values, zone)
        with self._spool.open("ab") as file:
            file.write(hash_texts(values).data)

    def kind(self) -> tuple[str | None, str]:
        """Return what the column holds; None and a reason if it is left out."""
        if not self.seen:
            return None, "no values"
        if self._declared and self._levels is not None:
            return "category", ""
        if self._kind:
            return self._kind, self._reason
        if not self._count:
            return None, "no values"
        dated = any(self._zones.values())
        return kinds.decide_text(self._count, self._numbers, dated, self._words, self._distinct, self.chosen)

    def _distinct(self) -> int:
        return len(np.unique(np.fromfile(self._spool, np.uint64)))


class _Fit:
    """What the encoder of a column has to know, after some of its batches."""

    def __init__(self, name: str, kind: str, scaled: bool, spool: Path, tally: Tally) -> None:
        self.name, self.kind, self.scaled = name, kind, scaled
        self._spool, self._tally = spool, tally
        self._levels: Counter[str] = Counter()
        self._rows, self._width, self._dtype = 0, 0, np.dtype(np.float64)
        self._texts_with = np.zeros(COLUMNS, np.int64)

    def add(self, place: Place, column: Any) -> None:
        """Learn from a batch."""
        array = to_array(place, self.name, column)
        self._rows += len(array)
        if self.kind == "text":
            self._texts_with += HashedText.texts_with(kinds.texts(place, self.name, array).fill_null("").to_pylist())
        elif self.kind == "category":
            counts = kinds.texts(place, self.name, array).value_counts().to_pylist()
            self._levels.update({one["values"] or "": one["counts"] for one in counts})
        else:
            values, odd = kinds.values_of(place, self.name, array, self.kind, mostly=False)
            self._tally.add_odd(self.name, odd)
            if self.kind == "list":
                self._check_width(place, array, values)
            self._dtype = values.dtype
            with self._spool.open("ab") as file:
                file.write(np.ascontiguousarray(values).data)

    def _check_width(self, place: Place, array: Any, values: np.ndarray) -> None:
        if self._width and values.shape[1] != self._width and len(array):
            problem = f"{shown(self.name)} has {values.shape[1]} values, but the first row has {self._width}"
            raise place.error(0, f"{problem}; every row needs the same number of values, at least one")
        self._width = values.shape[1]

    def encoder(self, limit: int) -> ColumnEncoder:
        """Return the fitted encoder; numbers take at most ``limit`` bytes, if a column of them does."""
        if self.kind == "text":
            return Words(HashedText.from_counts(self._texts_with, self._rows))
        if self.kind == "category":
            return Categories(
                tuple(level for level, _ in sorted(self._levels.items(), key=lambda one: (-one[1], one[0])))
            )
        if self.kind == "list":
            return Lists(self._width, self._ranges(limit) if self.scaled else None)
        return Numbers.fit(np.fromfile(self._spool, self._dtype), self.kind, scaled=self.scaled)

    def _ranges(self, limit: int) -> Range:
        """Find the ranges of the numbers of lists, a few of them at a time."""
        some = max(1, limit // (BYTES_PER_ROW * max(1, self._rows)))
        low, high = [], []
        for first in range(0, self._width, some):
            part = np.empty((self._rows, min(some, self._width - first)), self._dtype)
            for start in range(0, self._rows, 2**16):
                count = min(2**16, self._rows - start)
                offset = start * self._width * self._dtype.itemsize
                block = np.fromfile(self._spool, self._dtype, count * self._width, offset=offset)
                part[start : start + count] = block.reshape(count, -1)[:, first : first + some]
            found = Range.of(part)
            low.append(found.low)
            high.append(found.high)
        return Range(np.concatenate(low), np.concatenate(high))


def fit_batches(
    batches: Batches,
    names: Sequence[str],
    place: Place,
    scratch: Path,
    limit: int,
    *,
    text: Collection[str] = (),
    chosen: bool = False,
) -> tuple[TableEncoder | None, tuple[str, ...]]:
    """Decide how the named columns become features; return the encoder, or None if no column is usable, and notes."""
    problems = Problems(place)
    looks = {name: _Look(name, chosen, scratch / f"look-{i}") for i, name in enumerate(names) if name not in text}
    _feed(batches, looks, place, problems)
    found: dict[str, tuple[str | None, str]] = {
        name: ("text", "") if name in text else looks[name].kind() for name in names if name in text or name in looks
    }
    scaled, tally = is_scaled([kind for kind, _ in found.values()]), Tally()
    fits = {
        name: _Fit(name, kind, scaled, scratch / f"fit-{i}", tally)
        for i, (name, (kind, _)) in enumerate(found.items())
        if kind
    }
    _feed(batches, fits, place, problems)
    encoders = problems.collect(list(fits), lambda name: fits[name].encoder(limit))
    for path in (*scratch.glob("look-*"), *scratch.glob("fit-*")):
        path.unlink()
    problems.check()
    encoder = TableEncoder(encoders) if encoders else None
    notes = fit_notes(encoder, tally.odd, {name: why for name, (kind, why) in found.items() if not kind})
    if encoder is not None:
        encoder.check_names(place)
    return encoder, notes


def _feed(batches: Batches, columns: dict[str, Any], place: Place, problems: Problems) -> None:
    """Give every batch to the columns; one with a problem gets no more of them."""
    if not columns:
        return
    for start, batch in batches():
        for name in list(columns):
            try:
                columns[name].add(place.after(start), batch[name])
            except InputError as error:
                problems.found.append(str(error))
                del columns[name]

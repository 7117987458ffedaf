"""The columns of a node table as features, the same for the training table and for later ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError, shown
from mvgrl.tables.column_encoders import Categories, ColumnEncoder, Lists, Numbers, Words, column_encoder
from mvgrl.tables.hashed_text import COLUMNS, HashedText

LIKE_LABELS = ("label", "labels", "target", "class", "y", "outcome", "category")  # in any case
_MOST_NAMES = 8  # of columns encoded in the same way, in a description
_MOST_DENSE = 100  # columns of categories; a table with more of them is sparse


class Encoded(NamedTuple):
    """Features, nodes × columns, and what their owner should know about them."""

    features: np.ndarray | sp.csr_array | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """An encoder per column, in the order of the training table.

    Numbers and booleans are used as they are, dates in years since 1970. In a table that also has categories or text,
    numbers are scaled to 0…1 (from the 1st to the 99th percentile), so that a column of large numbers does not drown
    the zeros and ones of the others. Features are sparse if there is text, or more than 100 columns of categories.

    >>> import pyarrow as pa
    >>> from mvgrl.tables.columns import Place
    >>> table = pa.table({"age": [20, 40, 30], "city": ["Rome", "Oslo", "Rome"]})
    >>> encoder, encoded = TableEncoder.fit(table, ["age", "city"], Place("nodes"))
    >>> encoder.summary
    'age (number), city (2 categories); numbers scaled to 0…1 to match categories and text'
    >>> encoder.transform(pa.table({"age": [30], "city": ["Bonn"]}), Place("nodes")).features.tolist()
    [[0.5, 0.0, 0.0]]
    """

    columns: dict[str, ColumnEncoder]

    @classmethod
    def fit(
        cls, table: Any, names: Sequence[str], place: Any, *, text: Collection[str] = (), chosen: bool = False
    ) -> tuple[TableEncoder | None, Encoded]:
        """Decide how the named columns become features, and encode them; None if none of them is usable.

        ``text`` columns are text whatever they look like. Columns that were ``chosen`` by name are not left out.
        """
        from mvgrl.tables import column_kinds as kinds
        from mvgrl.tables.columns import to_array

        def look(name: str) -> tuple[Any, str | None, str]:
            array = to_array(place, name, table[name])
            if name in text:
                return array, "text", ""
            declared = kinds.is_declared_category(table[name], array)
            return array, *(("category", "") if declared else kinds.kind_of(place, name, array, chosen=chosen))

        problems = Problems(place)
        looked = problems.collect(names, look)
        scaled = is_scaled([kind for _, kind, _ in looked.values()])
        odd: dict[str, list[str]] = {}

        def fit_column(name: str) -> tuple[ColumnEncoder, Any]:
            array, kind, _ = looked[name]
            assert kind is not None
            encoder, block, odd[name] = _fit_column(place, name, array, kind, scaled)
            return encoder, block

        fitted = problems.collect([name for name, (_, kind, _) in looked.items() if kind], fit_column)
        problems.check()
        left_out = {name: why for name, (_, kind, why) in looked.items() if not kind}
        encoder = cls({name: one for name, (one, _) in fitted.items()}) if fitted else None
        notes = fit_notes(encoder, odd, left_out)
        if encoder is None:
            return None, Encoded(None, notes)
        encoder.check_names(place)
        return encoder, Encoded(_joined(encoder.columns, [block for _, block in fitted.values()]), notes)

    def transform(self, table: Any, place: Any, *, others: Collection[str] = ()) -> Encoded:
        """Encode a later table; ``others`` are the columns that are not meant to be features, such as the ids."""
        self.check_columns(table.column_names, place, others)
        notes = self.notes_on_columns(table.column_names, others)
        tally = Tally()
        return Encoded(self.encode(table, place, tally), (*notes, *tally.notes(self)))

    def check_columns(self, names: Sequence[str], place: Any, others: Collection[str] = ()) -> None:
        """Check that a table has all columns of the training table; ``others`` are not meant to be features."""
        absent = [name for name in self.columns if name not in names]
        if absent:
            has = [shown(name) for name in names if name not in others]
            raise InputError(
                f"{place.name} has no column {_listed(list(map(shown, absent)))}, which the model was trained with; "
                f"it has {_listed(has) or 'no other columns'}"
            )

    def notes_on_columns(self, names: Sequence[str], others: Collection[str] = ()) -> tuple[str, ...]:
        """Say which columns of a table are not used."""
        unknown = [name for name in names if name not in self.columns and name not in others]
        if not unknown:
            return ()
        return (f"ignored columns that the model was not trained with: {_listed(list(map(_plain, unknown)))}",)

    def encode(self, table: Any, place: Any, tally: Tally, *, mostly: bool = True) -> np.ndarray | sp.csr_array:
        """Encode a table or a part of one, and count what its owner should know.

        Text instead of numbers is an error if it is more than a tenth of a column, unless ``mostly`` is false.
        """
        from mvgrl.tables import column_kinds as kinds
        from mvgrl.tables.columns import to_array

        def encode(name: str) -> Any:
            encoder, array = self.columns[name], to_array(place, name, table[name])
            if isinstance(encoder, (Categories, Words)):
                values = kinds.texts(place, name, array)
                block: Any = encoder.encode(values)
                tally.add_levels(name, encoder, values, block)
                return block
            kind = encoder.kind if isinstance(encoder, Numbers) else "list"
            values, odd = kinds.values_of(place, name, array, kind, mostly=mostly)
            tally.add_numbers(name, encoder, values, odd)
            try:
                return encoder.encode(values)
            except InputError as error:
                raise InputError(f"{place.name}: column {shown(name)}: {error}") from None

        problems = Problems(place)
        blocks = problems.collect(list(self.columns), encode)
        problems.check()
        return _joined(self.columns, list(blocks.values()))

    @property
    def width(self) -> int:
        """The number of features."""
        return sum(encoder.width for encoder in self.columns.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each feature."""
        return tuple(one for name, encoder in self.columns.items() for one in encoder.names(name))

    @property
    def text_columns(self) -> list[str]:
        """The columns that are encoded from text: categories and words."""
        return [name for name, encoder in self.columns.items() if isinstance(encoder, (Categories, Words))]

    @property
    def like_labels(self) -> list[str]:
        """The columns with a name that labels often have."""
        return [name for name in self.columns if name.strip().lower() in LIKE_LABELS]

    @property
    def summary(self) -> str:
        """How each column is encoded, on one line; columns that are encoded in the same way are listed together."""
        groups: dict[str, list[str]] = {}
        for name, encoder in self.columns.items():
            groups.setdefault(encoder.text(), []).append(_plain(name))
        listed = _listed([f"{_listed(names)} ({_plural(text, len(names))})" for text, names in groups.items()], 20)
        scaled = any(isinstance(one, (Numbers, Lists)) and one.range is not None for one in self.columns.values())
        return listed + ("; numbers scaled to 0…1 to match categories and text" if scaled else "")

    def to_state(self) -> tuple[list[dict[str, Any]], np.ndarray | None]:
        """Return what is saved: JSON values per column, and the weights of words, texts × hashed words."""
        weights = [encoder.hashed.idf for encoder in self.columns.values() if isinstance(encoder, Words)]
        state = [{"name": name, **encoder.to_dict()} for name, encoder in self.columns.items()]
        return state, np.array(weights) if weights else None

    @classmethod
    def from_state(cls, state: Any, weights: np.ndarray | None) -> TableEncoder:
        """Restore an encoder from :meth:`to_state`; whatever does not fit is rejected."""
        if not isinstance(state, list) or not state or not all(isinstance(one, dict) for one in state):
            raise InputError("the columns are not a list of mappings")
        texts = sum(one.get("kind") == "text" for one in state)
        shape = (0, COLUMNS) if weights is None else weights.shape
        if shape != (texts, COLUMNS) or (weights is not None and not texts):
            raise InputError(f"the weights of words have shape {shape}, but there are {texts} columns of text")
        if weights is not None and not (weights.dtype == np.float64 and ((weights >= 1) & (weights <= 100)).all()):
            raise InputError("the weights of words are not logarithms of how rare they are")
        rows = iter(() if weights is None else weights)
        columns = {}
        for one in state:
            name = one.get("name")
            if not isinstance(name, str) or name in columns:
                raise InputError(f"the name of a column is {shown(name)}, or occurs twice")
            columns[name] = column_encoder(one, next(rows) if one.get("kind") == "text" else None)
        return cls(columns)

    def check_names(self, place: Any) -> None:
        """Check that all features have different names."""
        names = self.names
        if len(set(names)) < len(names):
            seen: set[str] = set()
            twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise InputError(f"{place.name}: two columns give features named {shown(twice)}; rename one")


def is_scaled(kinds: Collection[str | None]) -> bool:
    """Return whether numbers are scaled in a table with columns of these kinds."""
    return bool({*kinds} & {"category", "text"}) and bool({*kinds} & {"number", "date", "list"})


def fit_notes(
    encoder: TableEncoder | None, odd: Mapping[str, list[str]], left_out: Mapping[str, str]
) -> tuple[str, ...]:
    """Say how the columns are encoded, which texts count as missing numbers, and which columns are left out and why."""
    notes = [_odd_note(name, texts) for name, texts in odd.items() if texts]
    if left_out:
        listed = _listed([f"{_plain(name)} ({why})" for name, why in left_out.items()])
        notes.append(f"not used as features: {listed}; name a column as text to use its words")
    if encoder is None:
        return tuple(notes)
    return (f"features: {encoder.summary}", *notes, *map(_label_note, encoder.like_labels))


class Tally:
    """What a table, read as a whole or in parts, has that the training table does not."""

    def __init__(self) -> None:
        self.odd: dict[str, list[str]] = {}  # the first texts found instead of numbers
        self.missing: dict[str, int] = {}
        self.unknown: dict[str, tuple[int, Any]] = {}  # rows with unknown levels, and the first of these

    def add_levels(self, name: str, encoder: Any, values: Any, block: sp.csr_array) -> None:
        """Count the values of a category that the training table does not have."""
        if isinstance(encoder, Categories) and block.nnz < len(values):
            example = values[int(np.flatnonzero(np.diff(block.indptr) == 0)[0])].as_py()
            before, first = self.unknown.get(name, (0, example))
            self.unknown[name] = (before + len(values) - block.nnz, first)

    def add_numbers(self, name: str, encoder: Any, values: np.ndarray, odd: list[str]) -> None:
        """Count missing numbers."""
        self.add_odd(name, odd)
        if isinstance(encoder, Numbers) and not encoder.missing and np.isnan(values).any():
            self.missing[name] = self.missing.get(name, 0) + int(np.isnan(values).sum())

    def add_odd(self, name: str, odd: list[str]) -> None:
        """Remember the first texts found instead of numbers."""
        self.odd[name] = list(dict.fromkeys([*self.odd.get(name, ()), *odd]))[:4]

    def notes(self, encoder: TableEncoder) -> Iterator[str]:
        """Say all of it, in the order of the columns."""
        for name, one in encoder.columns.items():
            if name in self.unknown:
                count, example = self.unknown[name]
                what = "missing values" if example is None else f"values such as {shown(example)}"
                yield f"column {shown(name)}: {count:,} rows have {what}, not seen in training; they are zeros"
            if self.odd.get(name):
                yield _odd_note(name, self.odd[name])
            if name in self.missing and isinstance(one, Numbers):
                yield f"column {shown(name)}: {self.missing[name]:,} missing values are {one.median:.6g}, the median"


def _odd_note(name: str, odd: list[str]) -> str:
    return f"column {shown(name)}: {_examples(odd)} instead of a number counts as missing"


def _fit_column(place: Any, name: str, array: Any, kind: str, scaled: bool) -> tuple[ColumnEncoder, Any, list[str]]:
    """Fit the encoder of a column; return it with the encoded column, and texts that count as missing numbers."""
    from mvgrl.tables import column_kinds as kinds

    if kind == "text":
        hashed, block = HashedText.fit_transform(kinds.texts(place, name, array).fill_null("").to_pylist())
        return Words(hashed), block, []
    if kind == "category":
        texts = kinds.texts(place, name, array)
        categories = Categories.fit(texts)
        return categories, categories.encode(texts), []
    values, odd = kinds.values_of(place, name, array, kind)
    if kind == "list":
        lists = Lists.fit(values, scaled=scaled)
        return lists, lists.encode(values), odd
    numbers = Numbers.fit(values, kind, scaled=scaled)
    return numbers, numbers.encode(values), odd


def _joined(columns: dict[str, ColumnEncoder], blocks: list[Any]) -> np.ndarray | sp.csr_array:
    """Put encoded columns side by side: numbers alone in their own precision, everything else in single precision."""
    categories = [block for block, one in zip(blocks, columns.values(), strict=True) if isinstance(one, Categories)]
    if any(isinstance(one, Words) for one in columns.values()) or sum(b.shape[1] for b in categories) > _MOST_DENSE:
        return sp.csr_array(sp.hstack([sp.csr_array(block, dtype=np.float32) for block in blocks], format="csr"))
    dense = np.column_stack([block.toarray() if sp.issparse(block) else block for block in blocks])
    return dense.astype(np.float32) if categories else dense


class Problems:
    """The problems of all columns, as one error."""

    def __init__(self, place: Any) -> None:
        self.place, self.found = place, list[str]()

    def collect(self, names: Sequence[str], do: Callable[[str], Any]) -> dict[str, Any]:
        """Do something with every column, and return what came of those without a problem."""
        done = {}
        for name in names:
            try:
                done[name] = do(name)
            except InputError as error:
                self.found.append(str(error))
        return done

    def check(self) -> None:
        """Raise an error if there were problems."""
        if len(self.found) == 1:
            raise InputError(self.found[0])
        if self.found:
            problems = (problem.removeprefix(f"{self.place.name}: ") for problem in self.found)
            listed = "; ".join(f"({i}) {problem}" for i, problem in enumerate(problems, 1))
            raise InputError(f"{self.place.name} has {len(self.found)} columns that cannot become features: {listed}")


def _label_note(name: str) -> str:
    plain = _plain(name)
    return (
        f"column {shown(name)} is used as a feature; if it is what you want to predict, use --label-column {plain} or "
        f"--ignore {plain}"
    )


def _plural(text: str, count: int) -> str:
    kind, comma, rest = text.partition(",")
    return f"{kind}s{comma}{rest}" if count > 1 and kind in Numbers.KINDS else text


def _plain(name: str) -> str:
    return shown(name)[1:-1]


def _examples(values: list[str]) -> str:
    return ", ".join(map(shown, values[:3])) + (", …" if len(values) > 3 else "")


def _listed(names: list[str], most: int = _MOST_NAMES) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

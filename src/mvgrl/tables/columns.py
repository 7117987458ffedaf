"""Columns of a table, checked and converted; each error names the table, the row and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError, shown
from mvgrl.tables.names import NO_NULS, check_room

ID_COLUMNS = ("id", "node", "node_id")


@dataclass(frozen=True)
class Place:
    """How error messages refer to a table and its rows.

    >>> str(Place("people.csv").error(3, "no id"))
    'people.csv, row 3: no id'
    """

    name: str
    row: Callable[[int], str] = "row {}".format  # rows count from 0, as in pandas and Arrow; text files have lines
    notes: tuple[str, ...] = ()  # what was assumed when the table was read

    def after(self, start: int) -> Place:
        """Return the place of a part of the table that starts at a row.

        >>> str(Place("people.csv").after(100).error(3, "no id"))
        'people.csv, row 103: no id'
        """
        return Place(self.name, lambda row: self.row(start + row), self.notes)

    def error(self, row: Any, problem: str) -> InputError:
        """Return the error for one row."""
        return InputError(f"{self.name}, {self.row(int(row))}: {problem}")


def check_unique_names(names: Sequence[str], place: Place) -> None:
    """Check that no two columns share a name."""
    if len(set(names)) < len(names):
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"{place.name} has two columns named {shown(repeated)}; rename or drop one")


def check_not_unnamed(names: Sequence[str], place: Place) -> None:
    """Check that every column has a name."""
    if "" in names:
        raise InputError(f"{place.name} has a column without a name; name or drop it (pandas: to_csv(index=False))")


def name_key(name: str) -> str:
    """Return a column name for comparison: without case, spaces and punctuation, and without "id" at the end.

    >>> name_key(" User_ID"), name_key("Source"), name_key("id")
    ('user', 'source', 'id')
    """
    key = re.sub("[^a-z0-9]", "", name[:100].lower())
    return key.removesuffix("id") if key != "id" else key


def match_name(wanted: str, names: Sequence[str]) -> str | None:
    """Find a column by its name, else by its name in another case or with other spaces around it, if only one has it.

    >>> match_name("topic", ["Topic ", "age"])
    'Topic '
    """
    if wanted in names:
        return wanted
    found = [name for name in names if name.strip().lower() == wanted.strip().lower()]
    return found[0] if len(found) == 1 else None


def match_id(names: Sequence[str], given: str | None) -> str | None:
    """Find the column with the ids: the one given, else the first of the usual names, in any case; None if none is.

    >>> match_id(["Label", "Id"], None)
    'Id'
    """
    wanted = (given,) if given is not None else ID_COLUMNS
    exact = next((name for name in wanted if name in names), None)
    return exact or next((found for name in wanted if (found := match_name(name, names)) is not None), None)


def find_id(names: Sequence[str], given: str | None, place: Place) -> str:
    """Find the column with the ids, or raise an error that says how to choose it."""
    found = match_id(names, given)
    if found is None and given is not None:
        raise missing_column(place, given, names)
    if found is None:
        raise InputError(f"{missing_column(place, ID_COLUMNS[0], names)}; choose with --id-column (id_column=)")
    return found


def find_label(names: Sequence[str], given: str | None, place: Place) -> str | None:
    """Find the column with the labels: the one given, else ``label`` if it exists."""
    if given is not None and given not in names:
        raise missing_column(place, given, names)
    return given if given is not None else "label" if "label" in names else None


def is_pandas_index(name: str) -> bool:
    """Return whether a column of a Parquet file is an unnamed pandas index."""
    return name.startswith("__index_level_")


def missing_column(place: Place, wanted: str, names: Sequence[str]) -> InputError:
    """Return the error for a missing column, with the closest existing name."""
    near = get_close_matches(wanted[:100].lower(), [name for name in names if len(name) < 100], n=1)
    hint = f"; did you mean {near[0]!r}? It" if near else "; it"
    listed = ", ".join(map(shown, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return InputError(f"{place.name} has no column {shown(wanted)}{hint} has {listed or 'no columns'}")


def to_array(place: Place, name: str, column: Any) -> Any:
    """Convert a column to a single, valid array, with dictionaries decoded.

    >>> to_array(Place("a"), "x", pa.chunked_array([["a"], ["b"]]).dictionary_encode()).to_pylist()
    ['a', 'b']
    """
    types = pa.types
    try:
        column.validate(full=True)  # offsets and indices in range, and text in UTF-8: files may contain anything
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if types.is_run_end_encoded(column.type):
            column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
        if types.is_string(column.type) or types.is_string_view(column.type):
            column = column.cast(pa.large_string())  # 32-bit offsets cannot address more than two gigabytes
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    except pa.ArrowException as error:
        reason = shown(str(error).partition("\n")[0])
        raise InputError(f"{place.name}: column {shown(name)} is damaged ({reason}); write it again") from None


def to_ids(parts: Sequence[tuple[Place, str, Any]]) -> list[Any]:
    """Convert columns that identify the same things to arrays of one type: integers if all of them are, else text.

    >>> [array.to_pylist() for array in to_ids([(Place("a"), "id", pa.chunked_array([[1]])),
    ...                                         (Place("b"), "id", pa.chunked_array([["x"]]))])]
    [['1'], ['x']]
    """
    arrays = [id_array(*part) for part in parts]
    if all(pa.types.is_int64(array.type) for array in arrays):
        return arrays
    return [array.cast(pa.large_string()) for array in arrays]


def id_array(place: Place, name: str, column: Any, *, as_text: bool = False) -> Any:
    """Convert a column to ids: 64-bit integers if all values are integers, else text, or text in any case.

    >>> id_array(Place("a"), "id", pa.chunked_array([[1.0, 2.0]])).to_pylist()
    [1, 2]
    """
    array = to_array(place, name, column)
    missing = array.is_null(nan_is_null=True) if pa.types.is_floating(array.type) else array.is_null()
    if pa.types.is_large_string(array.type):
        missing = pc.or_kleene(missing, pc.equal(array, ""))
    row = pc.index(missing, True).as_py()
    if row >= 0:
        raise place.error(row, f"the {shown(name)} is missing; fill it in or drop the row")
    try:
        # pandas stores a column of integers with a gap as floats: convert whole floats back to integers.
        if not as_text and (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
            return array.cast(pa.int64())
    except pa.ArrowInvalid:  # fractions, or integers of more than 64 bits: text keeps them exact
        pass
    return _as_text(place, name, array, "ids must be integers or text")


def _as_text(place: Place, name: str, array: Any, remedy: str) -> Any:
    """Convert an array to text without NUL characters, which NumPy drops at the end of a text."""
    try:
        text = array.cast(pa.large_string())
    except pa.ArrowException:
        raise InputError(f"{place.name}: column {shown(name)} has type {_type_name(array)}; {remedy}") from None
    row = pc.index(pc.match_substring(text, "\0"), True).as_py()
    if row >= 0:
        raise place.error(row, f"the {shown(name)} {shown(text[row].as_py())} contains a NUL character; {NO_NULS}")
    check_room(len(text), pc.max(pc.utf8_length(text)).as_py() or 0, f"{place.name}, column {shown(name)}")
    return text


def _type_name(array: Any) -> str:
    text = str(array.type)  # a nested type may be described in thousands of characters
    return text if len(text) <= 60 else f"{text[:60]}…"


def to_numbers(place: Place, name: str, column: Any, remedy: str = "encode it as numbers") -> np.ndarray:
    """Convert a column to finite numbers, or lists of equal length to a block of columns.

    >>> to_numbers(Place("nodes"), "x", pa.chunked_array([[[1, 2], [3, 4]]])).shape
    (2, 2)
    """
    array = to_array(place, name, column)
    width = 1
    if has_lists(array):
        lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        width = int(lengths[0]) if len(lengths) else 0
        odd = np.flatnonzero((lengths != width) | (lengths == 0))
        if len(odd):
            problem = f"{shown(name)} has {lengths[odd[0]]} values" + (
                f", but the first row has {width}" if odd[0] else ""
            )
            raise place.error(odd[0], f"{problem}; every row needs the same number of values, at least one")
        array = array.flatten()
    dtype, types = array.type, pa.types
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    if not any(matches(dtype) for matches in numeric):
        row, value = _first_non_number(array)
        problem = f"column {shown(name)} is not numeric: {shown(str(value))}"
        raise place.error(row // width, f"{problem}; drop the column or {remedy}")
    array = array.cast(pa.uint8()) if types.is_boolean(dtype) else array  # Arrow cannot cast booleans to floats
    values = array if dtype == pa.float32() else array.cast(pa.float64(), safe=False)
    result = values.to_numpy(zero_copy_only=False)  # nulls become NaN
    bad = np.flatnonzero(~np.isfinite(result))
    if len(bad):
        value = "missing" if np.isnan(result[bad[0]]) else result[bad[0]]
        raise place.error(bad[0] // width, f"{shown(name)} is {value}; give a finite number or drop the row")
    return result if width == 1 else result.reshape(-1, width)


def has_lists(column: Any) -> bool:
    """Return whether each value of a column is a list."""
    dtype, types = column.type, pa.types
    return any(matches(dtype) for matches in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def _first_non_number(array: Any) -> tuple[int, Any]:
    """Find the first value that cannot be parsed as a number, or the first value if all can."""
    first = None
    try:
        array = array.cast(pa.large_string())
    except pa.ArrowException:  # lists of lists, for example
        return 0, _type_name(array)
    for row, value in enumerate(array.to_pylist()):
        if value is None:
            continue
        first = (row, value) if first is None else first
        try:
            float(value)
        except (TypeError, ValueError):
            return row, value
    return first or (0, None)


def to_labels(place: Place, name: str, column: Any) -> np.ndarray:
    """Convert a column to labels, numbers or text; a missing label is NaN or an empty string.

    >>> to_labels(Place("pets"), "kind", pa.chunked_array([["cat", None]])).tolist()
    ['cat', '']
    """
    array = to_array(place, name, column)
    dtype = array.type
    if pa.types.is_boolean(dtype) and not array.null_count:
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return to_text(place, name, column, "labels are numbers or text")


def to_text(place: Place, name: str, column: Any, remedy: str) -> np.ndarray:
    """Convert a column to text; a missing value is an empty string. ``remedy`` says which types can be converted."""
    return to_numpy(_as_text(place, name, to_array(place, name, column), remedy).fill_null(""))


def to_numpy(array: Any) -> np.ndarray:
    """Convert an Arrow array of integers or text to NumPy, without Python objects."""
    if pa.types.is_integer(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.array(array.to_pylist(), dtype=np.str_)

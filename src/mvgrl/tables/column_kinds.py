"""What the columns of a node table hold, and their values as numbers or text; missing values are NaN and null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import Place, has_lists, to_numbers

MOST_LEVELS = 100  # of a category; text with more values is hashed
_SHORT = 4  # words; shorter values on average are categories as soon as one of them repeats
_MOSTLY = 0.9  # share of the values
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_SECONDS_PER_YEAR = 365.2425 * 86_400
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LIMIT = float(np.finfo(np.float32).max)


def kind_of(place: Place, name: str, array: Any, *, chosen: bool = False) -> tuple[str | None, str]:
    """Return what a column holds; None and a reason if it is left out, which a column chosen by name is only if empty.

    A column of text is

    * numbers if at least 9 of 10 values are written as numbers (the others count as missing, and a note says so);
    * dates if all values are dates or times in ISO format;
    * a category if it has at most 100 different values and they repeat: at least one of them if they have fewer than 4
      words on average, else each ten times on average;
    * left out if 9 of 10 values are different and have fewer than 2 words on average, as names and links do;
    * text otherwise.

    >>> kind_of(Place("nodes"), "city", pa.array(["Rome", "Oslo", "Rome"], pa.large_string()))
    ('category', '')
    >>> kind_of(Place("nodes"), "link", pa.array(["a.org", "b.org", "c.org"], pa.large_string()))
    (None, 'a different word in almost every row')
    """
    types, dtype = pa.types, array.type
    missing = array.is_null(nan_is_null=True) if types.is_floating(dtype) else array.is_null()
    if pc.all(missing).as_py():
        return None, "no values"
    if has_lists(array):
        return "text" if _holds_text(dtype.value_type) else "list", ""
    if types.is_boolean(dtype):
        return "boolean", ""
    if types.is_date(dtype) or types.is_timestamp(dtype):
        return "date", ""
    if _is_numeric(dtype):
        return "number", ""
    if types.is_large_string(dtype):
        return _kind_of_text(present(array).drop_null(), chosen)
    described = str(dtype) if len(str(dtype)) <= 60 else f"{str(dtype)[:60]}…"
    raise InputError(
        f"{place.name}: column {shown(name)} holds {described}, which cannot become features; ignore or convert it"
    )


def is_declared_category(column: Any, array: Any) -> bool:
    """Return whether a column, decoded to an array, is a category by its type, as in pandas, with at most 100 values.

    >>> numbers = pa.array([7, 8, 7])
    >>> is_declared_category(pa.chunked_array([numbers.dictionary_encode()]), numbers)
    True
    """
    if not pa.types.is_dictionary(column.type) or pa.types.is_nested(array.type):
        return False
    return bool(array.null_count < len(array) and pc.count_distinct(array).as_py() <= MOST_LEVELS)


def _kind_of_text(values: Any, chosen: bool) -> tuple[str | None, str]:
    if not len(values):
        return None, "no values"
    dated = _times(values) is not None
    distinct = pc.count_distinct(values).as_py()
    return decide_text(len(values), count_numbers(values), dated, count_words(values), lambda: distinct, chosen)


def count_numbers(values: Any) -> int:
    """Count the texts that are written as numbers."""
    return int(pc.sum(pc.match_substring_regex(values, _NUMBER)).as_py() or 0)


def count_words(values: Any) -> int:
    """Count the words of all texts."""
    return int(pc.sum(pc.list_value_length(pc.utf8_split_whitespace(values))).as_py() or 0)


def are_times(values: Any, zone: str | None) -> bool:
    """Return whether all texts are dates or times in ISO format, with or without a time zone."""
    return _cast_times(values, zone) is not None


def decide_text(
    count: int, numbers: int, dated: bool, words: int, distinct: Callable[[], int], chosen: bool
) -> tuple[str | None, str]:
    """Decide what a column with ``count`` texts holds, from what is known about all of them; see :func:`kind_of`."""
    if numbers / count >= _MOSTLY:
        return "number", ""
    if dated:
        return "date", ""
    each, different = words / count, distinct()
    repeated = different < count if each < _SHORT else 10 * different <= count
    if different <= MOST_LEVELS and repeated:
        return "category", ""
    if each < 2 and different >= _MOSTLY * count and not chosen:
        return None, "a different word in almost every row"
    return "text", ""


def present(array: Any) -> Any:
    """Return text without spaces around it, and null instead of empty text."""
    trimmed = pc.utf8_trim_whitespace(array)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)


def texts(place: Place, name: str, array: Any) -> Any:
    """Return any values as text, the words of a list side by side; null where they are missing."""
    try:
        if has_lists(array) and _holds_text(array.type.value_type):
            array = pc.binary_join(array.cast(pa.large_list(pa.large_string())), pa.scalar(" ", pa.large_string()))
        return present(array.cast(pa.large_string()))
    except pa.ArrowException:
        raise InputError(
            f"{place.name}: column {shown(name)} holds {str(array.type)[:60]}, which cannot become text; "
            "ignore or convert it"
        ) from None


def values_of(place: Place, name: str, array: Any, kind: str, *, mostly: bool = True) -> tuple[np.ndarray, list[str]]:
    """Return numbers, booleans, dates (in years since 1970) or lists, and the texts that count as missing numbers.

    Such texts are an error if they are more than a tenth of the values, unless ``mostly`` is false.
    """
    if kind == "list" and not has_lists(array):
        raise InputError(f"{place.name}: column {shown(name)} holds {array.type}, but lists of numbers are needed")
    odd: list[str] = []
    if kind == "list":
        values = to_numbers(place, name, pa.chunked_array([array])).reshape(len(array), -1)
    elif kind == "date":
        values = _years(place, name, array)
    else:
        values, odd = _numbers(place, name, array, mostly)
    flat = values.reshape(len(values), -1)
    rows, columns = np.nonzero(np.isinf(flat) | (np.abs(flat) > _LIMIT))
    if len(rows):
        value = flat[rows[0], columns[0]]
        problem = f"{shown(name)} is {value}; give a finite number, ignore the column or drop the row"
        if np.isfinite(value):
            problem = f"{shown(name)} exceeds 3.4e38, the limit of single precision; scale the column down"
        raise place.error(rows[0], problem)
    return values, odd


def _numbers(place: Place, name: str, array: Any, mostly: bool) -> tuple[np.ndarray, list[str]]:
    types, dtype, odd = pa.types, array.type, []
    if types.is_large_string(dtype):
        text = present(array)
        known = pc.match_substring_regex(text, _NUMBER)
        share = pc.mean(known).as_py()  # None if there is no text at all
        if mostly and share is not None and share < _MOSTLY:
            row = pc.index(known, False).as_py()
            problem = f"column {shown(name)} is not numeric: {shown(text[row].as_py())}"
            raise place.error(row, f"{problem}; the model was trained with numbers")
        odd = pc.unique(text.filter(pc.invert(known))).to_pylist()
        array = pc.if_else(known, text, pa.scalar(None, text.type)).cast(pa.float64())
    elif not _is_numeric(dtype) and not types.is_boolean(dtype) and not types.is_null(dtype):
        raise InputError(f"{place.name}: column {shown(name)} holds {str(dtype)[:60]}, but numbers are needed")
    if types.is_boolean(dtype):
        array = array.cast(pa.uint8())  # Arrow cannot cast booleans to floats
    if types.is_duration(dtype) or types.is_time(dtype):
        counts = array.cast(pa.int32() if types.is_time32(dtype) else pa.int64()).cast(pa.float64(), safe=False)
        array = pc.divide(counts, float(_PER_SECOND[dtype.unit]))
    array = array if array.type == pa.float32() else array.cast(pa.float64(), safe=False)
    return np.array(array.to_numpy(zero_copy_only=False)), odd  # nulls become NaN


def _holds_text(dtype: Any) -> bool:
    types = pa.types
    return types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)


def _is_numeric(dtype: Any) -> bool:
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_duration, types.is_time)
    return any(matches(dtype) for matches in tests)


def _years(place: Place, name: str, array: Any) -> np.ndarray:
    if pa.types.is_large_string(array.type):
        array = present(array)
    times = array if pa.types.is_null(array.type) else _times(array)
    if times is None:
        raise InputError(
            f"{place.name}: column {shown(name)} does not hold dates in every row ({str(array.type)[:60]}), but the "
            "model was trained with dates; write them as 2024-12-31"
        )
    seconds = times.cast(pa.int64()).cast(pa.float64(), safe=False)
    return np.asarray(seconds.to_numpy(zero_copy_only=False)) / _SECONDS_PER_YEAR


def _times(array: Any) -> Any:
    """Return dates, or text in ISO format with or without a time zone, as timestamps; None for anything else."""
    types, dtype = pa.types, array.type
    if types.is_date(dtype) or types.is_timestamp(dtype):
        return array.cast(pa.timestamp("s"), safe=False)
    if types.is_large_string(dtype):
        found = _cast_times(array, None)
        return _cast_times(array, "UTC") if found is None else found
    return None


def _cast_times(array: Any, zone: str | None) -> Any:
    try:
        return array.cast(pa.timestamp("us", zone)).cast(pa.timestamp("s"), safe=False)
    except pa.ArrowInvalid:
        return None

"""What the columns of a table may hold, checked: each refusal names the table, the row and the way out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError

ENDS = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"))
NODE_IDS = ("id", "node", "node_id")


@dataclass(frozen=True)
class Place:
    """What messages call a table and its rows.

    >>> str(Place("people.csv").error(3, "no id"))
    'people.csv, row 3: no id'
    """

    name: str
    row: Callable[[int], str] = "row {}".format  # rows are numbered from 0, as pandas and Arrow do; files have lines

    def error(self, row: Any, problem: str) -> InputError:
        """The refusal of one row."""
        return InputError(f"{self.name}, {self.row(int(row))}: {problem}")


def check_names(names: Sequence[str], place: Place) -> None:
    """No two columns of a table share a name."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"{place.name} has two columns {twice!r}; rename or drop one")


def find_ends(names: Sequence[str], place: Place) -> tuple[str, str]:
    """The columns with the two ends of an edge.

    >>> find_ends(["src", "dst", "weight"], Place("edges"))
    ('src', 'dst')
    """
    for pair in ENDS:
        if pair[0] in names and pair[1] in names:
            return pair
    listed = ",".join(names)
    if 2 <= len(names) <= 4 and not {name for pair in ENDS for name in pair} & set(names):
        header = ",".join(("source", "target", "weight", "graph")[: len(names)])
        raise InputError(
            f"{place.name} has no columns 'source' and 'target' but {listed!r}; rename them, or if those are data, "
            f"put a header line above them, such as {header}"
        )
    if len(names) == 1:
        raise InputError(f"{place.name} has one column only, {listed!r}; it needs 'source' and 'target'. Is the "
                         "separator right? A .csv has commas, a .tsv has tabs")  # fmt: skip
    raise _missing(place, "target" if "source" in names else "source", names)


def find_id(names: Sequence[str], given: str | None, place: Place) -> str:
    """The column with the id of a node: the one given, else the first of the usual names."""
    found = [name for name in ((given,) if given is not None else NODE_IDS) if name in names]
    if not found:
        raise _missing(place, given if given is not None else NODE_IDS[0], names)
    return found[0]


def is_index(name: str) -> bool:
    """Whether a column is an index of pandas that had no name when it was stored in Parquet."""
    return name.startswith("__index_level_")


def find_label(names: Sequence[str], given: str | None, place: Place) -> str | None:
    """The column to be predicted: the one given, else ``label`` where there is one."""
    if given is not None and given not in names:
        raise _missing(place, given, names)
    return given if given is not None else "label" if "label" in names else None


def _missing(place: Place, wanted: str, names: Sequence[str]) -> InputError:
    """The refusal of a table without a column it needs, with the nearest name it has."""
    near = get_close_matches(wanted.lower(), names, n=1)
    hint = f"; did you mean {near[0]!r}? It" if near else "; it"
    listed = ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return InputError(f"{place.name} has no column {wanted!r}{hint} has {listed or 'no columns'}")


def whole(column: Any) -> Any:
    """A column as one array, dictionaries decoded.

    >>> whole(pa.chunked_array([["a"], ["b"]]).dictionary_encode()).to_pylist()
    ['a', 'b']
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type):
        column = column.cast(pa.large_string())  # 32-bit offsets end at two gigabytes
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def keys(parts: Sequence[tuple[Place, str, Any]]) -> list[Any]:
    """Columns that name the same things, as arrays of one kind: integers where all are, else text.

    >>> [array.to_pylist() for array in keys([(Place("a"), "id", pa.chunked_array([[1]])),
    ...                                       (Place("b"), "id", pa.chunked_array([["x"]]))])]
    [['1'], ['x']]
    """
    arrays = [_key(*part) for part in parts]
    if all(pa.types.is_int64(array.type) for array in arrays):
        return arrays
    return [array.cast(pa.large_string()) for array in arrays]


def _key(place: Place, name: str, column: Any) -> Any:
    array = whole(column)
    missing = array.is_null(nan_is_null=True)
    if pa.types.is_large_string(array.type):
        missing = pc.or_kleene(missing, pc.equal(array, ""))
    row = pc.index(missing, True).as_py()
    if row >= 0:
        raise place.error(row, f"the {name!r} is missing; fill it in or drop the row")
    try:
        # A column of integers with a gap is one of floats in pandas: what is whole is an integer again.
        if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
            return array.cast(pa.int64())
    except pa.ArrowInvalid:  # fractions, or integers past 64 bits: as text they stay what they are
        pass
    try:
        return array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"{place.name}: column {name!r} holds {array.type}; ids must be integers or text") from None


def numbers(place: Place, name: str, column: Any, way_out: str = "encode it as numbers") -> np.ndarray:
    """A column of finite numbers, or a block of columns from equally long lists of them.

    >>> numbers(Place("nodes"), "x", pa.chunked_array([[[1, 2], [3, 4]]])).shape
    (2, 2)
    """
    array = whole(column)
    width = 1
    if has_lists(array):
        lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        width = int(lengths[0]) if len(lengths) else 0
        odd = np.flatnonzero((lengths != width) | (lengths == 0))
        if len(odd):
            problem = f"{name!r} has {lengths[odd[0]]} values" + (f", but the first row has {width}" if odd[0] else "")
            raise place.error(odd[0], f"{problem}; give every row the same number, at least one")
        array = array.flatten()
    kind, types = array.type, pa.types
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    if not any(known(kind) for known in numeric):
        row, value = _first_text(array)
        raise place.error(row // width, f"column {name!r} is not numeric: {str(value)!r}; drop the column or {way_out}")
    array = array.cast(pa.uint8()) if types.is_boolean(kind) else array  # Arrow has no way from truth to reals
    values = array if kind == pa.float32() else array.cast(pa.float64(), safe=False)
    result = values.to_numpy(zero_copy_only=False)  # nulls become NaN
    bad = np.flatnonzero(~np.isfinite(result))
    if len(bad):
        value = "missing" if np.isnan(result[bad[0]]) else result[bad[0]]
        raise place.error(bad[0] // width, f"{name!r} is {value}; give a finite number or drop the row")
    return result if width == 1 else result.reshape(-1, width)


def has_lists(column: Any) -> bool:
    """Whether each value of a column is a list."""
    kind, types = column.type, pa.types
    return any(known(kind) for known in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def _first_text(array: Any) -> tuple[int, Any]:
    """The first value of a column that is no number; the first of all where each could be read as one."""
    first = None
    for row, value in enumerate(array.to_pylist()):
        if value is None:
            continue
        first = (row, value) if first is None else first
        try:
            float(value)
        except (TypeError, ValueError):
            return row, value
    return first or (0, None)


def labels(column: Any) -> np.ndarray:
    """A column of labels: numbers, or text; NaN or an empty text where there is none.

    >>> labels(pa.chunked_array([["cat", None]])).tolist()
    ['cat', '']
    """
    array = whole(column)
    kind = array.type
    if pa.types.is_boolean(kind) and not array.null_count:
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return to_numpy(array.cast(pa.large_string()).fill_null(""))


def to_numpy(array: Any) -> np.ndarray:
    """Integers or text as an array without Python objects."""
    if pa.types.is_integer(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.array(array.to_pylist(), dtype=np.str_)

"""Tables larger than memory: read in batches, any number of times, with the types that the whole table has.

A Parquet file has its types. Those of a text file follow from all of its rows, so it is read once before: by Arrow's
rules, which loosen the type of a column (integer, boolean, date, …, text) until all of its values fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from mvgrl.errors import InputError
from mvgrl.tables.budget import check_ratio
from mvgrl.tables.columns import Place, check_unique_names, is_pandas_index
from mvgrl.tables.delimited import csv_options, line_of_row, parse_error, parse_integers
from mvgrl.tables.dialect import Dialect, sniff
from mvgrl.tables.files import Wanted, not_parquet, read_file, rows_at_a_time
from mvgrl.tables.parquet_sizes import declared_sizes
from mvgrl.tables.parts import check_same_columns, join_columns, place_of_parts
from mvgrl.tables.paths import SEPARATORS, TABLE_EXTENSIONS, check_input_file, extension_of, is_standard_input, parts_of
from mvgrl.tables.streamed_text import StreamedText, stream_text
from mvgrl.tables.text import arrow_source, not_compressed

_LOOSER = (pa.null(), pa.int64(), pa.bool_(), pa.date32(), pa.time32("s"), pa.timestamp("s"), pa.timestamp("ns"),
           pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC"), pa.float64(), pa.string())  # fmt: skip
_DELIMITED = (*SEPARATORS, ".txt", ".edgelist", ".edges")
_BLOCK = 2**22  # bytes of a text file that are parsed at a time
_AT_A_TIME = 2**16  # rows of a table that is in memory
Advance = Callable[[int], None]  # is told how many rows were read


class TableStream:
    """A table that is read in batches."""

    place: Place
    names: list[str]
    rows: int  # known once the columns are settled
    types: dict[str, Any]  # of the columns that are settled

    def settle(self, columns: Collection[str], advance: Advance | None = None) -> None:
        """Find the types of the columns that are to be read."""
        raise NotImplementedError

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield tables with the given columns, from the first row to the last."""
        raise NotImplementedError


@dataclass
class _Whole(TableStream):
    """A table in memory: of the types of files that cannot be read in parts."""

    table: Any
    place: Place
    types: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names, self.rows = self.table.column_names, self.table.num_rows

    def settle(self, columns: Collection[str], advance: Advance | None = None) -> None:
        self.types = {name: self.table[name].type for name in columns}

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self.table.select(columns)
        for start in range(0, self.rows, _AT_A_TIME):
            yield chosen.slice(start, _AT_A_TIME)


class _Parquet(TableStream):
    def __init__(self, path: Path) -> None:
        self.path, self.place, self.types = path, Place(str(path)), {}
        try:
            declared = declared_sizes(path)
            check_ratio(path, declared.total)
            self._at_a_time = rows_at_a_time(declared.longest)  # if texts of a dictionary are of any length
            with pq.ParquetFile(arrow_source(path)) as file:
                self.rows, self._schema = file.metadata.num_rows, file.schema_arrow
        except InputError:
            raise
        except Exception as error:  # a damaged file may raise anything
            raise not_parquet(path, error) from None
        self.names = [name for name in self._schema.names if not is_pandas_index(name)]
        check_unique_names(self.names, self.place)

    def settle(self, columns: Collection[str], advance: Advance | None = None) -> None:
        self.types = {name: self._schema.field(name).type for name in columns}

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        texts = [name for name in columns if _is_text(self.types[name])]
        try:
            with (
                pq.ParquetFile(arrow_source(self.path), pre_buffer=False) as file,
                pq.ParquetFile(arrow_source(self.path), pre_buffer=False, read_dictionary=texts) as dictionaries,
            ):
                for group in range(file.num_row_groups):
                    rows = self._rows_at_a_time(dictionaries, group, columns, texts)
                    for batch in file.iter_batches(rows, row_groups=[group], columns=list(columns)):
                        yield pa.Table.from_batches([batch]).select(columns)
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise not_parquet(self.path, error) from None

    def _rows_at_a_time(self, file: Any, group: int, columns: Sequence[str], texts: list[str]) -> int:
        """Return how many rows of a group to unpack at a time: a text of its dictionary may be in every row.

        A text that is not in a dictionary takes as much in the file.
        """
        if any(pa.types.is_nested(self.types[name]) and not _holds_numbers(self.types[name]) for name in columns):
            return self._at_a_time
        longest = 0
        for name in texts:
            first = next(file.iter_batches(1, row_groups=[group], columns=[name]), None)
            if first is not None and pa.types.is_dictionary(first.column(0).type):
                words = first.column(0).dictionary
                longest += pc.max(pc.binary_length(words)).as_py() or 0 if _is_text(words.type) else 0
        return rows_at_a_time(8 * longest)


def _is_text(dtype: Any) -> bool:
    types = pa.types
    inner = dtype.value_type if types.is_dictionary(dtype) else dtype
    return any(test(inner) for test in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


def _holds_numbers(dtype: Any) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(dtype) for test in lists) and pa.types.is_primitive(dtype.value_type)


@dataclass
class _IdColumn:
    """What the ids of a text file have in common: the spaces before them, and whether all are canonical integers."""

    least: int = 2**30
    most: int = 0
    integers: bool = True

    def add(self, column: Any) -> None:
        if not len(column):
            return
        bare = pc.utf8_ltrim(column, " ")
        spaces = pc.min_max(pc.subtract(pc.utf8_length(column), pc.utf8_length(bare))).as_py()
        self.least, self.most = min(self.least, spaces["min"]), max(self.most, spaces["max"])
        self.integers = self.integers and pa.types.is_int64(parse_integers(bare).type)

    @property
    def dtype(self) -> Any:
        return pa.int64() if self.integers and self.least >= self.most else pa.string()

    def convert(self, column: Any) -> Any:
        if len(column) and self.least:
            column = pc.utf8_slice_codeunits(column, self.least)
        return column.cast(self.dtype)


class _Delimited(TableStream):
    def __init__(self, path: Path, wanted: Wanted) -> None:
        text = stream_text(path)
        usual = SEPARATORS.get(extension_of(path), " \t")
        try:
            self.dialect: Dialect = sniff(
                text, usual, wanted.is_header, edges=wanted.edges, separator=wanted.separator, header=wanted.header
            )
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(text, error) from None
        self.text = text.with_single_spaces() if self.dialect.separator == " " else text
        dialect, lines = self.dialect, self.text
        self.place = Place(text.name, lambda row: line_of_row(lines, dialect, row), dialect.notes)
        check_unique_names(self.dialect.names, self.place)
        self.names = [name for name in self.dialect.names if not is_pandas_index(name)]
        self._ids, self._parsed = wanted.ids(self.dialect.names), dict[str, Any]()
        self._found: dict[str, _IdColumn] = {}

    def settle(self, columns: Collection[str], advance: Advance | None = None) -> None:
        names = [name for name in self.dialect.names if name in columns]
        types = {name: pa.string() for name in names if name in self._ids}
        while True:
            try:
                self._scan(names, types, advance)
                break
            except pa.ArrowInvalid as error:
                self._loosen(types, error)
        self.types = {name: self._found[name].dtype if name in self._found else self._parsed[name] for name in names}

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        names = [name for name in self.dialect.names if name in columns]
        for batch in self._read(names, {name: self._parsed[name] for name in names}):
            arrays = [self._convert(name, batch[name]) for name in columns]
            yield pa.table(arrays, names=list(columns))

    def _convert(self, name: str, column: Any) -> Any:
        return self._found[name].convert(column) if name in self._found else column

    def _scan(self, names: list[str], types: dict[str, Any], advance: Advance | None) -> None:
        """Read the file with the given types; the other columns get those that fit their first rows."""
        self.rows, self._found = 0, {name: _IdColumn() for name in names if name in self._ids}
        for batch in self._read(names, types):
            self.rows += batch.num_rows
            for name, found in self._found.items():
                found.add(batch[name])
            if advance is not None:
                advance(batch.num_rows)
        self._parsed = dict(types)

    def _read(self, names: list[str], types: dict[str, Any]) -> Iterator[Any]:
        try:
            with csv.open_csv(self.text.arrow(), **csv_options(self.dialect, types, names, _BLOCK)) as reader:
                types |= {one.name: one.type for one in reader.schema}
                for batch in reader:
                    yield pa.Table.from_batches([batch])
        except OSError as error:
            raise self._unreadable(self.text, error) from None

    def _loosen(self, types: dict[str, Any], error: pa.ArrowInvalid) -> None:
        """Give a column whose values do not have its type the next looser one."""
        found = re.match(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to", str(error))
        name = self.dialect.names[int(found[1])] if found and int(found[1]) < len(self.dialect.names) else None
        if name not in types or types[name] not in _LOOSER[:-1]:
            raise parse_error(self.text, self.dialect, error) from None
        types[name] = _LOOSER[_LOOSER.index(types[name]) + 1]

    def _unreadable(self, text: StreamedText, error: Exception) -> InputError:
        if text.codec is not None:
            return not_compressed(text.name, text.codec, error)
        return InputError(f"{text.name} cannot be read: {error}; check the path and its permissions")


class _Parts(TableStream):
    """Files with the same columns, one after the other; each of them has its own types, as if it were read alone."""

    def __init__(self, paths: Sequence[Path], name: str, parts: Sequence[TableStream]) -> None:
        check_same_columns(paths, [part.names for part in parts])
        self.paths, self.parts, self.names, self.types = paths, parts, parts[0].names, {}
        self.place = Place(name)

    def settle(self, columns: Collection[str], advance: Advance | None = None) -> None:
        for part in self.parts:
            part.settle(columns, advance)
        for name in columns:
            empty = [pa.chunked_array([], part.types[name]) for part in self.parts]
            self.types[name] = join_columns(empty, name, self.paths).type
        rows = [part.rows for part in self.parts]
        self.rows = sum(rows)
        self.place = place_of_parts(self.paths, self.place.name, [part.place for part in self.parts], rows)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        schema = pa.schema([(name, self.types[name]) for name in columns])
        for part in self.parts:
            for batch in part.batches(columns):
                yield batch.cast(schema)


def open_stream(path: Path | Sequence[Path], wanted: Wanted) -> TableStream:
    """Open a file, a list or folder of files with the same columns, or standard input.

    Parquet and delimited text are read in batches; other types of files are read into memory first.
    """
    if not isinstance(path, Path):
        if len(path) == 1:
            return open_stream(path[0], wanted)
        return _Parts(path, f"{path[0]} and {len(path) - 1} more", [_open(part, wanted) for part in path])
    if path.is_dir() and not is_standard_input(path):
        parts = parts_of(path)
        if not parts:
            raise InputError(f"{path} is a folder without tables; give a file, or a folder with the parts of a table")
        return _Parts(parts, str(path), [_open(part, wanted) for part in parts])
    return _open(path, wanted)


def _open(path: Path, wanted: Wanted) -> TableStream:
    if is_standard_input(path):
        return _Whole(*read_file(path, wanted))
    extension = check_input_file(path, TABLE_EXTENSIONS)
    if extension == ".parquet":
        return _Parquet(path)
    if extension in _DELIMITED:
        return _Delimited(path, wanted)
    return _Whole(*read_file(path, wanted))

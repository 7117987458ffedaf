"""Read tables from text, Parquet, Feather and JSON Lines; errors name the line in a text file, else the row."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mvgrl.errors import InputError, shown
from mvgrl.tables.arrow_files import read_arrow
from mvgrl.tables.budget import check_unpacked_size
from mvgrl.tables.columns import ID_COLUMNS, Place, is_pandas_index, match_id, match_name
from mvgrl.tables.delimited import parse_text
from mvgrl.tables.dialect import check_separator, sniff
from mvgrl.tables.endpoints import match_endpoints
from mvgrl.tables.json_lines import read_lines
from mvgrl.tables.parquet_sizes import declared_sizes
from mvgrl.tables.parts import read_parts
from mvgrl.tables.paths import ARROW_EXTENSIONS, LINES_EXTENSIONS, SEPARATORS, extension_of, is_standard_input, parts_of
from mvgrl.tables.text import Text, arrow_source, open_text, standard_input

_BATCH, _MOST_ROWS = 2**29, 2**16  # bytes and rows of a Parquet file that are unpacked at a time


@dataclass(frozen=True)
class Wanted:
    """What is known about a table before it is read."""

    is_header: Callable[[Sequence[str]], bool]
    ids: Callable[[Sequence[str]], set[str]]  # the columns that are ids, among all names
    edges: bool = False
    separator: str | None = None
    header: bool | None = None
    keep_index: bool = False
    float32: re.Pattern[str] | None = None


def read_edges(
    path: Path | Sequence[Path],
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
) -> tuple[Any, Place]:
    """Read a table of edges; return it with its place for error messages.

    It may be a file, a list or a folder of files with the same columns, or ``-`` for standard input. ``header`` says
    whether the first line has the names of the columns; without it, and without ``separator``, both are recognised.
    """
    return _read_all(path, wanted_edges(source_column, target_column, weight_column, separator, header))


def wanted_edges(
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
) -> Wanted:
    """Return what is known about a table of edges before it is read."""
    chosen = (source_column, target_column, weight_column)
    if any(name is not None for name in chosen):
        if header is False:
            name = shown(next(name for name in chosen if name is not None))
            raise InputError(f"the column {name} needs a header, but there is none; omit the column, or header=False "
                             "(--no-header)")  # fmt: skip
        header = True

    def is_header(names: Sequence[str]) -> bool:
        return match_endpoints(names, source_column, target_column) is not None

    def ids(names: Sequence[str]) -> set[str]:
        graph = match_name("graph", names)
        return {*(match_endpoints(names, source_column, target_column) or ()), *(() if graph is None else (graph,))}

    separator = None if separator is None else check_separator(separator)
    return Wanted(is_header, ids, edges=True, separator=separator, header=header)


def read_nodes(
    path: Path, id_column: str | None = None, text: Collection[str] = (), *, bipartite: bool = False
) -> tuple[Any, Place]:
    """Read a table of nodes, a file or a folder of files; return it with its place for error messages.

    The columns in ``text`` are read as they are written: in a text file, 007 stays 007. In a ``bipartite`` graph, the
    column ``side`` is a part of a node's id.
    """
    return _read_all(path, wanted_nodes(id_column, text, bipartite=bipartite))


def wanted_nodes(id_column: str | None = None, text: Collection[str] = (), *, bipartite: bool = False) -> Wanted:
    """Return what is known about a table of nodes before it is read."""

    def is_header(names: Sequence[str]) -> bool:
        return match_id(names, id_column) is not None

    def ids(names: Sequence[str]) -> set[str]:
        found = (match_id(names, id_column), match_name("graph", names), "side" if bipartite else None)
        return {*text, *(name for name in found if name is not None)}

    return Wanted(is_header, ids)


def read_rows(path: Path, id_column: str | None = None) -> tuple[Any, Place]:
    """Read a table with one row per id; return it with its place for error messages.

    An unnamed pandas index is kept. Columns named e0, e1, … are read in single precision, as embeddings are written.
    """

    def is_header(names: Sequence[str]) -> bool:
        return match_id(names, id_column) is not None

    def ids(names: Sequence[str]) -> set[str]:
        found = match_id(names, id_column)
        usual = ("", *ID_COLUMNS) if id_column is None else ()
        return {"graph", *usual, *(() if found is None else (found,))}

    return read_file(path, Wanted(is_header, ids, keep_index=True, float32=re.compile("e[0-9]+")))


def _read_all(path: Path | Sequence[Path], wanted: Wanted) -> tuple[Any, Place]:
    if not isinstance(path, Path):
        if len(path) == 1:
            return read_file(path[0], wanted)
        if not path:
            raise InputError("the list of tables is empty; give at least one")
        return read_parts(path, f"{path[0]} and {len(path) - 1} more", partial(read_file, wanted=wanted))
    if path.is_dir() and not is_standard_input(path):
        parts = parts_of(path)
        if not parts:
            raise InputError(f"{path} is a folder without tables; give a file, or a folder with the parts of a table")
        return read_parts(parts, str(path), partial(read_file, wanted=wanted))
    return read_file(path, wanted)


def read_file(path: Path, wanted: Wanted) -> tuple[Any, Place]:
    """Read one file, or standard input, by its extension."""
    extension = extension_of(path)
    if is_standard_input(path):
        table, place = _read_text(standard_input(), ",", wanted)
    elif extension == ".parquet":
        table, place = _read_parquet(path), Place(str(path))
    elif extension in ARROW_EXTENSIONS:
        table, place = read_arrow(path), Place(str(path))
    elif extension in LINES_EXTENSIONS:
        table, place = _read_lines(open_text(path), wanted)
    else:
        table, place = _read_text(open_text(path), SEPARATORS.get(extension, " \t"), wanted)
    if not wanted.keep_index:  # pandas stores an unnamed index as a column, but it is not a feature
        table = table.select([i for i, name in enumerate(table.column_names) if not is_pandas_index(name)])
    return table, place


def _read_text(text: Text, usual: str, wanted: Wanted) -> tuple[Any, Place]:
    if text.path is None and (text.data or b"").lstrip().startswith(b"{"):
        return _read_lines(text, wanted)
    dialect = sniff(text, usual, wanted.is_header, edges=wanted.edges, separator=wanted.separator, header=wanted.header)
    return parse_text(text, dialect, wanted.ids(dialect.names), wanted.float32)


def _read_lines(text: Text, wanted: Wanted) -> tuple[Any, Place]:
    return read_lines(text, wanted.ids)


def rows_at_a_time(longest: int) -> int:
    """Return how many rows of a Parquet file are unpacked at a time; its texts take up to ``longest`` bytes per row."""
    return max(1, min(_MOST_ROWS, _BATCH // max(1, longest)))


def _read_parquet(path: Path) -> Any:
    """Read a Parquet file, in batches: a text that repeats is stored once and could unpack to any size."""
    try:
        declared = declared_sizes(path)
        check_unpacked_size(path, declared.total)
        rows = rows_at_a_time(declared.longest)
        with pq.ParquetFile(arrow_source(path)) as file:
            batches, size = [], 0
            for batch in file.iter_batches(rows):
                batches.append(batch)
                size += batch.nbytes
                check_unpacked_size(path, size)
            return pa.Table.from_batches(batches, file.schema_arrow)
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise not_parquet(path, error) from None


def not_parquet(path: Path, error: Exception) -> InputError:
    """Return the error for a Parquet file that cannot be read."""
    reason = shown(str(error).strip().partition("\n")[0])[1:-1]
    return InputError(f"{path} is not a Parquet file, or is truncated or damaged ({reason}); write it again")

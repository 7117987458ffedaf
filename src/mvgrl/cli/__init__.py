"""The command line: ``mvgrl VERB``, one file per verb. Slow imports happen inside the verb that needs them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any

from cyclopts import App, CycloptsError, UnusedCliTokensError

import mvgrl
from mvgrl.cli.spelling import as_flags
from mvgrl.cli.streams import discard, safe_streams
from mvgrl.errors import CheckpointError, InputError, MVGRLError, SettingsError, shown

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130

VERBS = (
    *("demo", "embed", "train", "apply", "evaluate", "neighbors", "cluster", "links", "map", "explore", "compare"),
    *("search", "import", "datasets", "info", "reproduce", "report"),
)

# Parameters whose names no file of settings has.
_OF_TABLES = ("id_column", "label_column", "source_column", "target_column", "weight_column", "data_root")


def module_of(verb: str) -> Any:
    """Return the module of a verb; that of a Python keyword has an underscore at its end."""
    return import_module(f"mvgrl.cli.{verb}{'_' if iskeyword(verb) else ''}")


def make_app() -> App:
    """All verbs."""
    app = App(
        name="mvgrl",
        help="""Vectors for the nodes of a graph, or for entire graphs, learned without labels.

        ```
        mvgrl demo
        mvgrl embed edges.csv -o vectors.parquet
        mvgrl evaluate vectors.parquet --labels nodes.csv
        ```
        """,
        help_format="markdown",
        version=mvgrl.__version__,
    )
    for place, verb in enumerate(VERBS):
        app.command(module_of(verb).run, name=verb, sort_key=place)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; the exit code is 0 for success, 1 for a failure, 2 for bad input or usage, 130 for an interrupt."""
    with safe_streams():
        return _run(list(sys.argv[1:] if arguments is None else arguments))


def _run(words: list[str]) -> int:
    words = _with_standard_input(words)
    try:
        _check_encoding(words)
        make_app()(words, exit_on_error=False, print_error=False, result_action="return_value")
        if sys.stdout is not None:
            sys.stdout.flush()
    except CycloptsError as error:
        unused = error.unused_tokens if isinstance(error, UnusedCliTokensError) else None
        problem = f"unexpected arguments: {' '.join(unused)}." if unused else error
        return _refuse(f"{problem} See mvgrl {words[0] + ' ' if words and words[0] in VERBS else ''}--help.")
    except (InputError, SettingsError, CheckpointError) as error:
        return _refuse(as_flags(str(error), _OF_TABLES))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has closed it
        discard(sys.stdout)
        return DONE
    except MVGRLError as error:
        return _refuse(str(error), FAILED)
    except OSError as error:
        discard(sys.stdout)
        return _refuse(_system_error(error))
    except MemoryError:
        return _refuse(_TOO_LARGE, FAILED)
    except Exception as error:
        if "memory" in str(error).lower() and type(error).__name__ in ("RuntimeError", "OutOfMemoryError"):
            return _refuse(_TOO_LARGE, FAILED)
        if any(word.startswith("-v") or word == "--verbose" for word in words):
            raise
        return _refuse(f"internal error: {type(error).__name__}: {error} (-v shows the traceback)", FAILED)
    return DONE


def _with_standard_input(words: list[str]) -> list[str]:
    """Replace - by another name of standard input: the parser takes a hyphen for an option.

    >>> _with_standard_input(["embed", "-", "-o", "-"])
    ['embed', '/dev/stdin', '-o', '-']
    """
    before = ["", *words]
    return [
        "/dev/stdin" if word == "-" and before[i] not in ("-o", "--output") else word for i, word in enumerate(words)
    ]


def _check_encoding(words: list[str]) -> None:
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"the argument {ascii(os.fsencode(word))[1:]} is not valid UTF-8; rename the file"
            ) from None


def _system_error(error: OSError) -> str:
    if error.filename is None:
        return f"standard output cannot be written: {error.strerror or error}; redirect it to another place"
    return f"{shown(os.fspath(error.filename), 300)} cannot be accessed: {error.strerror}; check the path"


_TOO_LARGE = "not enough memory; use --hidden 128, or --sampler walk, or --views adjacency,ppr:top_k=32"


def _refuse(message: str, code: int = WRONG) -> int:
    print(f"mvgrl: {message}", file=sys.stderr, flush=True)
    return code

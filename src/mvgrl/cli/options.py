"""The flags that verbs share, as dataclasses; a flag that was not given is None."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number

from mvgrl.definitions import spec_of
from mvgrl.settings import OutputFields, TaskField, TrainingFields, default_text

GENERAL = Group("General", sort_key=9)
GRAPH = Group("The graph", sort_key=1)
SETTINGS = Group("Settings", help="Settings that are not given are chosen for the graph.", sort_key=2)
VECTORS = Group("Vectors", help="How vectors are made from a trained model.", sort_key=3)

Output = Annotated[Path, Parameter(name=("--output", "-o"))]


def flag(help: str, **more: Any) -> Parameter:
    """A flag with its help text; a switch has no --no- form."""
    return Parameter(help=help, negative="", show_default=False, **more)


def listed(text: str) -> list[str]:
    """The parts of a comma-separated text.

    >>> listed("adjacency, ppr:alpha=0.1")
    ['adjacency', 'ppr:alpha=0.1']
    """
    return [part.strip() for part in text.split(",")]


def whole(kind: Any, tokens: Sequence[Token]) -> int:
    """An integer exactly as written; the default parser would round 1.5 to 2."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not an integer.") from None


MethodName = Annotated[
    str,
    flag("default, mvgrl (as in the paper), or another method that makes vectors: raw, netmf, dgi, … (default)."),
]
MemoryLimit = Annotated[
    str | None,
    flag("Memory limit, such as 4GB; a graph from mvgrl import may be larger (the machine's).", group=GENERAL),
]
Overwrite = Annotated[bool, flag("Replace the ids table of a .npy output even if it belongs to something else.")]
CsvSafe = Annotated[
    bool, flag("In .csv and .tsv, write an apostrophe before ids that a spreadsheet would run as formulas.")
]


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """The flags of every verb."""

    json: Annotated[bool, flag("Print one JSON object on stdout.", group=GENERAL)] = False
    quiet: Annotated[bool, flag("Print only results and errors.", group=GENERAL, alias="-q")] = False
    verbose: Annotated[
        int, flag("Print more; given twice, the loss of every epoch.", group=GENERAL, alias="-v", count=True)
    ] = 0


@Parameter(name="*")
@dataclass(frozen=True)
class Source:
    """The flags that describe GRAPH."""

    nodes: Annotated[
        Path | None,
        flag("A table of nodes: id, and columns that become features; or a folder of its parts.", group=GRAPH),
    ] = None
    id_column: Annotated[str | None, flag("Column of the node table with the ids (id).", group=GRAPH)] = None
    label_column: Annotated[
        str | None,
        flag("Column of the node table with the labels, which are not used as features (label).", group=GRAPH),
    ] = None
    source_column: Annotated[
        str | None, flag("Column of the edges with one end (source, src, from, user, …).", group=GRAPH)
    ] = None
    target_column: Annotated[
        str | None, flag("Column of the edges with the other end (target, dst, to, item, …).", group=GRAPH)
    ] = None
    weight_column: Annotated[str | None, flag("Column of the edges with the weights (weight).", group=GRAPH)] = None
    separator: Annotated[
        str | None, flag("Separator between the columns of the edges: , ; | tab or space (detected).", group=GRAPH)
    ] = None
    no_header: Annotated[bool, flag("The first line of the edges is an edge, not column names.", group=GRAPH)] = False
    bipartite: Annotated[
        bool, flag("The two columns hold different kinds of nodes, even where their ids coincide.", group=GRAPH)
    ] = False
    ignore: Annotated[
        str | None, flag("Columns of the node table that are not features, such as name,url.", group=GRAPH)
    ] = None
    text_column: Annotated[
        tuple[str, ...],
        flag("A column of the node table to treat as text, whatever it looks like; repeatable.", group=GRAPH),
    ] = ()
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).", group=GRAPH)] = None


if TYPE_CHECKING:
    Tables = Source
else:
    _hints = get_type_hints(Source, include_extras=True)
    _kept = [f for f in fields(Source) if f.name not in ("bipartite", "data_root")]
    _made = [(f.name, _hints[f.name], field(default=f.default)) for f in _kept]
    # The flags that describe tables of one graph, for mvgrl import.
    Tables = Parameter(name="*")(make_dataclass("Tables", _made, frozen=True, namespace={"__module__": __name__}))


def reading(source: Source) -> dict[str, Any]:
    """The flags about GRAPH that were given, as keyword arguments of ``read``.

    >>> reading(Source(source_column="person", no_header=True))
    {'source_column': 'person', 'header': False}
    """
    values = {f.name: getattr(source, f.name) for f in fields(source) if f.name not in ("data_root", "no_header")}
    values["text"] = values.pop("text_column")
    values["ignore"] = None if source.ignore is None else listed(source.ignore)
    found = {name: value for name, value in values.items() if value not in (None, False, ())}
    return {**found, "header": False} if source.no_header else found


Memory = Annotated[str | None, flag("Memory to use, such as 4GB (a quarter of the machine's).", group=GENERAL)]
LARGEST_SEED = 2**32 - 1  # the largest that NumPy and scikit-learn accept
Seed = Annotated[
    int | None,
    flag("Random seed (0).", group=GENERAL, converter=whole, validator=Number(gte=0, lte=LARGEST_SEED)),
]
Device = Annotated[str | None, flag("auto, cpu, cuda, cuda:1, …; auto uses a GPU if there is one.", group=GENERAL)]


Cluster = Annotated[
    str | None,
    flag("Run on a Ray cluster: local (started here), or the address of one (auto, HOST:PORT).", group=GENERAL),
]


@Parameter(name="*")
@dataclass(frozen=True)
class Elsewhere:
    """The flags of the verbs that embed on a cluster."""

    cluster: Cluster = None
    trainers: Annotated[
        int,
        flag(
            "Number of cluster processes that train together (1); it changes the result.",
            group=GENERAL,
            converter=whole,
            validator=Number(gte=1),
        ),
    ] = 1


@Parameter(name="*")
@dataclass(frozen=True)
class Recorded:
    """The flags of the verbs that train: where every epoch is recorded while training."""

    history: Annotated[
        Path | None, flag("Write the loss of every epoch to a .csv file while training.", group=GENERAL)
    ] = None
    tensorboard: Annotated[
        Path | None,
        flag("Also write it to this folder for TensorBoard; needs pip install 'mvgrl[tensorboard]'.", group=GENERAL),
    ] = None


# What flags accept in addition to the values of their settings.
_MORE_HELP = {"features": " Or columns of the node table, such as age,city; a name that is both is refused."}


def _setting_flags(name: str, *groups: tuple[type, Group], **others: Any) -> type:
    """A dataclass with a flag for every setting of the groups, and others; one that was not given is None."""
    made = [(key, kind, field(default=None)) for key, kind in others.items()]
    for settings, group in groups:
        for f in fields(settings):
            spec = spec_of(f)
            more = dict(converter=whole) if spec.kind is int else {}
            help = _with_default(f"{spec.help}{_MORE_HELP.get(f.name, '')}", f.name, f.default)
            parameter = flag(help, group=group, **more)
            made.append((f.name, Annotated[spec.kind | None, parameter], field(default=None)))
    return Parameter(name="*")(make_dataclass(name, made, frozen=True, namespace={"__module__": __name__}))


def _with_default(help: str, name: str, default: Any) -> str:
    """The help text of a flag with the default of its setting.

    >>> _with_default("Dimensions of a code.", "hidden", 512)
    'Dimensions of a code (default 512).'
    """
    text = default_text(name, default)
    return f"{help.removesuffix('.')} (default {text})." if text else help


if TYPE_CHECKING:

    @dataclass(frozen=True)
    class Chosen:
        """The flags of all settings and of the output, and the file that may hold them."""

        config: Path | None = None
        temperature: float | None = None
        epochs: int | None = None

    @dataclass(frozen=True)
    class Written:
        """The flags of the output."""

else:
    Written = _setting_flags("Written", (OutputFields, VECTORS))
    Chosen = _setting_flags(
        "Chosen",
        (TaskField, SETTINGS),
        (TrainingFields, SETTINGS),
        (OutputFields, VECTORS),
        config=Annotated[Path | None, flag("A TOML file of settings; flags override it.", group=SETTINGS)],
        temperature=Annotated[float | None, flag("Part of --bound since 0.2.", group=SETTINGS, show=False)],
    )


def given(flags: Any) -> dict[str, Any]:
    """The settings that were given as flags."""
    values = {f.name: getattr(flags, f.name) for f in fields(flags) if f.name != "config"}
    if values.get("views") is not None:
        values["views"] = listed(values["views"])
    return {name: value for name, value in values.items() if value is not None}

"""The flags that verbs share, as dataclasses whose fields are flags; one that was not given is None."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number

GENERAL = Group("General", sort_key=9)
GRAPH = Group("The graph", sort_key=1)
CHOICES = Group("Settings", help="What is not given is picked to suit the graph.", sort_key=2)

Output = Annotated[Path, Parameter(name=("--output", "-o"))]


def flag(help: str, **more: Any) -> Parameter:
    """A flag with its line of help; a switch has no --no- form."""
    return Parameter(help=help, negative="", show_default=False, **more)


def listed(text: str) -> list[str]:
    """What commas part.

    >>> listed("adjacency, ppr:alpha=0.1")
    ['adjacency', 'ppr:alpha=0.1']
    """
    return [part.strip() for part in text.split(",")]


def whole(kind: Any, tokens: Sequence[Token]) -> int:
    """A whole number as it is written; left to itself, the parser would make 2 of 1.5."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a whole number.") from None


def setting(help: str, **more: Any) -> Parameter:
    """The flag of one of the settings."""
    return flag(help, group=CHOICES, **more)


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """What every verb takes."""

    json: Annotated[bool, flag("Print one JSON object on stdout.", group=GENERAL)] = False
    quiet: Annotated[bool, flag("Print nothing but results and errors.", group=GENERAL, alias="-q")] = False
    verbose: Annotated[
        int, flag("Say more; twice, the loss of every epoch.", group=GENERAL, alias="-v", count=True)
    ] = 0


@Parameter(name="*")
@dataclass(frozen=True)
class Source:
    """What says more about GRAPH than its name."""

    nodes: Annotated[Path | None, flag("A table of nodes beside the edges: id, features.", group=GRAPH)] = None
    id_column: Annotated[str | None, flag("The nodes' column with their ids (id).", group=GRAPH)] = None
    label_column: Annotated[
        str | None, flag("The nodes' column with their labels, which is no feature (label).", group=GRAPH)
    ] = None
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).", group=GRAPH)] = None


LARGEST_SEED = 2**32 - 1  # that NumPy and scikit-learn take
Seed = Annotated[
    int | None,
    flag("Of all randomness (0).", group=GENERAL, converter=whole, validator=Number(gte=0, lte=LARGEST_SEED)),
]
Device = Annotated[str | None, flag("auto, cpu, cuda, cuda:1, … (auto: a GPU if there is one).", group=GENERAL)]


@Parameter(name="*")
@dataclass(frozen=True)
class Chosen:
    """Every field of :class:`mvgrl.Settings`, and the file that may hold them."""

    config: Annotated[Path | None, setting("A TOML file of settings; flags override it.")] = None
    task: Annotated[str | None, setting("node (a vector a node) or graph (a vector a graph).")] = None
    views: Annotated[
        str | None, setting("adjacency, ppr, heat, distance: adjacency,ppr (default) or adjacency,heat:t=5:top_k=32.")
    ] = None
    draw_two_views: Annotated[bool | None, setting("Draw two of three or more views for each sample.")] = None
    sampler: Annotated[str | None, setting("full, nodes, window or walk.")] = None
    sample_size: Annotated[int | None, setting("Nodes of a sample.", converter=whole)] = None
    batch_size: Annotated[int | None, setting("Graphs, or samples of one graph, in a step.", converter=whole)] = None
    negatives: Annotated[str | None, setting("features, adjacency or both; graphs for a graph task.")] = None
    encoder: Annotated[str | None, setting("dedicated or shared.")] = None
    frozen_encoder: Annotated[bool | None, setting("Train only what follows the encoders.")] = None
    layers: Annotated[int | None, setting("Layers of the encoder.", converter=whole)] = None
    hidden: Annotated[int | None, setting("Dimensions of a vector (512).", converter=whole)] = None
    readout: Annotated[str | None, setting("sum, mean, sigmoid-mean, diffpool-1 or diffpool-2.")] = None
    discriminator: Annotated[str | None, setting("dot or bilinear.")] = None
    head_shortcut: Annotated[bool | None, setting("Heads add a linear map of what they are given.")] = None
    mode: Annotated[str | None, setting("local-global, global, multi-scale, hybrid or ensemble.")] = None
    bound: Annotated[str | None, setting("jsd, nce, nt-xent or dv.")] = None
    temperature: Annotated[float | None, setting("Of nt-xent.")] = None
    codes: Annotated[str | None, setting("Vectors after the heads (projected), before (encoded), or layers.")] = None
    join: Annotated[str | None, setting("Vectors of the views: sum or concatenate.")] = None
    unit_length: Annotated[bool | None, setting("Scale the vectors to length 1: their direction alone counts.")] = None
    features: Annotated[str | None, setting("auto, given, labels, degree-one-hot, degree or labels+degree.")] = None
    normalise: Annotated[str | None, setting("Of given features: row, standard or none.")] = None
    degree_cap: Annotated[int | None, setting("Higher degrees share a column.", converter=whole)] = None
    norm: Annotated[str | None, setting("none, batch or layer.")] = None
    dropout: Annotated[float | None, setting("Share of codes dropped.")] = None
    noise: Annotated[float | None, setting("Deviation of noise on the codes.")] = None
    l2: Annotated[float | None, setting("Weight decay.")] = None
    epochs: Annotated[int | None, setting("At most.", converter=whole)] = None
    patience: Annotated[int | None, setting("Epochs without a lower loss before stopping.", converter=whole)] = None
    learning_rate: Annotated[float | None, setting("Of Adam.")] = None

    def given(self) -> dict[str, Any]:
        """The settings that were given as flags."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "config"}
        values["views"] = None if self.views is None else listed(self.views)
        return {name: value for name, value in values.items() if value is not None}

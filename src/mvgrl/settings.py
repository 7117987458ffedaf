"""Every setting, once: type, default, choices, range, help text, and whether it takes part in the hash.

Command-line flags, TOML files, checks, the parameters of the embedders and the table of settings in the documentation
follow from the definitions here. To add a setting, add a line to :class:`TrainingFields` (it decides what is learned)
or to :class:`OutputFields` (it decides what is written), and use it. This module imports nothing slow, so that
``mvgrl embed --help`` answers immediately.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, Self

from mvgrl.components import Component, is_registered, resolve
from mvgrl.definitions import Sealed, choice, integer, number, positive, switch
from mvgrl.errors import SettingsError, check_name, shown

TASKS = ("node", "graph")
CODES = ("projected", "encoded", "layers")
JOINS = ("sum", "concatenate")
BESIDE = ("none", "propagated", "propagated+position", "counts")
AUTO = "auto"  # chosen for the graph by mvgrl.automatic, inside fit

# The choices that depend on the task: a setting left at None takes its value from here. They are the paper's, except
# for the readout of node tasks, which is the released code's (the paper's is "mean"): the accuracy on
# validation nodes does not show which of the two is better.
BY_TASK: dict[str, dict[str, Any]] = {
    "node": dict(
        layers=1, readout="sigmoid-mean", discriminator="bilinear", negatives="features", batch_size=1, epochs=2000
    ),
    "graph": dict(layers=2, readout="sum", discriminator="dot", negatives="graphs", batch_size=64, epochs=20),
}
# The same for settings that depend on whether samples were chosen because not all nodes fit into memory. The loss of a
# sample is noisier than that of the full graph, so training is more patient for such a large graph.
BY_SAMPLER: dict[str, dict[str, Any]] = {
    "given": dict(sample_size=2000, patience=20),
    "large": dict(sample_size=20_000, patience=50),
}


# The values of options that an output leaves open. The paper's vector is the sum of the views' codes. The default was
# chosen on validation nodes and inner folds of all datasets at once: results/search/README.md has the candidates and
# the rule. It is as long as the paper's, 512.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "default": {
        "node": dict(dim=512, beside="propagated", codes="projected", join="concatenate"),
        "graph": dict(dim=512, beside="counts", codes="layers", join="concatenate"),
    },
    "paper": {task: dict(dim=0, beside="none", codes="projected", join="sum") for task in TASKS},
}
PROPAGATED = 256  # components of the features propagated over a view, in a vector


@dataclass(kw_only=True, repr=False, eq=False)
class TaskField:
    """The setting that says what is embedded: nodes or graphs."""

    task: str = choice("node", "node (one graph, a vector per node) or graph (many graphs, a vector per graph).")


@dataclass(kw_only=True, repr=False, eq=False)
class TrainingFields:
    """The settings that decide what is learned; the embedders have them as parameters."""

    views: Any = choice(
        ("adjacency", "ppr"), "Two or more of adjacency, ppr, heat, distance, such as adjacency,heat:t=5:top_k=32."
    )
    draw_two_views: bool = switch("Contrast two of three or more views, drawn at random for each sample.")
    similar: int = integer(None, "Maximum number of similar nodes joined to each node; 0: none.", least=0, later=True)
    # sampling and negatives
    sampler: Any = choice(AUTO, "Nodes used in a training step: auto, full, nodes, window or walk.")
    sample_size: int = integer(None, "Nodes per sample.", least=2)
    batch_size: int = integer(None, "Graphs, or samples of one graph, per training step.")
    negatives: Any = choice(None, "Negatives: features, adjacency or both for a node task; graphs for a graph task.")
    # the model
    encoder: Any = choice("dedicated", "One encoder per view (dedicated) or one for all views (shared).")
    frozen_encoder: bool = switch("Keep the initial weights of the encoders and train only the rest.", later=True)
    layers: int = integer(None, "Number of encoder layers.")
    hidden: int = integer(512, "Dimensions of a code.")
    readout: Any = choice(None, "Pooling of node codes per graph: sum, mean, sigmoid-mean, diffpool-1 or diffpool-2.")
    discriminator: Any = choice(None, "Score of two codes: dot (after projection heads) or bilinear (without them).")
    head_shortcut: bool = switch("Add a linear shortcut to the projection heads.", later=True)
    mode: Any = choice("local-global", "Contrast: local-global, global, multi-scale, hybrid or ensemble.")
    bound: Any = choice("jsd", "Bound on mutual information: jsd, nce, nt-xent (nt-xent:temperature=0.5) or dv.")
    # initial features
    features: str = choice(
        AUTO,
        "Initial features: auto, given, labels, degree-one-hot, degree, labels+degree, position or position+degree.",
    )
    normalise: str = choice(AUTO, "Scaling of given features: auto, row, standard or none.")
    degree_cap: int = integer(100, "Largest degree with a column of its own; higher degrees share one.")
    # regularisers, which the paper found harmful
    norm: Any = choice("none", "Normalisation layer: none, batch or layer.")
    dropout: float = number(0.0, "Fraction of codes dropped.", below=1)
    noise: float = number(0.0, "Standard deviation of Gaussian noise on the codes.")
    l2: float = number(0.0, "Weight decay.")
    # training
    epochs: int = integer(None, "Maximum number of epochs.", least=0)
    patience: int = integer(None, "Epochs without a lower loss before stopping.")
    learning_rate: float = positive(0.001, "Learning rate of Adam.")


@dataclass(kw_only=True, repr=False, eq=False)
class OutputFields:
    """The options that decide how vectors are made from a trained model; changing them needs no retraining."""

    preset: str = choice(
        "default", "How vectors are made: default, or paper (the sum of the views' codes and nothing else)."
    )
    dim: int = integer(None, "Length of the vectors; 0 keeps all components.", least=0)
    beside: str = choice(
        None, "Parts in addition to the codes: propagated or propagated+position (nodes), counts (graphs) or none."
    )
    codes: str = choice(
        None, "Codes after the heads (projected), before them (encoded), or of all layers (layers).", later=True
    )
    join: str = choice(None, "How the views are joined: sum or concatenate.", later=True)
    unit_length: bool = switch("Scale every vector to length 1.", later=True)


@dataclass(kw_only=True, unsafe_hash=True)
class Output(Sealed, OutputFields):
    """How the vectors of a trained model are made: the preset, and what differs from it.

    >>> Output(dim=64).for_task("node")  # doctest: +NORMALIZE_WHITESPACE
    Output(preset='default', dim=64, beside='propagated', codes='projected', join='concatenate',
           unit_length=False)
    >>> Output(preset="paper").for_task("graph").join
    'sum'
    """

    def __post_init__(self) -> None:
        self.check_fields({"preset": tuple(PRESETS), "beside": BESIDE, "codes": CODES, "join": JOINS})
        self.seal()

    def for_task(self, task: str) -> Output:
        """Return the output with all open options filled in by the preset for a task."""
        if (task, self.beside) in (("node", "counts"), ("graph", "propagated"), ("graph", "propagated+position")):
            raise SettingsError(
                f"beside is {self.beside!r}, which does not fit task {task!r}: node vectors have 'propagated' features "
                "in addition to the codes, graph vectors 'counts' of substructures; omit it, or use 'none'"
            )
        chosen = {name: value for name, value in PRESETS[self.preset][task].items() if getattr(self, name) is None}
        return replace(self, **chosen)

    @property
    def propagates(self) -> bool:
        """Whether vectors have features in addition to the codes."""
        return self.beside in ("propagated", "propagated+position")

    @property
    def has_positions(self) -> bool:
        """Whether vectors have positions in addition to the codes and the features."""
        return self.beside == "propagated+position"

    @property
    def composed(self) -> bool:
        """Whether parts are scaled and rotated, which is learned from the training graphs."""
        return self.beside != "none" or self.dim != 0

    @property
    def content(self) -> dict[str, Any]:
        """The plain values that are hashed: what differs from the paper's output or, for another preset, what is given.

        >>> Output(preset="paper", dim=0).content, Output().content, Output(dim=0).content
        ({}, {'preset': 'default'}, {'preset': 'default', 'dim': 0})
        """
        plain = (PRESETS["paper"]["node"] if self.preset == "paper" else {}) | {"preset": "paper", "unit_length": False}
        return {name: value for name, value in self.to_dict().items() if value not in (None, plain.get(name))}


@dataclass(kw_only=True, unsafe_hash=True)
class Settings(Sealed, TrainingFields, TaskField):
    """Everything that decides what is learned, except the seed and the machine.

    Names of components become objects, values that depend on the task are filled in, and "auto" is resolved in ``fit``.

    >>> settings = Settings(task="node", views=("adjacency", "heat"), bound="nt-xent:temperature=0.2")
    >>> str(settings.readout), settings.views[1].t, settings.bound.temperature
    ('sigmoid-mean', 5.0, 0.2)
    >>> Settings(task="node", mode="global")
    Traceback (most recent call last):
    ...
    mvgrl.errors.SettingsError: mode 'global' contrasts graphs with other graphs, and a node task has one graph; ...
    """

    def __post_init__(self) -> None:
        check_name("task", self.task, TASKS)
        defaults = BY_TASK[self.task] | ({} if self.sampler == AUTO else BY_SAMPLER["given"])
        for name, value in defaults.items():
            if getattr(self, name) is None:
                setattr(self, name, value)
        views = (self.views,) if isinstance(self.views, (str, Component, Mapping)) else self.views
        if not isinstance(views, Iterable):
            raise SettingsError(f"views is {shown(views)}; it must be a list of names, such as ['adjacency', 'ppr']")
        self.views = tuple(kinds()["views"].resolve("view", view) for view in views)
        for name, kind in kinds().items():
            if name != "views" and getattr(self, name) != AUTO:
                setattr(self, name, kind.resolve(name, getattr(self, name)))
        self.check_fields(known_names())
        _check_combination(self)
        self.seal()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from plain values, as read from a file; an unknown key is an error.

        ``temperature``, a setting until 0.1, is read as the parameter of the bound.
        """
        values = dict(values)
        temperature = values.pop("temperature", None)
        if temperature is not None and values.get("bound") == "nt-xent":
            values["bound"] = {"name": "nt-xent", "temperature": temperature}
        return super().from_dict(values)

    @property
    def content(self) -> dict[str, Any]:
        """The plain values that are hashed."""
        # The temperature was a setting when the first runs were recorded, and is hashed as one.
        values, temperature = super().content, getattr(self.bound, "temperature", 0.5)
        if not self.similar:  # as if it were not a setting
            values.pop("similar", None)
        return values | {
            "bound": values["bound"].replace(f":temperature={temperature}", ""),
            "temperature": temperature,
        }

    @property
    def id(self) -> str:
        """A short hash of all settings.

        >>> Settings().id == Settings(task="node", layers=1).id != Settings(layers=2).id
        True
        """
        text = json.dumps(self.content, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

    @property
    def stackable(self) -> bool:
        """Whether many seeds can be trained as one stack: nothing in the model is random, stateful or frozen."""
        components = (getattr(self, name) for name in kinds() if name != "views")
        random = self.dropout or self.noise or self.draw_two_views
        return not (random or self.frozen_encoder) and all(one == AUTO or one.stackable for one in components)

    def check_saveable(self) -> None:
        """Reject components that cannot be saved: those that are not registered."""
        for name, (_, registry, _) in kinds().items():
            given = getattr(self, name)
            for one in given if name == "views" else (given,):
                if one != AUTO and not is_registered(one, registry):
                    raise SettingsError(
                        f"{name} has a custom component, {one}, which cannot be saved; use a registered one: "
                        f"{', '.join(registry)}"
                    )


def literal(values: Mapping[str, Any]) -> Settings:
    """Settings without automatic choices: those that are not given are as in the paper or its code.

    >>> literal({"hidden": 64}).normalise
    'row'
    """
    return Settings.from_dict({"normalise": "row", "sampler": "full", "similar": 0, **values})


def default_text(name: str, default: Any) -> str:
    """The default of a setting as text for help and documentation; empty for a switch.

    >>> default_text("hidden", 512), default_text("layers", None), default_text("views", ("adjacency", "ppr"))
    ('512', 'node 1, graph 2', 'adjacency,ppr')
    >>> default_text("patience", None)
    '20, or 50 if not all nodes fit into memory'
    """
    if default is False:
        return ""
    if default is not None:
        return ",".join(default) if isinstance(default, tuple) else str(default)
    if name in BY_SAMPLER["given"]:
        return f"{BY_SAMPLER['given'][name]}, or {BY_SAMPLER['large'][name]} if not all nodes fit into memory"
    if name == "beside":
        return "node propagated, or propagated+position for few or unrelated features or large graphs; graph counts"
    if name == "similar":
        return "10 for nodes with many features that are related to the edges, else 0"
    by_task = {task: (BY_TASK[task] | PRESETS["default"][task])[name] for task in TASKS}
    if len(set(by_task.values())) == 1:
        return str(by_task["node"])
    return ", ".join(f"{task} {value}" for task, value in by_task.items())


class Kind(NamedTuple):
    """A kind of component: its base class, its registry, and the class that wraps a user-defined function."""

    base: type[Component]
    registry: Mapping[str, type[Component]]
    custom: type[Component] | None = None

    def resolve(self, name: str, value: Any) -> Component:
        """The component that a value means."""
        return resolve(name, self.base, self.registry, value, self.custom)


@cache
def kinds() -> dict[str, Kind]:
    """The kind of component of every setting that takes one."""
    from mvgrl.contrast import MODES, CustomMode, Mode
    from mvgrl.encoders import ENCODERS, NORMS, Encoder, Norm
    from mvgrl.heads import DISCRIMINATORS, Discriminator
    from mvgrl.mutual_information import BOUNDS, Bound, CustomBound
    from mvgrl.readouts import READOUTS, Readout
    from mvgrl.sampling import NEGATIVES, SAMPLERS, CustomSampler, Negatives, Sampler
    from mvgrl.views import VIEWS, View

    return {
        "views": Kind(View, VIEWS),
        "sampler": Kind(Sampler, SAMPLERS, CustomSampler),
        "negatives": Kind(Negatives, NEGATIVES),
        "encoder": Kind(Encoder, ENCODERS),
        "readout": Kind(Readout, READOUTS),
        "discriminator": Kind(Discriminator, DISCRIMINATORS),
        "mode": Kind(Mode, MODES, CustomMode),
        "bound": Kind(Bound, BOUNDS, CustomBound),
        "norm": Kind(Norm, NORMS),
    }


def known_names() -> dict[str, Collection[str]]:
    """The names that every setting with a choice accepts."""
    from mvgrl.graphs.features import KINDS, NORMALISATIONS

    names: dict[str, Collection[str]] = {name: tuple(kind.registry) for name, kind in kinds().items()}
    return names | {
        "task": TASKS,
        "sampler": (AUTO, *names["sampler"]),
        "features": KINDS,
        "normalise": (AUTO, *NORMALISATIONS),
        "preset": tuple(PRESETS),
        "beside": BESIDE,
        "codes": CODES,
        "join": JOINS,
    }


def _check_combination(settings: Settings) -> None:
    """Reject settings that cannot work together, and say what to use instead."""
    mode, views = settings.mode, settings.views
    if len(views) < mode.fewest_views:
        raise SettingsError(
            f"{len(views)} view given; mode '{mode}' contrasts views with each other: give two or more, "
            "or use mode 'ensemble'"
        )
    if len(set(views)) < len(views):
        raise SettingsError("the same view is given twice; give different views")
    if settings.task == "node" and mode.needs_many_graphs:
        raise SettingsError(
            f"mode '{mode}' contrasts graphs with other graphs, and a node task has one graph; "
            "use 'local-global', 'multi-scale' or 'ensemble'"
        )
    if mode.needs_clusters and not settings.readout.makes_clusters:
        raise SettingsError(
            f"mode '{mode}' contrasts clusters, and readout '{settings.readout}' makes none; use 'diffpool-2'"
        )
    if (settings.task == "graph") != settings.negatives.other_graphs:
        raise SettingsError(
            f"negatives '{settings.negatives}' do not fit task {settings.task!r}: for a graph task they are the other "
            "'graphs' of the batch; for a node task, permuted 'features', a corrupted 'adjacency' or 'both'"
        )
    if settings.task == "graph" and settings.batch_size < 2:
        raise SettingsError("batch_size is 1, but a graph's negatives are the rest of its batch; use 2 or more")
    if (
        settings.task == "node"
        and settings.sampler != AUTO
        and not settings.sampler.samples
        and settings.batch_size > 1
    ):
        raise SettingsError(
            f"batch_size is {settings.batch_size}, but sampler 'full' gives one sample, the graph itself; use "
            "batch_size 1, or sampler 'nodes', 'window' or 'walk'"
        )
    if settings.task == "graph" and settings.similar:
        raise SettingsError(f"similar is {settings.similar}, but it is only for the nodes of one graph; omit it")
    if settings.task == "graph" and settings.features.startswith("position"):
        raise SettingsError(
            f"features {settings.features!r} are relative to one graph, and a graph task has many; use 'degree-one-hot'"
        )
    if settings.head_shortcut and not settings.discriminator.heads:
        raise SettingsError(
            f"head_shortcut is for projection heads, and discriminator '{settings.discriminator}' replaces them; "
            "use 'dot'"
        )
    shared = settings.encoder.count(len(views)) == 1
    if settings.draw_two_views and (not shared or len(views) < 3 or not mode.across_views):
        raise SettingsError(
            "draw_two_views draws two of three or more views for each sample, for one encoder; "
            "use encoder 'shared', at least three views, and a mode other than 'ensemble'"
        )

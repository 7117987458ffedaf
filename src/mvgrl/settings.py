"""Settings: frozen, hashable, checked when they are made; a run's id is their hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from mvgrl.contrast import MODES, Mode
from mvgrl.encoders import NORMS
from mvgrl.errors import SettingsError, check_name
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.heads import DISCRIMINATORS
from mvgrl.mutual_information import BOUNDS, Bound
from mvgrl.readouts import READOUTS
from mvgrl.sampling import SAMPLERS, Sampler
from mvgrl.views import View, resolve_view

TASKS = ("node", "graph")
NEGATIVES = ("features", "adjacency", "both", "graphs")
ENCODERS = ("dedicated", "shared")
CODES = ("projected", "encoded", "layers")
JOINS = ("sum", "concatenate")

# What suits each task; a setting left at None takes its value from here. The paper's choices, but for the readout of
# node tasks, which is the released code's (the paper's is "mean"). Validation nodes do not settle which is better.
_BY_TASK: dict[str, dict[str, Any]] = {
    "node": dict(
        layers=1, readout="sigmoid-mean", discriminator="bilinear", negatives="features", batch_size=1, epochs=2000
    ),
    "graph": dict(layers=2, readout="sum", discriminator="dot", negatives="graphs", batch_size=64, epochs=20),
}

# Settings that came after runs had been kept under their hashes: at these values they are no part of a hash.
_LATER = {"frozen_encoder": False, "head_shortcut": False, "codes": "projected", "join": "sum", "unit_length": False}


@dataclass(frozen=True)
class Settings:
    """Everything that decides a run, its seed and machine apart.

    >>> settings = Settings(task="node", views=("adjacency", "heat"))
    >>> settings.readout, settings.views[1].t
    ('sigmoid-mean', 5.0)
    >>> Settings(task="node", mode="global")
    Traceback (most recent call last):
    ...
    mvgrl.errors.SettingsError: mode 'global' contrasts graphs with other graphs, and a node task has one graph; ...
    """

    task: str = "node"  # "node": one graph, a vector a node; "graph": many graphs, a vector a graph
    views: tuple[Any, ...] = ("adjacency", "ppr")  # names, or View objects; three or more are anchored on the first
    draw_two_views: bool = False  # two of the views at random for each sample, instead of all; shared encoder
    # sampling and negatives
    sampler: str | Sampler = "full"  # full, nodes, window, walk
    sample_size: int = 2000  # nodes of a sample
    batch_size: int = None  # type: ignore[assignment]  # graphs, or samples of one graph, in a step
    negatives: str = None  # type: ignore[assignment]  # features, adjacency, both; graphs
    # the model
    encoder: str = "dedicated"  # dedicated, shared
    frozen_encoder: bool = False  # the encoders keep their first weights, as in the released graph code
    layers: int = None  # type: ignore[assignment]
    hidden: int = 512
    readout: str = None  # type: ignore[assignment]  # sum, mean, sigmoid-mean, diffpool-1, diffpool-2
    discriminator: str = None  # type: ignore[assignment]  # dot (after projection heads), bilinear (in their place)
    head_shortcut: bool = False  # projection heads add a linear map of what they are given, as in the released code
    mode: str | Mode = "local-global"  # local-global, global, multi-scale, hybrid, ensemble
    bound: str | Bound = "jsd"  # jsd, nce, nt-xent, dv
    temperature: float = 0.5  # of nt-xent
    # the vectors
    codes: str = "projected"  # after the heads: projected; before them: encoded; the codes of every layer: layers
    join: str = "sum"  # of the views: sum; or concatenate, side by side
    unit_length: bool = False  # scaled to length 1: their direction alone counts
    # initial features
    features: str = "auto"
    normalise: str = "row"
    degree_cap: int = 100
    # regularisers, which the paper found to do harm
    norm: str = "none"  # none, batch, layer
    dropout: float = 0.0
    noise: float = 0.0  # standard deviation of Gaussian noise on the codes
    l2: float = 0.0  # weight decay
    # training
    epochs: int = None  # type: ignore[assignment]  # at most
    patience: int = 20  # epochs without a lower loss before stopping
    learning_rate: float = 0.001

    def __post_init__(self) -> None:
        check_name("task", self.task, TASKS)
        for name, value in _BY_TASK[self.task].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        views = (self.views,) if isinstance(self.views, (str, View, Mapping)) else self.views
        object.__setattr__(self, "views", tuple(resolve_view(view) for view in views))
        self._check_names()
        FeatureEncoder(self.features, self.normalise, self.degree_cap)  # refuses unknown names itself
        self._check_numbers()
        self._check_sense()

    def _check_names(self) -> None:
        known: dict[str, Collection[str]] = {
            "encoder": ENCODERS,
            "readout": READOUTS,
            "discriminator": DISCRIMINATORS,
            "negatives": NEGATIVES,
            "codes": CODES,
            "join": JOINS,
            "norm": NORMS,
            "sampler": SAMPLERS,
            "mode": MODES,
            "bound": BOUNDS,
        }
        for name, choices in known.items():
            value = getattr(self, name)
            own = name in ("sampler", "mode", "bound") and (callable(value) or isinstance(value, Bound))
            if not own:
                check_name(name, value, choices)

    def _check_numbers(self) -> None:
        for name, least in dict(
            layers=1, hidden=1, sample_size=2, batch_size=1, degree_cap=1, epochs=0, patience=1
        ).items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise SettingsError(f"{name} is {value!r}; it must be a whole number, at least {least}")
        for names, allowed, what in (
            (("learning_rate", "temperature"), lambda value: value > 0, "a number above 0"),
            (("noise", "l2"), lambda value: value >= 0, "a number, not a negative one"),
            (("dropout",), lambda value: 0 <= value < 1, "a share of the codes, from 0 to below 1"),
        ):
            for name in names:
                value = getattr(self, name)
                if not isinstance(value, (int, float)) or isinstance(value, bool) or not allowed(value):
                    raise SettingsError(f"{name} is {value!r}; it must be {what}")
        for name in ("draw_two_views", "frozen_encoder", "head_shortcut", "unit_length"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name} is {getattr(self, name)!r}; it must be true or false")

    def _check_sense(self) -> None:
        """Refuse what cannot work together, and say what to use instead."""
        ensemble = self.mode == "ensemble"
        if len(self.views) < (1 if ensemble else 2):
            raise SettingsError(
                f"{len(self.views)} view given; mode {self.mode!r} contrasts views with each other: give two or more, "
                "or use mode 'ensemble'"
            )
        if len(set(self.views)) < len(self.views):
            raise SettingsError("the same view is given twice, and a view tells nothing of itself; give different ones")
        if self.task == "node" and self.mode in ("global", "hybrid"):
            raise SettingsError(
                f"mode {self.mode!r} contrasts graphs with other graphs, and a node task has one graph; "
                "use 'local-global', 'multi-scale' or 'ensemble'"
            )
        if self.mode == "multi-scale" and self.readout != "diffpool-2":
            raise SettingsError(
                f"mode 'multi-scale' contrasts clusters, and readout {self.readout!r} makes none; use 'diffpool-2'"
            )
        if (self.task == "graph") != (self.negatives == "graphs"):
            raise SettingsError(
                f"negatives {self.negatives!r} do not fit task {self.task!r}: with many graphs they are the other "
                "'graphs' of the batch; with one, its permuted 'features', corrupted 'adjacency' or 'both'"
            )
        if self.task == "graph" and self.batch_size < 2:
            raise SettingsError("batch_size is 1, and a graph's negatives are the others of its batch; use 2 or more")
        if self.task == "node" and self.sampler == "full" and self.batch_size > 1:
            raise SettingsError(
                f"batch_size is {self.batch_size}, but sampler 'full' gives one sample, the graph itself; use "
                "batch_size 1, or sampler 'nodes', 'window' or 'walk'"
            )
        if self.head_shortcut and self.discriminator == "bilinear":
            raise SettingsError(
                "head_shortcut is for projection heads, and discriminator 'bilinear' stands in their place; use 'dot'"
            )
        if self.draw_two_views and (self.encoder != "shared" or len(self.views) < 3 or ensemble):
            raise SettingsError(
                "draw_two_views draws two of three or more views for each sample, for one encoder to tell together; "
                "use encoder 'shared', at least three views, and a mode other than 'ensemble'"
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """From plain values, as a file holds them; an unknown key is refused."""
        known = [f.name for f in fields(cls)]
        for key in values:
            check_name("setting", key, known)
        return cls(**dict(values))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file; an object that has no name is written as where it was defined."""
        values: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "views":
                value = [view.to_dict() for view in value]
            elif not isinstance(value, (str, int, float)):
                value = _where(value)
            values[f.name] = value
        return values

    @property
    def content(self) -> dict[str, Any]:
        """Plain values for a hash: those of :meth:`to_dict`, less later settings that are not in use."""
        values = self.to_dict()
        return {name: values[name] for name in values if name not in _LATER or values[name] != _LATER[name]}

    @property
    def id(self) -> str:
        """A short hash of all settings.

        >>> Settings().id == Settings(task="node", layers=1).id != Settings(layers=2).id
        True
        """
        text = json.dumps(self.content, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def _where(thing: Any) -> str:
    thing = thing.loss if isinstance(thing, Bound) else thing
    return f"{getattr(thing, '__module__', '?')}:{getattr(thing, '__qualname__', repr(thing))}"

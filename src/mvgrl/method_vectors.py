"""Vectors of any method through the same interface as MVGRL's: made for a graph, saved as a folder, and reloaded.

Most methods cannot embed other graphs: their vectors belong to the nodes that they were made for. A saved one has the
vectors and a fingerprint of the graph, and refuses every other graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import mvgrl
from mvgrl.automatic import Resolved
from mvgrl.datasets import Dataset
from mvgrl.errors import InputError, SettingsError, check_name, shown
from mvgrl.graphs.named import NamedGraph
from mvgrl.methods import METHODS, Method
from mvgrl.pretrained import METHOD_FORMAT as FORMAT
from mvgrl.pretrained import card_cell, check_model_folder, config_of, version_of
from mvgrl.settings import Output, OutputFields, Settings, TrainingFields
from mvgrl.tables.atomic import atomic_folder
from mvgrl.tensor_file import Layout, check_layouts, check_values, open_tensors, write_tensors
from mvgrl.views import ViewCache

DEFAULT = "default"  # MVGRL with the vectors of the preset; "mvgrl" has those of the preset "paper", as in compare
_PAPER = Output(preset="paper")
_FOLLOWED = ("features", "normalise", "degree_cap", "epochs")  # the settings that systems of their own have too


def method_named(method: str | Method, task: str | None = None) -> Method | None:
    """Return the method that makes vectors; None for MVGRL, which has its own training, settings and models.

    Without a task, a name is accepted if it is known for any task.

    >>> method_named("netmf", "node").label
    'NetMF'
    >>> method_named("netfm", "node")
    Traceback (most recent call last):
    ...
    mvgrl.errors.SettingsError: unknown method 'netfm'; did you mean 'netmf'? Choose one of ...
    """
    found = METHODS.get("mvgrl" if method == DEFAULT else method) if isinstance(method, str) else method
    tasks = ("node", "graph") if task is None else (task,)
    known = [name for name, one in METHODS.items() if {*tasks} & {*one.tasks} and not one.supervised]
    if found is None:
        check_name("method", method, (DEFAULT, *sorted(known)))
    if not isinstance(found, Method):
        raise SettingsError(f"method is {shown(method)}; it must be the name of a method, or a method")
    if found.supervised:
        raise SettingsError(
            f"the method {found.name!r} learns from labels and predicts classes, so it has no vectors to write; choose "
            "another one, or compare it with others by mvgrl compare"
        )
    if not {*tasks} & {*found.tasks}:
        rows = "graphs" if task == "graph" else "nodes"
        raise SettingsError(
            f"the method {found.name!r} makes no vectors of {rows}; choose one of {', '.join(sorted(known))}"
        )
    return None if type(found) is type(METHODS["mvgrl"]) else found


def with_settings(method: Method, given: Mapping[str, Any]) -> Method:
    """Return the method with the epochs that were given; settings that it does not have are refused."""
    outputs = {f.name for f in fields(OutputFields)}
    own = {f.name for f in fields(TrainingFields)} - {*_FOLLOWED} if method.source else set()
    if method.source and not hasattr(method, "epochs"):
        own.add("epochs")
    for name, value in given.items():
        if name in outputs:
            raise SettingsError(
                f"{name} is {shown(value)}, but the vectors of {method.name!r} are left as they are; omit it"
            )
        if name in own:
            raise SettingsError(
                f"{name} is {shown(value)}, but {method.name!r} is a method with its own parameters; omit it"
            )
    if "epochs" in given and method.source:
        return replace(method, **{"epochs": given["epochs"]})
    return method


@dataclass
class PlainContext:
    """What a method needs to run once: a device, a cache of views, and nothing kept for later."""

    device: torch.device
    cache: ViewCache = field(default_factory=ViewCache)

    def shared(self, slot: str, key: object, make: Callable[[], Any]) -> Any:
        """Return ``make()``."""
        return make()


@dataclass(frozen=True, eq=False)
class MethodVectors:
    """The vectors of a method, and the graph that they belong to."""

    method: Method
    settings: Settings
    found: np.ndarray
    graph: str  # the fingerprint of the graph and the ids
    epochs: int = 0
    choices: dict[str, str] = field(default_factory=dict)
    columns: str | None = None  # of the node table, if they were chosen: needed to read the same graph again

    @classmethod
    def fit(
        cls,
        named: NamedGraph,
        method: Method,
        resolved: Resolved,
        *,
        seed: int,
        device: torch.device | str,
        columns: str | None = None,
    ) -> MethodVectors:
        """Make the vectors of a graph; labels are not used."""
        task: Any = resolved.settings.task
        rows = named.graph.nodes if task == "node" else named.graph.count
        dataset = Dataset("graph", named.graph, np.full(rows, -1), task, None, (), "")
        context = PlainContext(torch.device(device))
        outcome = method.outcomes(dataset, resolved.settings, _PAPER, [seed], context)[0]
        vectors = np.ascontiguousarray(outcome.points())
        if not np.isfinite(vectors).all():
            raise InputError(f"the vectors of {method.name!r} are not finite on this graph; choose another method")
        choices = {name: text for name, text in resolved.choices.items() if name in ("task", "features", "normalise")}
        choices["method"] = describe(method)
        choices["vector"] = f"vectors of {vectors.shape[1]}, as the method makes them"
        return cls(method, resolved.settings, vectors, fingerprint(named, task), outcome.epochs, choices, columns)

    def vectors(self, named: NamedGraph | None = None) -> np.ndarray:
        """Return the vectors; any graph other than the one they were made for is an error."""
        if named is not None and fingerprint(named, self.settings.task) != self.graph:
            raise InputError(
                f"this is not the graph that the vectors of {self.method.name!r} were made for, and this method cannot "
                f"embed other graphs; make new vectors with mvgrl embed --method {self.method.name}, or train without "
                "a method: MVGRL embeds new nodes and graphs"
            )
        return self.found

    def save(self, folder: str | Path, *, about: Mapping[str, Any] | None = None) -> None:
        """Write the vectors and a card; a folder that contains a model is replaced."""
        self.settings.check_saveable()
        config = {
            **{"format": FORMAT, "version": mvgrl.__version__, "method": self.method.name},
            **{"parameters": self.method.parameters, "settings": self.settings.to_dict(), "graph": self.graph},
            **{"rows": self.found.shape[0], "dim": self.found.shape[1], "epochs": self.epochs},
            **{"choices": self.choices, "columns": self.columns, "about": dict(about or {})},
        }
        with atomic_folder(check_model_folder(folder)) as temporary:
            write_tensors(temporary / "model.safetensors", {"vectors": torch.from_numpy(self.found)})
            (temporary / "README.md").write_text(_card(config))
            (temporary / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def is_method_folder(folder: str | Path) -> bool:
    """Whether a folder has the vectors of a method rather than a model of MVGRL."""
    path = Path(folder)
    return (path / "config.json").exists() and config_of(path, (FORMAT,), check=False).get("format") == FORMAT


def load_vectors(folder: str | Path) -> tuple[MethodVectors, dict[str, Any]]:
    """Read what :meth:`MethodVectors.save` wrote, and what is known about it; a damaged folder is rejected."""
    folder = Path(folder)
    config = config_of(folder, (FORMAT,))
    try:
        name, parameters, about, choices = (config[key] for key in ("method", "parameters", "about", "choices"))
        text = isinstance(config["graph"], str) and isinstance(config["columns"], (str, type(None)))
        if not (isinstance(about, dict) and isinstance(choices, dict) and text):
            raise ValueError("about, choices, graph or columns are of the wrong type")
        shape = config["rows"], config["dim"]
        if not all(type(one) is int and 1 <= one < 2**31 for one in (*shape, config["epochs"] + 1)):
            raise ValueError("rows, dim or epochs is not a number that it can be")
        check_name("method", name, METHODS)
        method = replace(METHODS[name], **parameters)
        settings = Settings.from_dict(config["settings"])
        with open_tensors(folder / "model.safetensors") as file:
            kinds = [Layout(shape, torch.float32), Layout(shape, torch.float64)]
            own = file.layouts.get("vectors")
            check_layouts(file.layouts, {"vectors": own if own in kinds else kinds[0]})
            tensors = file.read()
        check_values(tensors)
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(
            f"{folder} does not contain complete vectors ({reason}), as saved by mvgrl {version_of(config)}; save them "
            "again"
        ) from None
    known = (config["graph"], config["epochs"], choices, config["columns"])
    return MethodVectors(method, settings, tensors["vectors"].numpy(), *known), about


def fingerprint(named: NamedGraph, task: str) -> str:
    """Return a hash of a graph and the ids of its nodes or graphs, in their order."""
    ids = named.keys if task == "node" or named.graph_ids is None else named.graph_ids
    digest = hashlib.blake2b(digest_size=16)
    for part in (named.graph.content_fingerprint, "\x1f".join(map(str, ids.tolist()))):
        digest.update(part.encode() + b"\x1e")
    return digest.hexdigest()


def describe(method: Method) -> str:
    """Return a method and its parameters in a few words.

    >>> describe(METHODS["netmf"])
    'method netmf (NetMF)'
    """
    values = "".join(f", {name}={value}" for name, value in method.parameters.items())
    return f"method {method.name} ({method.label}{values})"


def _card(config: dict[str, Any]) -> str:
    method = METHODS[config["method"]]
    rows = {
        "method": f"{method.label} ({method.name})",
        "source": method.source,
        **config["parameters"],
        "length of a vector": config["dim"],
        "vectors": f"{config['rows']:,}",
        "epochs": config["epochs"],
        **config["about"],
    }
    lines = [f"| {card_cell(name)} | {card_cell(value)} |" for name, value in rows.items() if value != ""]
    return "\n".join(
        [
            f"# Vectors of {'nodes' if config['settings']['task'] == 'node' else 'graphs'}",
            "",
            f"Made by {method.label}, with mvgrl {config['version']}. They belong to one graph; the method cannot "
            "embed others.",
            "",
            *("| | |", "|---|---|", *lines, ""),
            "Everything is in `config.json`. To use them:",
            "",
            *("```python", "import mvgrl", "", "embeddings = mvgrl.load(FOLDER).transform(graph)", "```", ""),
        ]
    )

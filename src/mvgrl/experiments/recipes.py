"""Recipes: a TOML file per dataset with our settings, the paper's, and those of the released code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import mvgrl
from mvgrl.definitions import Spec
from mvgrl.errors import InputError, SettingsError, check_name, shown
from mvgrl.parsing import parse_toml
from mvgrl.settings import Output, Settings, literal

NAMED = ("paper", "released", "best")  # as in the paper's text; as in the authors' code; our choice
_TABLES = {"node": ("node-classification", "node-clustering"), "graph": ("graph-classification",)}
_PAPER = Output(preset="paper")
_PROBE = {"node": ("weight_decay",), "graph": ()}


@dataclass(frozen=True)
class Recipe:
    """Settings for training, for the output vectors, and for the linear probe of a node task."""

    dataset: str
    setting: str  # one of NAMED, or "default"
    settings: Settings
    output: Output = _PAPER
    weight_decay: float = 0.0  # of the linear probe
    why: str = ""
    tables: tuple[str, ...] = ()  # the tables that share its runs
    structure_only: bool = False  # features and node labels are removed first
    # The name and hyper-parameters of a method that does not follow the settings; empty for others.
    method: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @cached_property
    def id(self) -> str:
        """A short hash of everything that determines a number; a report asks for it tens of thousands of times.

        >>> len(Recipe("cora", "best", Settings()).id)
        12
        """
        settings = {**self.settings.content, **self.output.content}
        content: dict[str, Any] = {"method": dict(self.method)} if self.method else {"settings": settings}
        content["weight_decay"] = self.weight_decay
        if self.structure_only:
            content["structure_only"] = True
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=6).hexdigest()


def load_recipe(
    dataset: str, setting: str = "best", *, table: str = "node-classification", folder: Path | None = None
) -> Recipe:
    """Return the recipe of a dataset for a table, under one of the three named settings.

    A setting applies to all tables of its task, unless a sub-table overrides it for one of them: ``[best]`` and, for
    clustering, ``[best.clustering]``.

    >>> load_recipe("cora").settings.task
    'node'
    """
    check_name("setting", setting, NAMED, SettingsError)
    folder = _folder() if folder is None else folder
    task = table.partition("-")[0]
    path = folder / task / f"{dataset}.toml"
    try:
        content = parse_toml(path.read_text(encoding="utf-8"))
    except OSError:
        known = sorted(file.stem for file in (folder / task).glob("*.toml"))
        check_name(f"{task} recipe", dataset, known, InputError)
        raise InputError(f"{path} cannot be read; restore it") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; save it in that encoding") from None
    except ValueError as error:
        raise InputError(f"{path} is not TOML: {error}; correct it") from None
    if setting not in content:
        raise InputError(f"{path} has no [{setting}]; add it, or use one of {', '.join(content)}")
    if not isinstance(content[setting], dict):
        raise InputError(f"{path}: {setting} is {shown(content[setting])}; it must be a table, [{setting}]")
    try:
        if "task" in content[setting]:
            raise SettingsError(f"the task is {task!r}, the name of the folder; remove task")
        values, tables = _for_table({"task": task, **content[setting]}, table)
        why = values.pop("why", "")
        probe = {key: values.pop(key) for key in _PROBE[task] if key in values}
        _check_types(why, probe)
        written = {f.name: values.pop(f.name) for f in fields(Output) if f.name in values}
        return Recipe(
            dataset,
            setting,
            literal(values),
            Output.from_dict({"preset": "paper", **written}),
            why=why,
            tables=tables,
            **probe,
        )
    except SettingsError as error:
        raise SettingsError(f"{path}, [{setting}]: {error}") from None


def _check_types(why: Any, probe: dict[str, Any]) -> None:
    if not isinstance(why, str):
        raise SettingsError(f"why is {shown(why)}; it must be text")
    decay = Spec("Weight decay of the linear probe.", float)
    for key, value in probe.items():
        if not decay.fits(value):
            raise SettingsError(f"{key} is {shown(value)}; it must be a number, at least 0")


def _for_table(values: dict[str, Any], table: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the values with the overrides for this table, and the tables that share them."""
    task = values["task"]
    own = {name: values.pop(name.removeprefix(f"{task}-"), None) for name in _TABLES[task]}
    for name, part in own.items():
        if not isinstance(part, (dict, type(None))):
            raise SettingsError(f"{name.removeprefix(f'{task}-')} is {shown(part)}; it must be a sub-table of settings")
    if own[table] is None:
        return values, tuple(name for name in _TABLES[task] if own[name] is None)
    return {**values, **own[table]}, (table,)


def _folder() -> Path:
    """Return the folder inside the installed package, or the one next to the sources."""
    package = Path(mvgrl.__file__).parent
    return package / "recipes" if (package / "recipes").is_dir() else package.parents[1] / "recipes"

"""Everything that can be reproduced, read from catalogue.toml, and the paper's numbers, read from published.toml."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from mvgrl.experiments.discrepancies import AUTHORS_VIEWS
from mvgrl.experiments.experiment import Experiment, Variant
from mvgrl.settings import literal


def _experiment(name: str, values: dict[str, Any], group: dict[str, Any]) -> Experiment:
    """Return an experiment from its part of the file, with the group's values as defaults."""
    values = {**group, "about": "", **values}
    rows = tuple(_variant(row) for row in values.pop("rows"))
    start = literal({}) if values.pop("from_defaults", False) else None
    fixed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Experiment(name, variants=rows, start=start, **fixed)


def _variant(row: dict[str, Any]) -> Variant:
    return Variant(**{**row, "changes": _changes(row.get("changes", {})), "datasets": tuple(row.get("datasets", ()))})


def _changes(values: dict[str, Any]) -> dict[str, Any]:
    """Return the changes to the settings; views that exist only in the authors' code become objects."""
    if "views" not in values:
        return values
    return {**values, "views": tuple(AUTHORS_VIEWS.get(name, name) for name in values["views"])}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / name).read_text(encoding="utf-8"))


_CONTENT = _read("catalogue.toml")
_GROUPS = _CONTENT.pop("groups")
GROUPS: dict[str, str] = {name: group["about"] for name, group in _GROUPS.items()}  # headings of the report
EXPERIMENTS = {name: _experiment(name, one, _GROUPS.get(one.get("group"), {})) for name, one in _CONTENT.items()}
PUBLISHED: dict[str, Any] = _read("published.toml")  # experiment, row, score, dataset: mean and, if any, std


def published(experiment: str, row: str, score: str, dataset: str) -> tuple[float | None, float | None]:
    """Return the paper's mean and standard deviation; None where it reports none.

    >>> published("node-classification", "trained", "accuracy", "citeseer")
    (73.3, 0.5)
    """
    found = PUBLISHED.get(experiment, {}).get(row, {}).get(score, {}).get(dataset, [])
    mean, std = [*found, None, None][:2]
    return mean, std

"""Settings in a TOML file: what --config reads and --print-config writes."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from mvgrl.cli.options import LARGEST_SEED, listed
from mvgrl.definitions import spec_of
from mvgrl.errors import InputError, SettingsError, check_name, shown
from mvgrl.parsing import parse_toml
from mvgrl.settings import Output, Settings

RUN = ("seed", "device")  # what a file may contain besides settings
_FORMER = ("temperature",)  # a setting until 0.1, now a parameter of the bound


def read_config(path: Path | None) -> dict[str, Any]:
    """The settings of a file, and the seed and device of the run where it names them."""
    if path is None:
        return {}
    try:
        values = parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; create one with mvgrl train --print-config") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; give a TOML file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; save it in that encoding") from None
    except ValueError as error:
        raise InputError(f"{path} is not valid TOML: {error}; correct it") from None
    known = (*Settings.__dataclass_fields__, *Output.__dataclass_fields__, *RUN)
    for key, value in values.items():
        try:
            _check_type(key, value)
            if key not in _FORMER:
                check_name("setting", key, known)
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from None
    if isinstance(values.get("views"), str):
        values["views"] = listed(values["views"])
    return values


def _check_type(key: str, value: Any) -> None:
    # Everything else is checked where it is used; a wrong type of these would go unnoticed there.
    if isinstance(value, dict) and "name" not in value:
        raise SettingsError(f"[{key[:80]}] is a heading; write the settings without headings")
    if key == "views" and not isinstance(value, (str, list)):
        raise SettingsError(f"views is {shown(value)}; it must be a list of names, such as ['adjacency', 'ppr']")
    if key == "seed" and (type(value) is not int or not 0 <= value <= LARGEST_SEED):
        raise SettingsError(f"seed is {shown(value)}; it must be an integer from 0 to {LARGEST_SEED}")
    if key == "device" and not isinstance(value, str):
        raise SettingsError(f"device is {shown(value)}; it must be a name, such as 'cpu'")


def write_config(settings: Settings, output: Output, seed: int, device: str, columns: str | None = None) -> str:
    """One setting per line, with its help text; :func:`read_config` reads it back.

    ``columns`` of the node table replace the kind of features, if they were chosen.
    """
    lines = []
    for part in (settings, output):
        values = part.to_dict()
        values |= {"features": columns} if columns and "features" in values else {}
        for f in fields(part):
            value = [_view_text(view) for view in values["views"]] if f.name == "views" else values[f.name]
            if value is not None:  # left open
                lines.append((f"{f.name} = {json.dumps(value)}", spec_of(f).help))
    lines.append((f"seed = {seed}", "Random seed."))
    lines.append((f"device = {json.dumps(device)}", "auto, cpu, cuda, …"))
    return "".join(f"{line:<44}  # {help}\n" for line, help in lines)


def _view_text(view: dict[str, Any]) -> str:
    parameters = [f":{key}={value}" for key, value in view.items() if key != "name" and value is not None]
    return view["name"] + "".join(parameters)

"""Settings in a TOML file: what --config reads and --print-config writes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from mvgrl.cli.options import LARGEST_SEED, Chosen, listed
from mvgrl.errors import InputError, SettingsError, check_name

if TYPE_CHECKING:
    from mvgrl.settings import Settings

RUN = ("seed", "device")  # what a file may hold besides settings


def read_config(path: Path | None) -> dict[str, Any]:
    """The settings of a file, and the run's seed and device where it names them."""
    if path is None:
        return {}
    from mvgrl.settings import Settings

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no {path}; mvgrl train --print-config writes such a file") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; give a TOML file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; save it in that encoding") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}; correct it") from None
    known = (*Settings.__dataclass_fields__, *RUN)
    for key, value in values.items():
        try:
            _check_kind(key, value)
            check_name("setting", key, known)
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from None
    if isinstance(values.get("views"), str):
        values["views"] = listed(values["views"])
    return values


def _check_kind(key: str, value: Any) -> None:
    # All else is checked where it is used, but there a wrong kind of these would go unnoticed.
    if isinstance(value, dict):
        raise SettingsError(f"[{key}] is a heading; settings stand under none")
    if key == "views" and not isinstance(value, (str, list)):
        raise SettingsError(f"views is {value!r}; it must be a list of names, such as ['adjacency', 'ppr']")
    if key == "seed" and (type(value) is not int or not 0 <= value <= LARGEST_SEED):
        raise SettingsError(f"seed is {value!r}; it must be a whole number from 0 to {LARGEST_SEED}")
    if key == "device" and not isinstance(value, str):
        raise SettingsError(f"device is {value!r}; it must be a name, such as 'cpu'")


def write_config(settings: Settings, seed: int, device: str) -> str:
    """Every setting on a line, with what it is; read_config reads it back."""
    hints = get_type_hints(Chosen, include_extras=True)
    width = 44
    lines = []
    for key, value in settings.to_dict().items():
        if key == "views":
            value = [_view_text(view) for view in value]
        lines.append(f"{f'{key} = {json.dumps(value)}':<{width}}  # {hints[key].__metadata__[0].help}")
    lines.append(f"{f'seed = {seed}':<{width}}  # Of all randomness.")
    lines.append(f"{f'device = {json.dumps(device)}':<{width}}  # auto, cpu, cuda, …")
    return "\n".join(lines) + "\n"


def _view_text(view: dict[str, Any]) -> str:
    parameters = [f":{key}={value}" for key, value in view.items() if key != "name" and value is not None]
    return view["name"] + "".join(parameters)

"""Recipes: a TOML file a dataset that says how our number is obtained, how the paper's, and how the released code's."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mvgrl
from mvgrl.config import Settings
from mvgrl.errors import InputError, SettingsError, check_name

NAMED = ("paper", "released", "best")  # the text's choices; what the authors' code does; ours
_PROBE = ("weight_decay",)


@dataclass(frozen=True)
class Recipe:
    """Settings for training, and for the probe that follows."""

    dataset: str
    setting: str  # one of NAMED
    settings: Settings
    weight_decay: float = 0.0  # of the linear probe
    why: str = ""

    @property
    def id(self) -> str:
        """A short hash of everything that decides a number.

        >>> len(Recipe("cora", "best", Settings()).id)
        12
        """
        content = {"settings": self.settings.to_dict(), "weight_decay": self.weight_decay}
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=6).hexdigest()


def load_recipe(dataset: str, setting: str = "best", *, task: str = "node", folder: Path | None = None) -> Recipe:
    """The recipe of a dataset under one of the three named settings.

    >>> load_recipe("cora").settings.task
    'node'
    """
    check_name("setting", setting, NAMED, SettingsError)
    folder = _folder() if folder is None else folder
    path = folder / task / f"{dataset}.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        known = sorted(file.stem for file in (folder / task).glob("*.toml"))
        check_name(f"{task} recipe", dataset, known, InputError)
        raise InputError(f"{path} cannot be read; restore it") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}; correct it") from None
    if setting not in content:
        raise InputError(f"{path} has no [{setting}]; add it, or use one of {', '.join(content)}")
    values: dict[str, Any] = {"task": task, **content[setting]}
    why = values.pop("why", "")
    probe = {key: values.pop(key) for key in _PROBE if key in values}
    try:
        return Recipe(dataset, setting, Settings.from_dict(values), why=why, **probe)
    except SettingsError as error:
        raise SettingsError(f"{path}, [{setting}]: {error}") from None


def _folder() -> Path:
    """Beside the package where it was installed, beside the sources where it was not."""
    package = Path(mvgrl.__file__).parent
    return package / "recipes" if (package / "recipes").is_dir() else package.parents[1] / "recipes"

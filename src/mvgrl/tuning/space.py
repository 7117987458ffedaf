"""What a search may change: the diffusion, the depth and size of the encoders, and how they are trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAYERS = {"node": 2, "graph": 4}  # at most
HIDDEN = (128, 256, 512)
BATCHES = (32, 64, 128)  # graphs per step
READOUTS = ("sum", "mean")
# The values of the first trial are the defaults, so that a search never ends with something that scores lower.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "node": {"diffusion": "ppr", "alpha": 0.2, "layers": 1, "hidden": 512, "learning_rate": 0.001},
    "graph": {
        **{"diffusion": "ppr", "alpha": 0.2, "layers": 2, "hidden": 512, "learning_rate": 0.001},
        **{"batch_size": 64, "readout": "sum"},
    },
}


def suggest(trial: Any, task: str, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a trial of Optuna proposes; what is fixed is not changed.

    >>> class First:
    ...     def suggest_categorical(self, name, choices): return choices[0]
    ...     def suggest_float(self, name, low, high, log): return low
    ...     def suggest_int(self, name, low, high): return low
    >>> suggest(First(), "node", {"hidden": 64})
    {'views': ['adjacency', 'ppr:alpha=0.05'], 'layers': 1, 'learning_rate': 0.0002}
    """
    found: dict[str, Any] = {}
    if "views" not in fixed:
        found["views"] = ["adjacency", _diffusion(trial)]
    if "layers" not in fixed:
        found["layers"] = trial.suggest_int("layers", 1, LAYERS[task])
    if "hidden" not in fixed:
        found["hidden"] = trial.suggest_categorical("hidden", HIDDEN)
    if "learning_rate" not in fixed:
        found["learning_rate"] = _rounded(trial.suggest_float("learning_rate", 2e-4, 5e-3, log=True))
    if task == "graph" and "batch_size" not in fixed:
        found["batch_size"] = trial.suggest_categorical("batch_size", BATCHES)
    if task == "graph" and "readout" not in fixed:
        found["readout"] = trial.suggest_categorical("readout", READOUTS)
    return found


def _diffusion(trial: Any) -> str:
    if trial.suggest_categorical("diffusion", ("ppr", "heat")) == "ppr":
        return f"ppr:alpha={_rounded(trial.suggest_float('alpha', 0.05, 0.5, log=True))}"
    return f"heat:t={_rounded(trial.suggest_float('t', 1.0, 20.0, log=True))}"


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")  # a recipe that a person can read

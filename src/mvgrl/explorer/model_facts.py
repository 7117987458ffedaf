"""What a page says about a model: its loss curve, its choices and its card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mvgrl.errors import InputError
from mvgrl.history import checked_losses
from mvgrl.pretrained import config_of

_MOST_LOSSES = 1000  # points of the curve
_LONGEST = 100_000  # characters of a card
_NOT_CHOICES = ("format", "losses", "columns", "features")


def model_facts(folder: Path) -> dict[str, Any]:
    """Return the losses, at most a thousand of them, the choices as pairs of texts, and the card of a saved model."""
    config = config_of(folder, check=False)
    try:
        losses = checked_losses(config.get("losses", []))
    except ValueError as error:
        raise InputError(f"{folder} does not contain a complete model ({error}); save it again") from None
    card = folder / "README.md"
    step = max(1, -(-len(losses) // _MOST_LOSSES))
    return {
        "losses": losses[::step],
        "epochs": len(losses),
        "choices": [[name, value] for name, value in _choices(config)],
        "card": card.read_text("utf-8", "replace")[:_LONGEST] if card.is_file() else "",
    }


def _choices(values: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, str]]:
    """Yield every setting that was made, on one line each.

    >>> list(_choices({"settings": {"hidden": 8, "views": [{"name": "ppr", "alpha": 0.2}], "norm": None}}))
    [('hidden', '8'), ('views', 'ppr alpha=0.2')]
    """
    for name, value in values.items():
        if (not inside and name in _NOT_CHOICES) or value is None or value in ({}, []):
            continue
        if isinstance(value, Mapping) and not inside:
            yield from _choices(value, name)
        else:
            yield name.replace("_", " "), _line(value)


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        parts = (str(one) if key == "name" else f"{key}={_line(one)}" for key, one in value.items() if one is not None)
        return " ".join(parts)
    if isinstance(value, list):
        return ", ".join(map(_line, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)

"""Fixtures for tests of experiments: tiny recipes, and a catalogue of some experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mvgrl.experiments.catalogue import EXPERIMENTS

TINY = {
    "node/cora-linqs": '[best]\nviews = ["adjacency", "ppr:top_k=4:scale=columns"]\nhidden = 4\nepochs = 1\n',
    "graph/mutag": "[best]\nhidden = 4\nlayers = 1\nepochs = 1\n",
}


def _write(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = folder / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def write_recipes() -> Callable[[Path, dict[str, str]], Path]:
    """Return a function that writes recipes, given as texts by task and dataset, to a folder."""
    return _write


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder of tiny recipes."""
    return _write(tmp_path / "recipes", TINY)


@pytest.fixture
def places(data: Path, tiny: Path) -> dict[str, Any]:
    """Options for reproduce: the small data, tiny recipes, and the CPU."""
    return {"data_root": data, "recipes": tiny, "device": "cpu"}


@pytest.fixture
def only() -> Iterator[Callable[..., None]]:
    """Return a function that limits the catalogue to some experiments; the catalogue is restored afterwards."""
    kept = dict(EXPERIMENTS)

    def only_(*names: str) -> None:
        for name in set(EXPERIMENTS) - set(names):
            del EXPERIMENTS[name]

    yield only_
    EXPERIMENTS.clear()
    EXPERIMENTS.update(kept)

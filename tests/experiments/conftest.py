"""Fixtures for tests of experiments: tiny recipes, and small data in the formats of Cora and MUTAG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mvgrl.experiments.catalogue import EXPERIMENTS

TINY = {
    "node/cora-linqs": '[best]\nviews = ["adjacency", "ppr:top_k=4:scale=columns"]\nhidden = 4\nepochs = 1\n',
    "graph/mutag": "[best]\nhidden = 4\nlayers = 1\nepochs = 1\n",
}
TOPICS = ("Theory", "Reinforcement_Learning", "Genetic_Algorithms")


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


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,600 papers of six words as Cora, 40 rings and stars as MUTAG."""
    root = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    cora = root / "linqs-cora"
    cora.mkdir(parents=True)
    subjects = rng.integers(3, size=1600)
    words = (np.arange(6) // 2 == subjects[:, None]) ^ (rng.random((1600, 6)) < 0.2)
    lines = (f"{i}\t" + "\t".join(map(str, words[i].astype(int))) + f"\t{TOPICS[subjects[i]]}" for i in range(1600))
    (cora / "cora.content").write_text("\n".join(lines) + "\n")
    (cora / "cora.cites").write_text("".join(f"{i}\t{(i + 3) % 1600}\n" for i in range(1600)))
    mutag = root / "tu" / "MUTAG" / "raw"
    mutag.mkdir(parents=True)
    sizes = rng.integers(4, 9, size=40)
    starts = np.cumsum(sizes) - sizes + 1
    edges = [
        (start + i, start + (i + 1) % size if graph % 2 else start)
        for graph, (start, size) in enumerate(zip(starts, sizes, strict=True))
        for i in range(size)
        if graph % 2 or i
    ]
    for name, rows in {
        "A": [f"{a}, {b}\n{b}, {a}" for a, b in edges],
        "graph_indicator": np.repeat(np.arange(1, 41), sizes),
        "graph_labels": np.arange(40) % 2,
        "node_labels": np.arange(sizes.sum()) % 3,
    }.items():
        (mutag / f"MUTAG_{name}.txt").write_text("\n".join(map(str, rows)) + "\n")
    return root


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

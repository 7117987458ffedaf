"""What the paper's text and code do otherwise, one thing at a time: the default settings with that alone changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.published import DATASETS
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.runs import spread
from mvgrl.graphs import Graph
from mvgrl.settings import Settings
from mvgrl.views import View
from mvgrl.views.adjacency import normalised, with_self_loops
from mvgrl.views.base import check_dense_size

TABLE = "node-slips"


@dataclass(frozen=True)
class LoopedTwice(View):
    """The adjacency as the authors' code has it: self-loops are added to Â, which has them, before it is normalised.

    >>> LoopedTwice()(Graph.from_edges([0], [1])).toarray().round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """

    name: ClassVar[str] = "adjacency-looped-twice"

    def __call__(self, graph: Graph) -> sp.csr_array:
        looped, degrees = with_self_loops(graph)
        again = sp.csr_array(looped + sp.eye_array(graph.nodes, format="csr"))
        return normalised(again, degrees + 1)

    @property
    def symmetric(self) -> bool:
        """Always."""
        return True


@dataclass(frozen=True)
class HeatByEntry(View):
    """Heat as the authors' code has it: the exponential of each entry of t·ÂD̂⁻¹ − t, not of the matrix.

    >>> HeatByEntry(t=1.0)(Graph.from_edges([0], [1], nodes=3)).round(3)
    array([[0.607, 0.607, 0.368],
           [0.607, 0.607, 0.368],
           [0.368, 0.368, 1.   ]])
    """

    name: ClassVar[str] = "heat-by-entry"

    t: float = 5.0

    def __call__(self, graph: Graph) -> np.ndarray:
        check_dense_size(self.name, graph.nodes)
        looped, degrees = with_self_loops(graph)
        moved: np.ndarray = np.exp(self.t * (looped.toarray() / degrees[None, :] - 1))
        return moved

    @property
    def symmetric(self) -> bool:
        """No: each column is divided by its own degree."""
        return False


DEFAULTS = Settings()
# The row of the table, and the settings that differ from the defaults.
ROWS: dict[str, dict[str, Any]] = {
    "nothing: the default settings": {},
    "the text: standard-scored features": dict(normalise="standard"),
    "the text: a mean with a layer of its own as readout": dict(readout="mean"),
    "the text: four samples of 2,000 random nodes": dict(sampler="nodes", sample_size=2000, batch_size=4),
    "the code: four windows of 2,000 nodes in a row": dict(sampler="window", sample_size=2000, batch_size=4),
    "the code: self-loops added twice": dict(views=(LoopedTwice(), "ppr")),
    "the code: heat by entry": dict(views=("adjacency", HeatByEntry())),
    "heat as the text defines it": dict(views=("adjacency", "heat")),
}


def table(ledger: Ledger, datasets: Sequence[str] = DATASETS[TABLE], *, runs: int = 10) -> list[dict[str, Any]]:
    """The rows from the ledger alone; "difference" is in points, against the first row of the dataset."""
    found = [run for run in ledger if run.experiment == TABLE and run.seed < runs and not run.failed]
    rows: list[dict[str, Any]] = []
    for name in datasets:
        base = None
        for change, recipe in recipes(name).items():
            mine = [run for run in found if (run.dataset, run.variant, run.recipe) == (name, change, recipe.id)]
            if not mine:
                continue
            scores = np.array([run.scores["accuracy"] for run in mine])
            base = base if ROWS[change] else float(scores.mean())
            rows.append(
                {
                    "dataset": name,
                    "change": change,
                    "metric": "accuracy",
                    "mean": float(scores.mean()),
                    "std": spread(scores),
                    "difference": None if base is None else float(scores.mean()) - base,
                    "runs": len(mine),
                    "seconds": float(np.mean([run.seconds for run in mine])),
                }
            )
    return rows


def recipes(dataset: str) -> dict[str, Recipe]:
    """The settings of each row."""
    return {
        row: Recipe(dataset, "best", replace(DEFAULTS, **changes), tables=(TABLE,)) for row, changes in ROWS.items()
    }

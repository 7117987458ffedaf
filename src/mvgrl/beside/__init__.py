"""The parts of a vector in addition to the trained codes: knowledge of the graph that needs no training.

Everything is compressed to its leading components, which are learned from the training graphs and saved with the model.
"""

from __future__ import annotations

from typing import TypeAlias

from mvgrl.beside.counts import Counts
from mvgrl.beside.positions import WithPositions
from mvgrl.beside.propagated import Propagated

__all__ = ["KINDS", "Beside", "Counts", "Propagated", "WithPositions"]

Beside: TypeAlias = "Propagated | Counts"
KINDS: dict[str, type[Propagated] | type[Counts]] = {
    "propagated": Propagated,
    "propagated+position": WithPositions,
    "counts": Counts,
}

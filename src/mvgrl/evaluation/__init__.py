"""How good embeddings are: arrays in, scores out."""

from mvgrl.evaluation.controls import propagated, untrained
from mvgrl.evaluation.linear_probe import linear_probe

__all__ = ["linear_probe", "propagated", "untrained"]

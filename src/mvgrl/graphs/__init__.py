"""G: graphs, checked, and their initial features."""

from mvgrl.graphs.features import FeatureEncoder
from mvgrl.graphs.graph import Graph

__all__ = ["FeatureEncoder", "Graph"]

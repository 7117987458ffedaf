"""G: graphs, checked; their initial features; the named datasets."""

from mvgrl.graphs.datasets import Dataset, load
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.graphs.graph import Graph

__all__ = ["Dataset", "FeatureEncoder", "Graph", "load"]

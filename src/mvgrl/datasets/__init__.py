"""The named benchmark datasets."""

from mvgrl.datasets.registry import Dataset, load

__all__ = ["Dataset", "load"]

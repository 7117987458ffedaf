"""The named benchmark datasets."""

from mvgrl.datasets.base import Dataset, DatasetInfo
from mvgrl.datasets.registry import DATASETS, Found, canonical, find, load

__all__ = ["DATASETS", "Dataset", "DatasetInfo", "Found", "canonical", "find", "load"]

"""Everything about tables of embeddings under one name: vectors, labels and splits, keyed by id."""

from mvgrl.tables.keyed import Keyed, align
from mvgrl.tables.labels import Labels, Split, labels_for, read_labels, read_split, splits_for
from mvgrl.tables.read import read_embeddings
from mvgrl.tables.vectors import Embeddings
from mvgrl.tables.write import check_output, write_embeddings

__all__ = [
    "Embeddings",
    "Keyed",
    "Labels",
    "Split",
    "align",
    "check_output",
    "labels_for",
    "read_embeddings",
    "read_labels",
    "read_split",
    "splits_for",
    "write_embeddings",
]

"""Embeddings as files: tables with the ids of their owner, and the labels and splits that go with them."""

from mvgrl.embeddings.keyed import Keyed, align
from mvgrl.embeddings.labels import Labels, Split, labels_for, read_labels, read_split, splits_for
from mvgrl.embeddings.read import read_embeddings
from mvgrl.embeddings.vectors import Embeddings
from mvgrl.embeddings.write import check_output, write_embeddings

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

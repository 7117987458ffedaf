"""Labels for ``mvgrl evaluate`` and ``mvgrl map``, from a table or a named dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mvgrl.cli.inputs import is_dataset, open_dataset
from mvgrl.errors import InputError, SettingsError

if TYPE_CHECKING:
    from mvgrl.cli.console import Console
    from mvgrl.datasets import Dataset
    from mvgrl.tables.embeddings import Embeddings
    from mvgrl.tables.labels import Labels


def labels_of(
    embeddings: Embeddings,
    labels: str,
    id_column: str | None,
    label_column: str | None,
    data_root: Path | None,
    console: Console,
) -> tuple[np.ndarray, Dataset | None]:
    """Return a label per row of the embeddings, and the dataset if ``labels`` names one.

    ``labels`` may also be an imported graph with the classes of its nodes.
    """
    from mvgrl.graphs.stored_files import is_stored
    from mvgrl.tables.columns import Place
    from mvgrl.tables.labels import Labels, labels_for, read_labels

    if is_stored(labels):
        return labels_for(embeddings, _of_graph(labels, id_column, label_column)), None
    if not is_dataset(labels):
        return labels_for(embeddings, read_labels(labels, id_column=id_column, label_column=label_column)), None
    for flag, value in (("id", id_column), ("label", label_column)):
        if value is not None:
            raise SettingsError(f"{labels} is a named dataset and has its own {flag}s; omit --{flag}-column")
    dataset = open_dataset(labels, data_root, console)
    names = np.array(dataset.classes)[dataset.target]
    known = Labels(np.arange(len(names)), place=Place(dataset.name), labels=names)
    return labels_for(embeddings, known), dataset


def _of_graph(folder: str, id_column: str | None, label_column: str | None) -> Labels:
    """Return the classes of an imported graph."""
    from mvgrl.graphs.stored import StoredGraph
    from mvgrl.tables.columns import Place
    from mvgrl.tables.labels import Labels

    for flag, value in (("id", id_column), ("label", label_column)):
        if value is not None:
            raise SettingsError(f"{folder} is an imported graph and has its own {flag}s; omit --{flag}-column")
    stored = StoredGraph.open(folder)
    found = stored.labels()
    if found is None:
        raise InputError(f"{folder} has no classes; import its tables with --label-column, or give a table of labels")
    return Labels(stored.ids(), place=Place(folder), labels=found)

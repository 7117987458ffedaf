"""Labels for ``mvgrl evaluate`` and ``mvgrl map``, from a table or a named dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mvgrl.cli.inputs import is_dataset, open_dataset
from mvgrl.errors import SettingsError

if TYPE_CHECKING:
    from mvgrl.cli.console import Console
    from mvgrl.datasets import Dataset
    from mvgrl.tables.embeddings import Embeddings


def labels_of(
    embeddings: Embeddings,
    labels: str,
    id_column: str | None,
    label_column: str | None,
    data_root: Path | None,
    console: Console,
) -> tuple[np.ndarray, Dataset | None]:
    """Return a label per row of the embeddings, and the dataset if ``labels`` names one."""
    from mvgrl.tables.columns import Place
    from mvgrl.tables.labels import Labels, labels_for, read_labels

    if not is_dataset(labels):
        return labels_for(embeddings, read_labels(labels, id_column=id_column, label_column=label_column)), None
    for flag, value in (("id", id_column), ("label", label_column)):
        if value is not None:
            raise SettingsError(f"{labels} is a named dataset and has its own {flag}s; omit --{flag}-column")
    dataset = open_dataset(labels, data_root, console)
    names = np.array(dataset.classes)[dataset.target]
    known = Labels(np.arange(len(names)), place=Place(dataset.name), labels=names)
    return labels_for(embeddings, known), dataset

"""Label propagation: the harmonic function of the known labels (Zhu, Ghahramani & Lafferty, ICML 2003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import connected_components

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.matrices import SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.conjugate_gradients import solve
from mvgrl.methods.graph_data import split_of
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class LabelPropagation(Method):
    """Every node has the average of its neighbours' labels, except train nodes, which keep theirs; without features.

    It is the limit of propagating labels along edges and resetting the known ones after every step. With few labels
    almost all nodes have nearly the same averages, so they are compared after class mass normalisation: each class is
    scaled to its share of the train nodes. Nodes that no label reaches get the most frequent class of the train nodes.
    """

    name: ClassVar[str] = "label-propagation"
    label: ClassVar[str] = "label propagation"
    tasks: ClassVar[tuple[str, ...]] = ("node",)
    seeded: ClassVar[bool] = False
    supervised: ClassVar[bool] = True
    source: ClassVar[str] = "Zhu, Ghahramani & Lafferty (ICML 2003), Sections 2 and 4"

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same predictions for all seeds."""
        train, _ = split_of(dataset)
        labels = harmonic(dataset.graph, dataset.target, train, len(dataset.classes), context.device)
        usual = np.bincount(dataset.target[train]).argmax()
        classes = normalised(labels, dataset.target, train).argmax(axis=1)
        return [Outcome(predictions=np.where(labels.any(axis=1), classes, usual))]


def harmonic(graph: Graph, target: np.ndarray, train: np.ndarray, classes: int, device: torch.device) -> np.ndarray:
    """Return the shares of the classes, nodes × classes, from the labels of the train nodes; 0 where none is reached.

    The shares of the other nodes solve (D_uu - A_uu)·F_u = A_ul·Y_l.

    >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], nodes=5)
    >>> harmonic(path, np.array([0, 0, 1, 1, 0]), np.array([0, 3]), 2, torch.device("cpu")).round(2).tolist()
    [[1.0, 0.0], [0.67, 0.33], [0.33, 0.67], [0.0, 1.0], [0.0, 0.0]]
    """
    found = np.zeros((graph.nodes, classes))
    found[train, target[train]] = 1
    component = connected_components(graph.adjacency, directed=False)[1]
    reached = np.isin(component, component[train])
    reached[train] = False
    unknown = np.flatnonzero(reached)
    if not len(unknown):
        return found
    rows = graph.adjacency.astype(np.float64)[unknown]
    degrees = np.asarray(rows.sum(axis=1)).reshape(-1)
    # Scaled to a diagonal of ones, the system is better conditioned: F = D^-1/2·Z.
    root = 1 / np.sqrt(degrees)
    scaled = sp.diags_array(root) @ rows[:, unknown] @ sp.diags_array(root)
    around = SparseMatrix.from_scipy(scaled, symmetric=True, dtype=torch.float64).to(device)
    right = torch.from_numpy(root[:, None] * (rows @ found)).to(device)
    found[unknown] = root[:, None] * solve(lambda z: z - around.multiply(z), right).cpu().numpy()
    return found


def normalised(labels: np.ndarray, target: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return the shares of the classes scaled so that their sums over the other nodes are as in the train nodes.

    The classes of the train nodes are counted with one more of each, as in the paper.

    >>> shares = np.array([[1, 0], [0, 1], [0.9, 0.1], [0.7, 0.3]])
    >>> normalised(shares, np.array([0, 1, 0, 0]), np.array([0, 1])).argmax(axis=1)
    array([0, 1, 0, 1])
    """
    wanted = np.bincount(target[train], minlength=labels.shape[1]) + 1
    mass = np.delete(labels, train, axis=0).sum(axis=0)
    scaled: np.ndarray = labels * np.divide(wanted, mass, out=np.ones(len(mass)), where=mass > 0)
    return scaled

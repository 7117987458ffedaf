"""scikit-learn's face: NodeEmbedder and GraphEmbedder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mvgrl.graphs.convert import to_named
from mvgrl.graphs.named import NamedGraph
from mvgrl.pretrained import load_model, save_model
from mvgrl.settings import Settings
from mvgrl.training import Trained, fit


class _Embedder(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg, misc]
    """What both embedders share; their parameters are the fields of :class:`mvgrl.Settings`, documented there."""

    _task: str

    def __init__(
        self,
        *,
        views: Any = ("adjacency", "ppr"),
        draw_two_views: bool = False,
        sampler: Any = "full",
        sample_size: int = 2000,
        batch_size: int | None = None,
        negatives: str | None = None,
        encoder: str = "dedicated",
        frozen_encoder: bool = False,
        layers: int | None = None,
        hidden: int = 512,
        readout: str | None = None,
        discriminator: str | None = None,
        head_shortcut: bool = False,
        mode: Any = "local-global",
        bound: Any = "jsd",
        temperature: float = 0.5,
        codes: str = "projected",
        join: str = "sum",
        unit_length: bool = False,
        features: str = "auto",
        normalise: str = "row",
        degree_cap: int = 100,
        norm: str = "none",
        dropout: float = 0.0,
        noise: float = 0.0,
        l2: float = 0.0,
        epochs: int | None = None,
        patience: int = 20,
        learning_rate: float = 0.001,
        random_state: int | np.random.RandomState | None = 0,
        device: str = "auto",
        callbacks: Any = (),
    ) -> None:
        self.views = views
        self.draw_two_views = draw_two_views
        self.sampler = sampler
        self.sample_size = sample_size
        self.batch_size = batch_size
        self.negatives = negatives
        self.encoder = encoder
        self.frozen_encoder = frozen_encoder
        self.layers = layers
        self.hidden = hidden
        self.readout = readout
        self.discriminator = discriminator
        self.head_shortcut = head_shortcut
        self.mode = mode
        self.bound = bound
        self.temperature = temperature
        self.codes = codes
        self.join = join
        self.unit_length = unit_length
        self.features = features
        self.normalise = normalise
        self.degree_cap = degree_cap
        self.norm = norm
        self.dropout = dropout
        self.noise = noise
        self.l2 = l2
        self.epochs = epochs
        self.patience = patience
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.device = device
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on whatever :func:`mvgrl.graphs.convert.to_named` takes; ``y`` is not looked at."""
        named = self._named(X)
        trained = fit(named.graph, self._settings(), seed=self._seed(), device=self.device, callbacks=self.callbacks)
        self._take(trained, self._describe(named))
        self.ids_ = self._ids(named)
        self.embedding_ = self._codes(trained.represent())
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Embed a changed graph or new ones with the trained encoders, without retraining."""
        check_is_fitted(self, "trained_")
        return self._codes(self.trained_.represent(self._named(X).graph))

    def fit_transform(self, X: Any, y: Any = None, **more: Any) -> np.ndarray:
        """Train, and return the training graphs' vectors."""
        return self.fit(X, y).embedding_

    def save(self, folder: str | Path, *, scores: Mapping[str, Any] | None = None) -> None:
        """Write the trained model as a folder, to be read by :func:`mvgrl.load`; ``scores`` go on its card."""
        check_is_fitted(self, "trained_")
        save_model(self.trained_, folder, about={**self.about_, **(scores or {})})

    def _take(self, trained: Trained, about: dict[str, Any]) -> None:
        self.trained_ = trained
        self.history_ = list(trained.history.losses)
        self.about_ = about

    def _settings(self) -> Settings:
        values = {name: value for name, value in self.get_params(deep=False).items() if name in _SETTINGS}
        return Settings(task=self._task, **values)

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _named(self, X: Any) -> NamedGraph:
        return to_named(X)

    def _ids(self, named: NamedGraph) -> np.ndarray:
        raise NotImplementedError

    def _codes(self, codes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        raise NotImplementedError

    def _describe(self, named: NamedGraph) -> dict[str, Any]:
        return {"trained on": named.graph.size_text}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")


_SETTINGS = frozenset(Settings.__dataclass_fields__) - {"task"}


class NodeEmbedder(_Embedder):
    """A vector for every node of a graph.

    After ``fit``: ``embedding_`` (nodes × hidden), ``ids_`` (the nodes' own ids, in the same order), ``history_``
    (the loss of every epoch).

    >>> import networkx as nx
    >>> embedder = NodeEmbedder(hidden=16, epochs=5).fit(nx.karate_club_graph())
    >>> embedder.embedding_.shape
    (34, 16)
    """

    _task = "node"

    def _ids(self, named: NamedGraph) -> np.ndarray:
        return named.node_ids

    def _codes(self, codes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        return codes[0]


class GraphEmbedder(_Embedder):
    """A vector for every one of many graphs.

    After ``fit``: ``embedding_`` (graphs × hidden), ``ids_`` (the graphs' own ids), ``history_`` (the loss of every
    epoch). A list of graphs can be indexed, so this works in pipelines and grid searches.

    >>> import networkx as nx
    >>> graphs = [nx.cycle_graph(n) for n in range(3, 9)]
    >>> GraphEmbedder(hidden=16, epochs=2).fit_transform(graphs).shape
    (6, 16)
    """

    _task = "graph"

    def _ids(self, named: NamedGraph) -> np.ndarray:
        return np.arange(named.graph.count) if named.graph_ids is None else named.graph_ids

    def _codes(self, codes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        return codes[1]


def load(folder: str | Path, *, device: str = "auto") -> NodeEmbedder | GraphEmbedder:
    """The fitted embedder that ``save`` wrote; its ``transform`` gives the same bits as before."""
    trained, about = load_model(folder, device=device)
    settings = trained.model.settings
    kind = {"node": NodeEmbedder, "graph": GraphEmbedder}[settings.task]
    embedder = kind(device=device, **{name: getattr(settings, name) for name in _SETTINGS})
    embedder._take(trained, about)
    return embedder

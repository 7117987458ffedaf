"""The scikit-learn interface: NodeEmbedder and GraphEmbedder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mvgrl.automatic import check_vectors_fit, resolve
from mvgrl.definitions import spec_of
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.named import NamedGraph
from mvgrl.pretrained import load_model, save_model
from mvgrl.runtime import resolve_device
from mvgrl.settings import Output, OutputFields, Settings, TrainingFields
from mvgrl.training import Trained, fit


@dataclass(kw_only=True, eq=False, repr=False)
class _Embedder(  # type: ignore[call-arg]
    OutputFields,
    TrainingFields,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    auto_wrap_output_keys=None,
):
    """What both embedders share. Their parameters are the settings of ``settings.py`` and the three below."""

    random_state: int | np.random.RandomState | None = 0
    device: str = "auto"
    callbacks: Any = ()

    _task = "node"
    _OWN = {  # noqa: RUF012 (never changed)
        "random_state": "Seed of all randomness.",
        "device": "auto, cpu, cuda, cuda:1, …; auto is a GPU if there is one.",
        "callbacks": "Functions called with an mvgrl.history.Epoch after every epoch.",
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = f"{cls.__doc__ or ''}\n{_parameters_section(cls)}"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on anything :func:`mvgrl.graphs.convert.to_named` accepts; ``y`` is ignored."""
        named = to_named(X)
        output = self._output()
        where = resolve_device(self.device)
        resolved = resolve(named.graph, self._settings(), device=where)
        check_vectors_fit(named.graph, resolved.settings, output, device=where)
        trained = fit(named, resolved, seed=self._seed(), device=self.device, callbacks=self.callbacks)
        self._take(trained, {"trained on": named.graph.size_text})
        self.ids_ = self._ids(named)
        self.embedding_ = trained.vectors(output=output)
        self.choices_["vector"] = trained.vector_text(output)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Embed a changed graph or new ones with the trained encoders, without retraining."""
        check_is_fitted(self, "trained_")
        return self.trained_.vectors(to_named(X, encoder=self.trained_.feature_encoder.columns_), self._output())

    def fit_transform(self, X: Any, y: Any = None, **more: Any) -> np.ndarray:
        """Train, and return the vectors of the training graphs."""
        return self.fit(X, y).embedding_

    def save(self, folder: str | Path, *, scores: Mapping[str, Any] | None = None) -> None:
        """Write the trained model as a folder that :func:`mvgrl.load` reads; ``scores`` are added to its card."""
        check_is_fitted(self, "trained_")
        save_model(self.trained_, folder, output=self._output(), about={**self.about_, **(scores or {})})

    def _take(self, trained: Trained, about: dict[str, Any]) -> None:
        self.trained_ = trained
        self.history_ = list(trained.history.losses)
        self.choices_ = dict(trained.choices)
        self.about_ = about

    def _settings(self) -> Settings:
        return Settings(task=self._task, **_given(self, TrainingFields))

    def _output(self) -> Output:
        return Output(**_given(self, OutputFields)).for_task(self._task)

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _ids(self, named: NamedGraph) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")


def _given(embedder: _Embedder, group: type[OutputFields | TrainingFields]) -> dict[str, Any]:
    return {f.name: getattr(embedder, f.name) for f in fields(group)}


def _parameters_section(embedder: type[_Embedder]) -> str:
    """The section "Parameters" of a docstring, from the definitions of the settings."""

    def line(f: Field[Any]) -> str:
        default = "" if f.default is MISSING else f" : default={f.default!r}"
        text = embedder._OWN[f.name] if f.name in embedder._OWN else spec_of(f).help
        return f"    {f.name}{default}\n        {text}"

    return "\n".join(["    Parameters", "    ----------", *(line(f) for f in fields(embedder)), "    "])


class NodeEmbedder(_Embedder):
    """Learn a vector per node of a graph.

    What a parameter leaves at "auto" or None is chosen for the graph, exactly as ``mvgrl embed`` chooses it.

    After ``fit``: ``embedding_`` (nodes × dimensions), ``ids_`` (the ids of the nodes, in the same order), ``choices_``
    (what was chosen automatically, and why, and what the vectors are made of) and ``history_`` (the loss of every
    epoch). The components of a vector are ordered: its first k numbers are a good vector of length k. As with the
    output of PCA, do not scale each of them to the same variance: that would blow up the least important ones.

    >>> import networkx as nx
    >>> embedder = NodeEmbedder(dim=16, epochs=5).fit(nx.karate_club_graph())
    >>> embedder.embedding_.shape
    (34, 16)
    """

    _task = "node"

    def _ids(self, named: NamedGraph) -> np.ndarray:
        return named.node_ids


class GraphEmbedder(_Embedder):
    """Learn a vector per graph from many graphs.

    After ``fit``: ``embedding_`` (graphs × dimensions), ``ids_`` (the ids of the graphs), ``choices_`` (what was chosen
    automatically, and why) and ``history_`` (the loss of every epoch). A list of graphs can be indexed, so this works
    in pipelines and grid searches.

    >>> import networkx as nx
    >>> graphs = [nx.gnp_random_graph(10, 0.3, seed=seed) for seed in range(6)]
    >>> GraphEmbedder(dim=4, epochs=2).fit_transform(graphs).shape
    (6, 4)
    """

    _task = "graph"

    def _ids(self, named: NamedGraph) -> np.ndarray:
        return np.arange(named.graph.count) if named.graph_ids is None else named.graph_ids


def load(folder: str | Path, *, device: str = "auto") -> NodeEmbedder | GraphEmbedder:
    """Read the fitted embedder that ``save`` wrote; its ``transform`` gives the same bits as before."""
    trained, output, about = load_model(folder, device=device)
    settings = trained.model.settings
    kind = {"node": NodeEmbedder, "graph": GraphEmbedder}[settings.task]
    values = {f.name: getattr(settings, f.name) for f in fields(TrainingFields)}
    embedder = kind(device=device, **values, **{f.name: getattr(output, f.name) for f in fields(OutputFields)})
    embedder._take(trained, about)
    return embedder

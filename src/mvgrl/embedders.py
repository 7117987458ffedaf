"""The scikit-learn interface: NodeEmbedder and GraphEmbedder."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mvgrl.automatic import Resolved, check_vectors_fit, resolve, resolve_output
from mvgrl.display import as_html, parameters_section
from mvgrl.errors import GraphWarning, InputError, SettingsError, shown
from mvgrl.frames import (
    Rows,
    check_container,
    column_names,
    contained,
    neighbor_table,
    rows_of,
    rows_with,
    to_table,
)
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.edge_lists import dimensions
from mvgrl.graphs.named import NamedGraph
from mvgrl.neighbors import nearest
from mvgrl.pretrained import load_model, save_model, vector_summary
from mvgrl.progress import progress_for
from mvgrl.runtime import resolve_device
from mvgrl.settings import Output, OutputFields, Settings, TrainingFields
from mvgrl.training import Trained, fit

if TYPE_CHECKING:
    import torch

    from mvgrl.method_vectors import MethodVectors
    from mvgrl.methods import Method


@dataclass(kw_only=True, eq=False, repr=False)
class _Embedder(  # type: ignore[call-arg]
    OutputFields,
    TrainingFields,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    auto_wrap_output_keys=None,  # scikit-learn would index the vectors by the rows of a table of edges
):
    """The base class of both embedders. Its parameters are the settings of ``settings.py`` and the five below."""

    method: Any = "default"
    random_state: int | np.random.RandomState | None = 0
    device: str = "auto"
    callbacks: Any = ()
    verbose: int = 0

    _task = "node"
    _OWN = {  # noqa: RUF012 (never changed)
        "method": (
            "str or mvgrl.methods.Method",
            "default, mvgrl (the vectors of the paper), or another method that makes vectors, such as raw or netmf.",
        ),
        "random_state": ("int, RandomState or None", "Random seed; None draws a different one each time."),
        "device": ("str", "Where to train: auto, cpu, cuda, cuda:1, …; auto uses a GPU if there is one."),
        "callbacks": ("sequence of callables", "Functions called with an mvgrl.history.Epoch after every epoch."),
        "verbose": ("int", "1 shows progress while training: a bar in a terminal or notebook, else lines on stderr."),
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        section = parameters_section(fields(cls), cls._OWN, cls._task)
        summary, _, rest = (cls.__doc__ or "").partition("\n\n")
        cls.__doc__ = f"{summary}\n\n{section}\n\n{rest}"

    def fit(self, X: Any, y: Any = None, *, features: Any = None) -> Self:
        """Train on anything that :func:`mvgrl.graphs.convert.to_named` accepts.

        ``features``, a matrix or a table with one row per node, replace those of the graph; ``fit((graph, features))``
        is the same. A one-dimensional ``y`` is ignored: labels are not used.
        """
        _check_ignored(y)
        named = to_named(X, features)
        _warn(named.notes)
        output = self._output()
        where = resolve_device(self.device)
        resolved = resolve(named.graph, self._settings(), device=where, preset=output.preset)
        if (method := self._method()) is not None:
            return self._fit_method(method, named, resolved, where)
        output = resolve_output(named.graph, resolved.settings, output, device=where, choices=resolved.choices)
        check_vectors_fit(named.graph, resolved.settings, output, device=where)
        trained = self._trained(named, resolved)
        about: dict[str, Any] = {"trained on": named.graph.size_text}
        self._take(trained, about | ({"notes": list(named.notes)} if named.notes else {}))
        self._rows = rows_of(named, self._task)
        self.ids_ = self._rows.ids
        self.embedding_ = trained.vectors(output=output)
        self.choices_["vector"] = trained.vector_text(output)
        return self

    def _fit_method(self, method: Method, named: NamedGraph, resolved: Resolved, device: torch.device) -> Self:
        """Make the vectors of another method."""
        from mvgrl.method_vectors import MethodVectors

        found = MethodVectors.fit(named, method, resolved, seed=self._seed(), device=device)
        about: dict[str, Any] = {"trained on": named.graph.size_text}
        self._take(found, about | ({"notes": list(named.notes)} if named.notes else {}))
        self._rows = rows_of(named, self._task)
        self.ids_, self.embedding_ = self._rows.ids, found.vectors()
        return self

    def transform(self, X: Any, *, features: Any = None) -> Any:
        """Embed a changed graph or new ones with the trained encoders, without retraining.

        Methods other than MVGRL only have vectors of the training graphs; any other graph is an error.

        Rows are in the order of the new graph's nodes; :meth:`vectors` returns them with their ids, and so does this
        method after ``set_output(transform="pandas")``.
        """
        return contained(self._container(), *self._embed(X, features))

    def fit_transform(self, X: Any, y: Any = None, *, features: Any = None) -> Any:
        """Train, and return the vectors of the training graphs, in the order of ``ids_``."""
        self.fit(X, y, features=features)
        return contained(self._container(), self._rows, self.embedding_)

    def vectors(self, X: Any = None, *, features: Any = None, table: str = "pandas") -> Any:
        """Return ids and vectors together, of a graph as in :meth:`transform` or, by default, of the training graphs.

        A pandas table has the ids as its index; "polars" and "arrow" tables have a column ``id`` before the columns of
        the vector. Node ids may repeat across graphs, so several graphs have one more level or column, ``graph``; a
        bipartite graph has ``side``.
        """
        if X is not None:
            return to_table(table, *self._embed(X, features))
        check_is_fitted(self, "trained_")
        if features is not None:
            raise InputError("features are given without their graph; give both")
        if isinstance(self.trained_, Trained):
            found = self.trained_.vectors(output=self._output())  # an error for a loaded model, which has no graph
        elif hasattr(self, "embedding_"):
            found = self.embedding_
        else:
            raise InputError("loaded vectors have no ids; give the graph that they were made for")
        return to_table(table, self._rows, found)

    def neighbors(self, ids: Any, k: int = 10, *, approximate: bool | None = None, table: str = "pandas") -> Any:
        """Return the k nearest training nodes (or graphs) of each id, by the cosine of their vectors, as a table.

        Its columns are ``query``, ``rank``, ``id`` and ``cosine``. In a bipartite graph an id is a tuple (side, id).
        Beyond a million vectors, or if ``approximate`` is true, usearch finds almost all of the nearest ones.
        """
        check_is_fitted(self, "trained_")
        if not hasattr(self, "embedding_"):
            raise InputError("a loaded model has no vectors to search; embed a graph with vectors(graph), and search "
                             "them with mvgrl.neighbors.nearest")  # fmt: skip
        wanted = [ids] if isinstance(ids, (str, bytes, tuple)) or np.ndim(ids) == 0 else list(ids)
        found = nearest(self.embedding_, rows_with(self._rows, wanted), k, approximate=approximate)
        return neighbor_table(table, self._rows, wanted, found)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``transform`` and ``fit_transform`` return: "default" (an array), "pandas" or "polars".

        A pandas table is indexed by id. A polars table has no index, and no column of ids either, because each column
        is a feature for the next step of a pipeline; :meth:`vectors` returns a table with ids.
        """
        if transform is not None:
            check_container(transform)
            self._sklearn_output_config = {"transform": transform}  # the name that sklearn.base.clone copies
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the vector's components, e0, e1, …; ``input_features`` is ignored."""
        check_is_fitted(self, "trained_")
        if not isinstance(self.trained_, Trained):
            return np.array(column_names(self.trained_.found.shape[1]), dtype=object)
        output, settings = self.trained_.output_of(self._output()), self.trained_.model.settings
        composition = self.trained_.compose(output) if output.composed else None
        return np.array(column_names(vector_summary(settings, output, composition)["dim"]), dtype=object)

    def save(self, folder: str | Path, *, scores: Mapping[str, Any] | None = None) -> None:
        """Write the trained model as a folder that :func:`mvgrl.load` reads; ``scores`` are added to its card."""
        check_is_fitted(self, "trained_")
        about = {**self.about_, **(scores or {})}
        if isinstance(self.trained_, Trained):
            save_model(self.trained_, folder, output=self._output(), about=about)
        else:
            self.trained_.save(folder, about=about)

    def _trained(self, named: NamedGraph, resolved: Resolved) -> Trained:
        if not isinstance(self.verbose, (int, np.integer, np.bool_)):  # a Python bool is an int
            raise SettingsError(f"verbose is {shown(self.verbose)}; it must be 0 or 1")
        with progress_for(resolved.settings) if self.verbose else nullcontext() as progress:
            callbacks = [*self.callbacks, *([] if progress is None else [progress])]
            return fit(named, resolved, seed=self._seed(), device=self.device, callbacks=callbacks)

    def _embed(self, X: Any, features: Any) -> tuple[Rows, np.ndarray]:
        check_is_fitted(self, "trained_")
        if not isinstance(self.trained_, Trained):
            named = to_named(X, features)
            return rows_of(named, self._task), self.trained_.vectors(named)
        named = to_named(X, features, encoder=self.trained_.feature_encoder.columns_)
        _warn(note for note in named.notes if note not in self.notes_)
        return rows_of(named, self._task), self.trained_.vectors(named, self._output())

    def _take(self, trained: Trained | MethodVectors, about: dict[str, Any]) -> None:
        self.trained_ = trained
        self.history_ = list(trained.history.losses) if isinstance(trained, Trained) else []
        self.choices_ = dict(trained.choices)
        self.about_ = about
        notes = about.get("notes")
        self.notes_ = [str(note) for note in notes] if isinstance(notes, list) else []

    def _method(self) -> Method | None:
        """Return the method that makes the vectors; None for MVGRL."""
        if self.method == "default":
            return None
        from mvgrl.method_vectors import method_named, with_settings

        method = method_named(self.method, self._task)
        if method is None:
            return None
        values = {**_given(self, TrainingFields), **_given(self, OutputFields)}
        defaults = {f.name: f.default for f in fields(self)}
        return with_settings(method, {name: value for name, value in values.items() if value != defaults[name]})

    def _settings(self) -> Settings:
        return Settings(task=self._task, **_given(self, TrainingFields))

    def _output(self) -> Output:
        given = _given(self, OutputFields)
        if self.method == "mvgrl":
            given["preset"] = "paper"
        output = Output(**given)
        output.for_task(self._task)  # rejects options that do not fit; open ones depend on the graph
        return output

    def _container(self) -> str:
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        check_container(kind)
        return str(kind)

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")

    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: parameters that differ from their defaults, and the results of training."""
        defaults = {f.name: f.default for f in fields(self)}
        given = {name: value for name, value in self.get_params(deep=False).items() if value is not defaults[name]}
        changed = {name: repr(value) for name, value in given.items() if repr(value) != repr(defaults[name])}
        sections: dict[str, Mapping[str, object]] = {"Parameters": changed}
        if hasattr(self, "trained_"):
            sections["Fitted"] = self._summary()
            sections["Chosen"] = self.choices_
            sections["Notes"] = {str(i): note for i, note in enumerate(self.notes_, 1)}
        state = "" if hasattr(self, "trained_") else " (not fitted)"
        return as_html(f"{type(self).__name__}{state}", sections)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        page = {"text/html": self._repr_html_inner()} if get_config()["display"] == "diagram" else {}
        return {"text/plain": repr(self)} | page

    def _summary(self) -> dict[str, object]:
        about = {name: value for name, value in self.about_.items() if name != "notes"}
        length = len(self.get_feature_names_out())
        rows = f"{len(self.embedding_):,} × " if hasattr(self, "embedding_") else "vectors of "
        best = f", lowest loss {min(self.history_):.4f}" if self.history_ else ""
        return {**about, "vectors": f"{rows}{length}", "epochs": f"{len(self.history_)}{best}"}


def _given(embedder: _Embedder, group: type[OutputFields | TrainingFields]) -> dict[str, Any]:
    return {f.name: getattr(embedder, f.name) for f in fields(group)}


def _check_ignored(y: Any) -> None:
    """Reject features and node tables given as labels; in other libraries they are the second argument."""
    if y is None:
        return
    shape = y.shape if dimensions(y) else None
    if shape is None and isinstance(y, Sequence) and not isinstance(y, (str, bytes)):
        nested = any(hasattr(value, "__len__") and not isinstance(value, (str, bytes)) for value in y)
        shape = (len(y), "…") if nested else (len(y),)
    if shape is None or len(shape) != 1:
        what = f"a {type(y).__name__}" if shape is None else f"of shape ({', '.join(map(str, shape))})"
        raise InputError(
            f"y is {what}, and only a one-dimensional y (labels, which are ignored) is accepted; to give features or a "
            "table of nodes, use fit(graph, features=X) or fit((graph, X))"
        )


def _warn(notes: Iterable[str]) -> None:
    """Warn once per note, at the calling line outside this package and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("mvgrl.", "sklearn.")):
        frame, level = frame.f_back, level + 1
    for note in notes:
        warnings.warn(note, GraphWarning, stacklevel=level)


class NodeEmbedder(_Embedder):
    """Learn a vector per node of a graph.

    A parameter that is "auto" or None is chosen for the graph, exactly as in ``mvgrl embed``.

    Attributes
    ----------
    embedding_ : array of shape (nodes, dimensions)
        The vectors. Their components are ordered in blocks: the first 64, 128 or 256 are the best vector of that
        length. Do not scale all components to the same variance: the least important ones would count as much as the
        first.
    ids_ : array of shape (nodes,)
        The ids of the nodes, in the same order.
    choices_ : dict
        What was chosen automatically and why, and what the vectors are made of.
    notes_ : list of str
        What was changed when the graph was read; ``fit`` also issues each note as a warning.
    history_ : list of float
        The loss of every epoch.

    Examples
    --------
    >>> import networkx as nx
    >>> embedder = NodeEmbedder(dim=16, epochs=5).fit(nx.les_miserables_graph())
    >>> embedder.embedding_.shape
    (77, 16)
    >>> embedder.vectors().loc["Valjean"].shape
    (16,)
    """

    _task = "node"


class GraphEmbedder(_Embedder):
    """Learn a vector per graph from many graphs.

    A list of graphs can be indexed, so this works in pipelines and grid searches. A parameter that is "auto" or None is
    chosen for the graphs, exactly as in ``mvgrl embed``.

    Attributes
    ----------
    embedding_ : array of shape (graphs, dimensions)
        The vectors.
    ids_ : array of shape (graphs,)
        The ids of the graphs, in the same order.
    choices_ : dict
        What was chosen automatically and why, and what the vectors are made of.
    notes_ : list of str
        What was changed when the graphs were read; ``fit`` also issues each note as a warning.
    history_ : list of float
        The loss of every epoch.

    Examples
    --------
    >>> import networkx as nx
    >>> graphs = [nx.gnp_random_graph(10, 0.3, seed=seed) for seed in range(6)]
    >>> GraphEmbedder(dim=4, epochs=2).fit_transform(graphs).shape
    (6, 4)
    """

    _task = "graph"


def load(folder: str | Path, *, device: str = "auto") -> NodeEmbedder | GraphEmbedder:
    """Read the fitted embedder that ``save`` wrote; its ``transform`` gives bit-identical vectors."""
    from mvgrl.method_vectors import is_method_folder, load_vectors

    kinds = {"node": NodeEmbedder, "graph": GraphEmbedder}
    if is_method_folder(folder):
        found, known = load_vectors(folder)
        made = kinds[found.settings.task](device=device, method=found.method)
        made._take(found, known)
        return made
    trained, output, about = load_model(folder, device=device)
    settings = trained.model.settings
    kind = kinds[settings.task]
    values = {f.name: getattr(settings, f.name) for f in fields(TrainingFields)}
    embedder = kind(device=device, **values, **{f.name: getattr(output, f.name) for f in fields(OutputFields)})
    embedder._take(trained, about)
    return embedder

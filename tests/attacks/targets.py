"""Every reader and loader as a function of a seed's folder: it must succeed, or raise an error of the package."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.attacks.objects import odd_matrix, odd_object
from tests.attacks.seeds import MODELS, SETTINGS, VIEWS, Seed, graph

from mvgrl.cli.configuration import RUN, read_config
from mvgrl.errors import CheckpointError, MVGRLError
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.recipes import load_recipe
from mvgrl.experiments.reproduce import overview
from mvgrl.experiments.summary import summarise
from mvgrl.graphs import Graph
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.read import read
from mvgrl.pretrained import load_model
from mvgrl.reports.report import write_report
from mvgrl.settings import Output, Settings
from mvgrl.tables.embeddings import read_embeddings, write_embeddings
from mvgrl.tables.labels import labels_for, read_labels, read_split, splits_for
from mvgrl.training import fit
from mvgrl.views import ViewCache

Target = Callable[[Path, Seed], None]


def read_graph(folder: Path, seed: Seed) -> None:
    """Read a graph file or folder; whatever is accepted has finite weights and features, and unique ids."""
    nodes = seed.options.get("nodes")
    named = read(folder / seed.entry, nodes=None if nodes is None else folder / nodes)
    _check_graph(named.graph)
    assert len(named.node_ids) == named.graph.nodes
    if named.graph_ids is None:
        assert len(set(named.node_ids.tolist())) == named.graph.nodes, "ids are not unique"


def embeddings(folder: Path, seed: Seed) -> None:
    """Read vectors, and write what was read."""
    found = read_embeddings(folder / seed.entry)
    assert np.isfinite(found.vectors).all()
    write_embeddings(folder / "again.csv", found)


def labels(folder: Path, seed: Seed) -> None:
    found = read_labels(folder / seed.entry)
    labels_for(_vectors(), found)


def split(folder: Path, seed: Seed) -> None:
    splits_for(_vectors(), read_split(folder / seed.entry))


def config(folder: Path, seed: Seed) -> None:
    """Read settings, and check them as ``mvgrl train --config`` does."""
    values = {key: value for key, value in read_config(folder / seed.entry).items() if key not in RUN}
    output = {key: values.pop(key) for key in Output.__dataclass_fields__ if key in values}
    Output.from_dict(output)
    Settings.from_dict(values)


def recipe(folder: Path, seed: Seed) -> None:
    for setting in ("best", "paper"):
        found = load_recipe("cora", setting, table="node-clustering", folder=folder)
        assert len(found.id) == 12


def ledger(folder: Path, seed: Seed) -> None:
    """Read a ledger, and summarise it as ``mvgrl reproduce`` does."""
    runs = Ledger(folder / seed.entry)
    for run in runs:
        assert isinstance(run.key, tuple)
    for name, dataset in (("node-classification", "cora-linqs"), ("graph-classification", "mutag")):
        for row in summarise(EXPERIMENTS[name], runs, [dataset], runs=2):
            row.to_dict()
    with only("graph-classification"):
        overview(runs, datasets=["mutag"], runs=2)


def report(folder: Path, seed: Seed) -> None:
    """Write the report on a ledger as a web page; nothing in it may become markup."""
    write_report(folder / "report.html", folder / seed.entry)
    assert "<script>alert" not in (folder / "report.html").read_text(encoding="utf-8")


def model(folder: Path, seed: Seed) -> None:
    """Load a model; if it loads, its vectors are finite."""
    loaded = load_model(folder, device="cpu")
    vectors = loaded.trained.vectors(MODELS[seed.options["which"]][0](), loaded.output)
    assert np.isfinite(vectors).all(), "vectors are not finite"


def checkpoint(folder: Path, seed: Seed) -> None:
    """Resume a run; it ends with finite losses, or is refused as a checkpoint."""
    try:
        trained = fit(graph(), SETTINGS, device="cpu", checkpoint=folder / seed.entry, resume=True)
    except MVGRLError as error:
        if not isinstance(error, CheckpointError):
            raise AssertionError(f"{type(error).__name__}: {error}") from None
        raise
    losses = trained.history.losses
    assert len(losses) <= SETTINGS.epochs, f"{len(losses)} losses"
    assert np.isfinite(losses).all(), "losses are not finite"
    assert np.isfinite(trained.vectors()).all(), "vectors are not finite"


@cache
def fresh_view(number: int) -> Any:
    return VIEWS[number](graph())


def views(folder: Path, seed: Seed) -> None:
    """Ask a damaged cache for a view: it is the computed one, bit for bit."""
    number = int(seed.options["view"])
    found, computed = ViewCache(folder).get(VIEWS[number], graph()), fresh_view(number)
    assert type(found) is type(computed), "the view has another type"
    parts = [(found, computed)]
    if sp.issparse(computed):
        parts = [(getattr(found, part), getattr(computed, part)) for part in ("data", "indices", "indptr")]
    for mine, other in parts:
        same = mine.dtype == other.dtype and mine.shape == other.shape and mine.tobytes() == other.tobytes()
        assert same, "the view has other values than a computed one"


def scipy_matrix(folder: Path, seed: Seed) -> None:
    """Convert a sparse matrix whose arrays contradict each other, as a graph or as features."""
    rng = random.Random((folder / seed.entry).read_bytes())
    matrix = odd_matrix(rng)
    if rng.random() < 0.5:
        _check_graph(Graph.from_scipy(matrix))
    else:
        _check_graph(Graph.from_edges([0], [1], nodes=matrix.shape[0], features=matrix))


def objects(folder: Path, seed: Seed) -> None:
    """Convert odd objects of pandas, Arrow, NetworkX, PyG, NumPy and Python."""
    try:
        made = odd_object(random.Random((folder / seed.entry).read_bytes()))
    except (TypeError, ValueError):  # pandas itself refuses to hold some of the values
        return
    _check_graph(to_named(made).graph)


def _check_graph(found: Graph) -> None:
    weights = found.adjacency.data
    assert np.isfinite(weights).all(), "weights are not finite"
    assert (weights > 0).all(), "weights are not positive"
    assert found.adjacency.indices.max(initial=0) < found.nodes
    if found.features is not None:
        values = found.features.data if sp.issparse(found.features) else np.asarray(found.features)
        assert np.isfinite(values).all(), "features are not finite"
        assert found.features.shape[0] == found.nodes


def _vectors() -> Any:
    from mvgrl.tables.embeddings import Embeddings

    return Embeddings(np.arange(4), np.ones((4, 2), np.float32))


@contextmanager
def only(*names: str) -> Iterator[None]:
    """Limit the catalogue to some experiments: the whole takes seconds."""
    kept = dict(EXPERIMENTS)
    for name in set(kept) - set(names):
        del EXPERIMENTS[name]
    try:
        yield
    finally:
        EXPERIMENTS.clear()
        EXPERIMENTS.update(kept)


GRAPHS = ("edges", "nodes", "graphml", "gml", "matrix", "features", "tu", "planetoid")
TARGETS: dict[str, Target] = {
    **dict.fromkeys(GRAPHS, read_graph),
    **dict(embeddings=embeddings, labels=labels, split=split, config=config, recipe=recipe, ledger=ledger),
    **dict(model=model, checkpoint=checkpoint, views=views, scipy=scipy_matrix, objects=objects, report=report),
}
# How often each is chosen; the slow ones less often.
WEIGHTS = {**dict.fromkeys(TARGETS, 100), "model": 60, "checkpoint": 60, "ledger": 20, "report": 0.5}

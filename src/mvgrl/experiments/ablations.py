"""The paper's ablations, and sweeps beyond them: the recipe of each dataset with one thing changed, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.errors import SettingsError, check_name
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.published import GRAPH_DATASETS
from mvgrl.experiments.published_ablations import DATASETS, PUBLISHED
from mvgrl.experiments.recipes import Recipe, load_recipe
from mvgrl.experiments.runs import spread
from mvgrl.settings import Settings
from mvgrl.views import VIEWS, Distance, View, resolve_view
from mvgrl.views.diffusion import Diffusion

_RUNS = {**dict.fromkeys(GRAPH_DATASETS, 3), "reddit-binary": 1}  # of a row; five where nothing is said
METRICS = {"node": "accuracy", "graph": "nested"}
NODES = DATASETS[:3]
LARGE = ("pubmed", "reddit-binary")  # whose whole distances, or clusters, would not fit
_KEPT = 64  # entries of a row of their distances
LABELS, CONTROL = "sweep-labels", "propagated"  # whose rows share their vectors: see few_labels.py
_SHARES = (0.5, 1, 2, 5, 10, 20, 50, 100)  # percent
_CARRIED = ("method", "top_k", "threshold", "epsilon", "scale")  # from the recipe's diffusion to the others


@dataclass(frozen=True)
class Ablation:
    """Rows of settings that differ from a dataset's recipe; views by name, to be sparsified as the recipe's are.

    ``diffusion`` is a view with some of its parameters, in place of the recipe's view of that name or, where it has
    none, of its diffusion; all else of it is the recipe's.
    """

    name: str  # as given to reproduce
    title: str
    rows: Mapping[str, Mapping[str, Any]]  # as the paper calls them
    datasets: tuple[str, ...] = DATASETS
    only: Mapping[str, str] = field(default_factory=dict)  # rows of one task: node or graph
    notes: Mapping[str, str] = field(default_factory=dict)  # what is to be said of a row
    about: str = ""  # what is to be said of all rows
    axis: str = ""  # what the rows are values of, in their order: a sweep; a value's control has its name and ", …"

    def rows_of(self, task: str) -> list[str]:
        """The rows that there are for a task.

        >>> ABLATIONS["ablation-batch-size"].rows_of("node")
        ['2', '4', '8']
        """
        return [row for row in self.rows if self.only.get(row, task) == task]


_PLAIN = dict(norm="none", dropout=0.0, noise=0.0, l2=0.0)
_SILENT = "the paper names no strength; {} here"
_ALL = (
    Ablation(
        "ablation-bounds",
        "The bound on mutual information",
        {
            "NCE": dict(bound="nce"),
            "JSD": dict(bound="jsd"),
            "NT-Xent": dict(bound="nt-xent"),
            "DV": dict(bound="dv"),
        },
    ),
    Ablation(
        "ablation-modes",
        "The contrast mode",
        {
            "local-global": dict(mode="local-global"),
            "global": dict(mode="global"),
            "multi-scale": dict(mode="multi-scale", readout="diffpool-2"),
            "hybrid": dict(mode="hybrid"),
            "ensemble": dict(mode="ensemble"),
        },
        only={"global": "graph", "hybrid": "graph"},
    ),
    Ablation(
        "ablation-views",
        "The pair of views",
        {
            "adj-ppr": dict(views=("adjacency", "ppr")),
            "adj-heat": dict(views=("adjacency", "heat")),
            "adj-dist": dict(views=("adjacency", "distance")),
            "ppr-heat": dict(views=("ppr", "heat")),
            "ppr-dist": dict(views=("ppr", "distance")),
            "heat-dist": dict(views=("heat", "distance")),
        },
    ),
    Ablation(
        "ablation-readouts",
        "The readout",
        {name: dict(readout=name) for name in ("sum", "mean", "diffpool-1", "diffpool-2")},
    ),
    Ablation(
        "ablation-encoders",
        "The encoders",
        {
            "shared": dict(encoder="shared", draw_two_views=False),
            "dedicated": dict(encoder="dedicated", draw_two_views=False),
            "shared, two of four views at random": dict(
                encoder="shared", draw_two_views=True, views=("adjacency", "ppr", "heat", "distance")
            ),
        },
        notes={"shared, two of four views at random": "two views a sample in training; the vectors join all four"},
    ),
    Ablation(
        "ablation-view-count",
        "The number of views",
        {"2": dict(views=("adjacency", "ppr")), "3": dict(views=("adjacency", "ppr", "heat"))},
        NODES,
    ),
    Ablation(
        "ablation-batch-size",
        "The size of a batch",
        {
            **{str(size): dict(sampler="nodes", sample_size=2000, batch_size=size) for size in (2, 4, 8)},
            **{str(size): dict(batch_size=size) for size in (16, 32, 64, 128, 256)},
        },
        only={str(2**power): "node" if power < 4 else "graph" for power in range(1, 9)},
        axis="batch size",
    ),
    Ablation(
        "ablation-negatives",
        "The negatives",
        {
            "permuted features": dict(negatives="features"),
            "corrupted adjacency": dict(negatives="adjacency"),
            "both": dict(negatives="both"),
        },
        NODES,
    ),
    Ablation(
        "ablation-regularisers",
        "Normalisation and regularisers",
        {
            "none": _PLAIN,
            "BatchNorm": {**_PLAIN, "norm": "batch"},
            "LayerNorm": {**_PLAIN, "norm": "layer"},
            "dropout": {**_PLAIN, "dropout": 0.5},
            "noise": {**_PLAIN, "noise": 0.1},
            "L2": {**_PLAIN, "l2": 0.0005},
        },
        notes={row: _SILENT.format(value) for row, value in {"dropout": 0.5, "noise": 0.1, "L2": 0.0005}.items()},
    ),
    Ablation(
        "sweep-alpha",
        "The α of ppr",
        {f"{alpha}": dict(diffusion=f"ppr:alpha={alpha}") for alpha in (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)},
        axis="α",
    ),
    Ablation(
        "sweep-t",
        "The time of heat",
        {f"{time}": dict(diffusion=f"heat:t={time}") for time in (1, 2, 5, 10, 20)},
        axis="t",
    ),
    Ablation(
        "sweep-top-k",
        "The entries of ppr kept of a row",
        {f"{kept}": dict(diffusion=f"ppr:top_k={kept}") for kept in (8, 16, 32, 64, 128, 256)},
        about="Of a graph that has no more nodes, all entries are kept.",
        axis="entries of a row",
    ),
    Ablation(
        "sweep-hidden",
        "The hidden size",
        {f"{size}": dict(hidden=size) for size in (64, 128, 256, 512, 1024, 2048)},
        axis="hidden size",
    ),
    Ablation(
        "sweep-layers",
        "The number of layers",
        {f"{layers}": dict(layers=layers) for layers in (1, 2, 3, 4, 8)},
        only={"3": "node", "8": "graph"},
        axis="layers",
    ),
    Ablation(
        LABELS,
        "The share of labels to learn from",
        {f"{share:g} %{control}": {} for share in _SHARES for control in ("", f", {CONTROL}")},
        only={
            f"{share:g} %{control}": task
            for share, task in {0.5: "node", 1: "node", 50: "graph", 100: "graph"}.items()
            for control in ("", f", {CONTROL}")
        },
        about="Of nodes a share of all, drawn outside of the test nodes; of graphs a share of each training part. "
        "Propagated: the same labels, and features averaged over neighbours in place of the trained vectors.",
        axis="share of labels",
    ),
)
ABLATIONS: dict[str, Ablation] = {ablation.name: ablation for ablation in _ALL}


def recipes(ablation: Ablation, dataset: str, *, folder: Path | None = None) -> dict[str, Recipe]:
    """The rows that there are for a dataset, each with its settings; ``why`` says what else had to be changed.

    >>> [recipe.settings.bound for recipe in recipes(ABLATIONS["ablation-bounds"], "mutag").values()]
    ['nce', 'jsd', 'nt-xent', 'dv']
    """
    task = "graph" if dataset in GRAPH_DATASETS else "node"
    base = load_recipe(dataset, table=f"{task}-classification", folder=folder)
    found = {}
    for row in ablation.rows_of(task):
        settings, notes = _changed(base.settings, ablation.rows[row], dataset)
        if row in ablation.notes:
            notes.insert(0, ablation.notes[row])
        found[row] = replace(base, settings=settings, why="; ".join(notes), tables=(ablation.name,))
    return found


def table(
    ablation_name: str,
    ledger: Ledger,
    datasets: Sequence[str] | None = None,
    *,
    runs: int | None = None,
    folder: Path | None = None,
) -> list[dict[str, Any]]:
    """A dict a dataset and row, from the ledger alone; what was never run has none.

    A row all of whose runs failed has the reason as "failed", and no mean; one that lost some says so in its "note".
    """
    check_name("ablation", ablation_name, ABLATIONS, SettingsError)
    ablation = ABLATIONS[ablation_name]
    lines = [run for run in ledger if run.experiment == ablation_name]
    rows = []
    for dataset in ablation.datasets if datasets is None else datasets:
        for row, recipe in recipes(ablation, dataset, folder=folder).items():
            most = usual_runs(dataset) if runs is None else runs
            same = (dataset, recipe.setting, row)
            mine = [run for run in lines if run.key[1:4] == same and run.recipe == recipe.id and run.seed < most]
            if mine:
                rows.append({"dataset": dataset, "row": row, **_summary(ablation_name, row, recipe, mine)})
    return rows


def usual_runs(dataset: str) -> int:
    """How often a row is run on a dataset.

    >>> usual_runs("citeseer"), usual_runs("mutag"), usual_runs("reddit-binary")
    (5, 3, 1)
    """
    return _RUNS.get(dataset, 5)


def _summary(experiment: str, row: str, recipe: Recipe, mine: Sequence[Run]) -> dict[str, Any]:
    metric = METRICS[recipe.settings.task]
    done, failed = ([run for run in mine if bool(run.failed) == lost] for lost in (False, True))
    scores = np.array([run.scores[metric] for run in done])
    paper, deviation = PUBLISHED.get(experiment, {}).get(row, {}).get(recipe.dataset, (None, None))
    notes = [recipe.why] if recipe.why else []
    if done and failed:
        notes.append(f"{len(failed)} of {len(mine)} runs failed: {failed[0].failed}")
    return {
        "metric": metric,
        "mean": float(scores.mean()) if done else None,
        "std": spread(scores),
        "runs": len(done),
        "paper": paper,
        "paper_std": deviation,
        "seconds": float(np.mean([run.seconds for run in done or failed])),
        "failed": None if done else failed[0].failed,
        "note": "; ".join(notes) or None,
    }


def _changed(base: Settings, changes: Mapping[str, Any], dataset: str) -> tuple[Settings, list[str]]:
    """The settings with the changes in them, and with all that has to give way to them; and what that was."""
    notes = []
    kept = ("mode", "readout", "sampler", "draw_two_views", "codes")
    values: dict[str, Any] = {**{name: getattr(base, name) for name in kept}, **changes}
    if "diffusion" in values:
        values["views"], said = _with_diffusion(values.pop("diffusion"), base.views, dataset)
        notes += said
    elif "views" in changes:
        values["views"] = tuple(_view(name, base.views, dataset) for name in changes["views"])
        notes += [_sparsified(view) for view in values["views"] if view not in base.views and _is_sparse(view)]
    if values["mode"] == "multi-scale" and values["readout"] != "diffpool-2":
        values["mode"] = "local-global"
        notes.append("local-global, as this readout has no clusters for the recipe's multi-scale")
    few = len(values.get("views", base.views)) < 3
    if values["draw_two_views"] and "draw_two_views" not in changes and (few or values["mode"] == "ensemble"):
        values["draw_two_views"] = False  # there is nothing to be drawn
        notes.append("without the recipe's draw of two views")
    if values["draw_two_views"] and values["mode"] == "ensemble":
        values["mode"] = "local-global"
        notes.append("local-global, as two views are drawn to be contrasted")
    if base.task == "node" and values["readout"] == "diffpool-2" and values["sampler"] == "full" and dataset in LARGE:
        values |= dict(sampler="nodes", sample_size=2000, batch_size=1)  # n²/4 assignments a view
        notes.append("a sample of 2,000 nodes a step, as the whole graph has too many clusters")
    if "readout" in changes and values["codes"] == "layers":
        notes.append("vectors of every layer, as in the recipe: the readout is in the training alone")
    return replace(base, **values), notes


def _view(name: str, views: Sequence[View], dataset: str) -> View:
    """The recipe's own view of that name; or one that is sparsified as its diffusion is."""
    for view in views:
        if view.name == name:
            return view
    kind = VIEWS[name]
    if kind is Distance:  # a softmax has no entry that a diffusion's threshold would keep
        return Distance(top_k=_KEPT if dataset in LARGE else None)
    model = next((view for view in views if isinstance(view, Diffusion)), None)
    if model is None or not issubclass(kind, Diffusion):
        return kind()
    return kind(**{key: getattr(model, key) for key in _CARRIED})


def _with_diffusion(choice: str, views: Sequence[View], dataset: str) -> tuple[tuple[View, ...], list[str]]:
    """The recipe's views with this one's parameters, or with this one for their diffusion; and what else that is."""
    name, *given = choice.split(":")
    wanted: Any = resolve_view(choice)
    chosen = {parameter.partition("=")[0] for parameter in given}
    changes = {key: getattr(wanted, key) for key in chosen}
    start: Any = _view(name, views, dataset)
    new = replace(start, **(changes | ({"threshold": None} if "top_k" in chosen else {})))
    old = start if start in views else next((view for view in views if isinstance(view, Diffusion)), views[-1])
    notes = [] if start in views or not _is_sparse(new) else [_sparsified(new)]
    if start.threshold is not None and new.threshold is None:
        notes.append(f"in place of the recipe's entries from {start.threshold:g} up")
    return tuple(new if view == old else view for view in views), notes


def _is_sparse(view: View) -> bool:
    return any(getattr(view, key, None) not in (None, "none") for key in ("top_k", "threshold", "scale"))


def _sparsified(view: Any) -> str:
    parts = [] if view.top_k is None else [f"{view.top_k} largest entries of a row"]
    parts += [] if view.threshold is None else [f"entries from {view.threshold:g} up"]
    how = f"{view.name} sparsified: {', '.join(parts)}" if parts else view.name
    return how + (", columns scaled" if getattr(view, "scale", "none") == "columns" else "")

"""Apply changes to a recipe, and adjust the settings that conflict with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mvgrl.settings import Output, Settings, kinds
from mvgrl.views import VIEWS, Distance, View, resolve_view
from mvgrl.views.diffusion import Diffusion

LARGE = ("pubmed", "reddit-binary")  # their full distances, or clusters, would not fit into memory
_KEPT = 64  # entries per row of their distances
_CARRIED = ("method", "top_k", "threshold", "epsilon", "scale")  # copied from the recipe's diffusion


def changed(base: Settings, output: Output, changes: Mapping[str, Any], dataset: str) -> tuple[Settings, list[str]]:
    """Return the settings with the changes, and notes on what else had to be changed.

    Views are given by name, and sparsified like the recipe's. ``diffusion`` is a view with some of its parameters; it
    replaces the recipe's view of that name, or else its diffusion, and takes all other parameters from the recipe.
    """
    notes = []
    values: dict[str, Any] = {"draw_two_views": base.draw_two_views, **changes}
    mode: Any
    readout: Any
    sampler: Any
    mode, readout, sampler = (
        kinds()[name].resolve(name, values.get(name, getattr(base, name))) for name in ("mode", "readout", "sampler")
    )
    if "diffusion" in values:
        values["views"], more = _with_diffusion(values.pop("diffusion"), base.views, dataset)
        notes += more
    elif "views" in changes:
        values["views"] = tuple(_view(view, base.views, dataset) for view in changes["views"])
        notes += [_sparsified(view) for view in values["views"] if view not in base.views and _is_sparse(view)]
    if mode.needs_clusters and not readout.makes_clusters:
        values["mode"] = "local-global"
        notes.append("local-global instead of the recipe's multi-scale, which needs a readout with clusters")
    few = len(values.get("views", base.views)) < 3
    if values["draw_two_views"] and "draw_two_views" not in changes and (few or not mode.across_views):
        values["draw_two_views"] = False  # there is nothing to draw from
        notes.append("all views in every step; the recipe draws two at random")
    if values["draw_two_views"] and not mode.across_views:
        values["mode"] = "local-global"
        notes.append("local-global, because the recipe contrasts two views drawn at random")
    if base.task == "node" and readout.makes_clusters and not sampler.samples and dataset in LARGE:
        values |= dict(sampler="nodes", sample_size=2000, batch_size=1)  # n²/4 assignments per view
        notes.append("a sample of 2,000 nodes per step, because the full graph has too many clusters")
    if "readout" in changes and output.codes == "layers":
        notes.append("vectors of every layer, as in the recipe: the readout takes part in training only")
    return replace(base, **values), notes


def _view(choice: str | View, views: Sequence[View], dataset: str) -> View:
    """Return the recipe's view of that name, or a new one that is sparsified like the recipe's diffusion."""
    if isinstance(choice, View):
        return choice
    for view in views:
        if view.name == choice:
            return view
    kind = VIEWS[choice]
    if kind is Distance:  # a diffusion's threshold would remove every entry of a softmax
        return Distance(top_k=_KEPT if dataset in LARGE else None)
    model = next((view for view in views if isinstance(view, Diffusion)), None)
    if model is None or not issubclass(kind, Diffusion):
        return kind()
    return kind(**{key: getattr(model, key) for key in _CARRIED})


def _with_diffusion(choice: str, views: Sequence[View], dataset: str) -> tuple[tuple[View, ...], list[str]]:
    """Return the recipe's views with these parameters, or with this view as their diffusion; and notes."""
    name, *given = choice.split(":")
    wanted: Any = resolve_view(choice)
    chosen = {parameter.partition("=")[0] for parameter in given}
    changes = {key: getattr(wanted, key) for key in chosen}
    start: Any = _view(name, views, dataset)
    new = replace(start, **(changes | ({"threshold": None} if "top_k" in chosen else {})))
    old = start if start in views else next((view for view in views if isinstance(view, Diffusion)), views[-1])
    notes = [] if start in views or not _is_sparse(new) else [_sparsified(new)]
    if start.threshold is not None and new.threshold is None:
        notes.append(f"instead of the recipe's threshold of {start.threshold:g}")
    return tuple(new if view == old else view for view in views), notes


def _is_sparse(view: View) -> bool:
    return any(getattr(view, key, None) not in (None, "none") for key in ("top_k", "threshold", "scale"))


def _sparsified(view: Any) -> str:
    parts = [] if view.top_k is None else [f"{view.top_k} largest entries per row"]
    parts += [] if view.threshold is None else [f"entries of at least {view.threshold:g}"]
    how = f"{view.name} sparsified: {', '.join(parts)}" if parts else view.name
    return how + (", columns scaled" if getattr(view, "scale", "none") == "columns" else "")

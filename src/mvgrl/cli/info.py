"""``mvgrl info``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Source

if TYPE_CHECKING:
    from mvgrl.graphs.named import NamedGraph


def run(
    model_or_graph: str,
    /,
    *,
    source: Source = Source(),  # noqa: B008 (frozen)
    common: Common = Common(),  # noqa: B008
) -> None:
    """Describe a graph or a model.

    ```
    mvgrl info edges.csv --nodes nodes.csv
    mvgrl info cora-linqs
    mvgrl info model
    ```

    For a graph: sizes, components, degrees, features, labels, and what mvgrl embed would choose for it; for one that
    was imported, also its size on disk and in memory. For a model: what it was trained on, its settings, and how the
    training went.

    Parameters
    ----------
    model_or_graph
        A model's folder, or a graph as in mvgrl embed.
    """
    console = Console(common)

    from mvgrl.graphs.stored_files import is_stored

    if Path(model_or_graph, "config.json").exists():
        values = _model(Path(model_or_graph))
    else:
        from mvgrl.cli.inputs import open_graph

        on_disk = _on_disk(Path(model_or_graph)) if is_stored(model_or_graph) else {}
        values = on_disk if "degree" in on_disk else _graph(open_graph(model_or_graph, source, console)) | on_disk
    console.result(values, _as_text(values))


def _model(folder: Path) -> dict[str, Any]:
    from mvgrl.method_vectors import is_method_folder, load_vectors
    from mvgrl.pretrained import load_model, vector_summary

    if is_method_folder(folder):
        found, about = load_vectors(folder)
        return {
            **{"kind": "vectors of a method", "task": found.settings.task, "method": found.method.name},
            **({"parameters": found.method.parameters} if found.method.parameters else {}),
            **{"rows": len(found.found), "dim": found.found.shape[1]},
            **{"epochs": found.epochs, "about": about, "choices": found.choices},
        }
    trained, output, about = load_model(folder, device="cpu")
    losses, settings = trained.history.losses, trained.model.settings
    vector = vector_summary(settings, output, trained.composition)
    columns = trained.feature_encoder.columns_
    return {
        "kind": "model",
        "task": settings.task,
        "dim": vector["dim"],
        "variance_kept": vector["parts"],
        "features": trained.feature_encoder.width,
        **({} if columns is None else {"columns": columns.summary}),
        "parameters": sum(parameter.numel() for parameter in trained.model.parameters()),
        "epochs": len(losses),
        "first_loss": losses[0] if losses else None,
        "lowest_loss": trained.history.best_loss if losses else None,
        "about": about,
        "settings": settings.to_dict(),
        "output": output.to_dict(),
    }


def _on_disk(folder: Path) -> dict[str, Any]:
    """Describe an imported graph: its files and, if it is larger than memory, what can be said without reading it."""
    import numpy as np

    from mvgrl.graphs.stored import StoredGraph
    from mvgrl.runtime import machine_memory
    from mvgrl.tables.budget import as_size

    stored = StoredGraph.open(folder)
    files = {"on_disk": as_size(stored.size), "in_memory": as_size(stored.memory), "imported_with": stored.version}
    if stored.memory <= machine_memory():
        return files
    degrees = np.diff(stored.indptr)
    mean = round(2 * stored.edges / stored.nodes, 2)
    return {
        **{"kind": "graph", "nodes": stored.nodes, "edges": stored.edges, "graphs": stored.count},
        "degree": {"min": int(degrees.min()), "mean": mean, "max": int(degrees.max())},
        **{"isolated_nodes": int((degrees == 0).sum()), "weighted": stored.weighted, "features": stored.width},
        "ids": f"{stored.ids(0, 1)[0]} … {stored.ids(stored.nodes - 1)[0]}",
        **({"notes": list(stored.notes)} if stored.notes else {}),
        **files,
    }


def _graph(named: NamedGraph) -> dict[str, Any]:
    import numpy as np
    from scipy.sparse.csgraph import connected_components

    from mvgrl.automatic import resolve, resolve_output
    from mvgrl.cli.inputs import notes_of
    from mvgrl.errors import MVGRLError
    from mvgrl.evaluation.checks import is_known
    from mvgrl.settings import Output
    from mvgrl.vectors import describe

    graph = named.graph
    count, component = connected_components(graph.adjacency, directed=False)
    degrees = graph.degrees
    values: dict[str, Any] = {
        "kind": "graph",
        "nodes": graph.nodes,
        "edges": graph.edges,
        "graphs": graph.count,
        "components": int(count),
        "largest_component": int(np.bincount(component).max()),
        "degree": {"min": int(degrees.min()), "mean": round(float(degrees.mean()), 2), "max": int(degrees.max())},
        "isolated_nodes": int((degrees == 0).sum()),
        "weighted": bool((graph.adjacency.data != 1).any()),
        "features": 0 if graph.features is None else int(graph.features.shape[1]),
        "ids": f"{named.node_ids[0]} … {named.node_ids[-1]}",
    }
    if named.sides is not None:
        values["sides"] = {side: int((named.sides == side).sum()) for side in sorted(set(named.sides.tolist()))}
    if named.labels is not None:
        known = named.labels[is_known(named.labels)]
        classes, counts = np.unique(known, return_counts=True)
        values["labels_of"] = named.labels_of
        values["unlabelled"] = len(named.labels) - len(known)
        if len(classes) <= 50:
            values["classes"] = {str(name): int(number) for name, number in zip(classes, counts, strict=True)}
        else:
            values["distinct_labels"] = len(classes)
    if notes := notes_of(named):
        values["notes"] = notes
    try:
        resolved = resolve(graph)
        rows = graph.nodes if resolved.settings.task == "node" else graph.count
        output = resolve_output(graph, resolved.settings, Output(), choices=resolved.choices)
        values["picks"] = [*resolved.choices.values(), describe(resolved.settings, output, rows)]
    except MVGRLError as error:
        values["picks"] = [str(error)]
    return values


def _as_text(values: dict[str, Any], indent: str = "") -> str:
    lines = []
    titles = {f"{indent}{key.replace('_', ' ')}": value for key, value in values.items()}
    width = max([20, *(len(title) for title, value in titles.items() if not isinstance(value, dict | list))])
    for title, value in titles.items():
        if isinstance(value, dict):
            lines += [title, _as_text(value, indent + "  ")]
        elif isinstance(value, list):
            lines += [title, *(f"{indent}  {_plain(item)}" for item in value)]
        else:
            lines.append(f"{title:<{width}} {_plain(value)}")
    return "\n".join(lines)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(str(one) if key == "name" else f"{key}={one}" for key, one in value.items() if one is not None)
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)

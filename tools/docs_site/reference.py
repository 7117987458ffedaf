"""The reference: the Python interface from its docstrings, and the command line from the program itself."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

# The pages of the interface: a title, an introduction, and names. A module stands for the names in its __all__.
API = {
    "embedders": (
        "Embedders",
        "The scikit-learn interface: learn vectors, get them with their ids, save and load.",
        ("mvgrl.NodeEmbedder", "mvgrl.GraphEmbedder", "mvgrl.load"),
    ),
    "training": (
        "Training",
        "What the embedders are made of, for full control of settings, seeds and checkpoints.",
        (
            *("mvgrl.fit", "mvgrl.Trained", "mvgrl.Settings", "mvgrl.Output"),
            *("mvgrl.history.History", "mvgrl.history.Epoch", "mvgrl.progress.ProgressBar"),
            *("mvgrl.recording.HistoryFile", "mvgrl.recording.TensorBoard"),
        ),
    ),
    "graphs": (
        "Graphs",
        "Graphs in memory and on disk, and how other objects and files become graphs.",
        (
            *("mvgrl.Graph", "mvgrl.graphs.named.NamedGraph", "mvgrl.graphs.convert.to_named"),
            *("mvgrl.graphs.read.read", "mvgrl.graphs.importing.import_tables", "mvgrl.graphs.stored.StoredGraph"),
        ),
    ),
    "outofcore": (
        "Graphs larger than memory",
        "The work of the shell on a graph on disk, from Python.",
        ("mvgrl.outofcore.embed",),
    ),
    "views": (
        "Views",
        "A view is a matrix of the weights with which each node aggregates others.",
        ("mvgrl.views",),
    ),
    "datasets": ("Datasets", "The named benchmark datasets.", ("mvgrl.datasets",)),
    "vectors": (
        "Using vectors",
        "Files of vectors, nearest neighbours, clusters and maps.",
        (
            *("mvgrl.tables.embeddings.Embeddings", "mvgrl.tables.embeddings.read_embeddings"),
            *("mvgrl.tables.embeddings.write_embeddings", "mvgrl.neighbors.nearest", "mvgrl.neighbors.Neighbors"),
            *("mvgrl.clusters.find_clusters", "mvgrl.clusters.Clusters", "mvgrl.clusters.central_rows"),
            *("mvgrl.reports.project", "mvgrl.reports.embedding_map", "mvgrl.reports.draw_map"),
        ),
    ),
    "evaluation": ("Evaluation", "Arrays in, scores out.", ("mvgrl.evaluation",)),
    "errors": (
        "Errors",
        "What mvgrl raises on purpose. The message is one line: the thing, the place, and the remedy.",
        tuple(
            f"mvgrl.errors.{name}"
            for name in (
                *("MVGRLError", "InputError", "SettingsError", "CheckpointError", "MachineError", "GraphWarning"),
            )
        ),
    ),
}


def api_pages() -> dict[str, str]:
    """Return the pages of the Python interface, by name; Sphinx fills in the docstrings."""
    pages = {f"api/{page}": _api_page(*found) for page, found in API.items()}
    rows = [f"| [{title}]({page}.md) | {about} |" for page, (title, about, _) in API.items()]
    tree = "```{toctree}\n:hidden:\n\n" + "\n".join(API) + "\n```\n"
    pages["api/index"] = "\n".join(["# Python interface", "", "| | |", "|---|---|", *rows, "", tree])
    return pages


def _api_page(title: str, about: str, names: tuple[str, ...]) -> str:
    lines = [f"# {title}", "", about, ""]
    for name in names:
        for one in _expanded(name):
            lines += ["```{eval-rst}", *_directive(one), "```", ""]
    return "\n".join(lines)


def _expanded(name: str) -> list[str]:
    """Return the public names of a module, and anything else as it is."""
    thing = _thing(name)
    return [f"{name}.{one}" for one in thing.__all__] if isinstance(thing, ModuleType) else [name]


def _directive(name: str) -> list[str]:
    """Return the lines that make Sphinx show a thing; of a dict, its keys."""
    thing = _thing(name)
    if isinstance(thing, dict):
        module, _, last = name.rpartition(".")
        keys = ", ".join(f"``{key!r}``" for key in thing)
        return [f".. py:data:: {last}", f"   :module: {module}", "", f"   A dict with the keys {keys}."]
    if not isinstance(thing, type):
        return [f".. autofunction:: {name}"]
    if hasattr(thing, "get_params"):  # an embedder has some forty parameters, which are described one by one
        return [f".. autoclass:: {name}(**parameters)", "   :members:", "   :inherited-members:"]
    bases = ["   :show-inheritance:"] if issubclass(thing, Exception) else []
    return [f".. autoclass:: {name}", "   :members:", *bases]


def _thing(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def command_line() -> str:
    """Return the page of all verbs with their flags, as the program describes them."""
    from mvgrl.cli import make_app

    arguments, sys.argv = sys.argv, ["mvgrl"]  # the program that the lines of usage name
    try:
        text = make_app().generate_docs(heading_level=1)
    finally:
        sys.argv = arguments
    text = text.replace("```console\n", "```sh\n")
    text = re.sub(r"^## Table of Contents\n.*?(?=^\*\*)", "", text, count=1, flags=re.DOTALL | re.MULTILINE)
    return text.replace("# mvgrl\n", "# Command line\n", 1)


def module_sources() -> Path:
    """Return the folder to import mvgrl from."""
    return Path(__file__).resolve().parents[2] / "src"

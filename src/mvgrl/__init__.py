"""Self-supervised representations of graphs by contrasting two structural views.

>>> import mvgrl
>>> graph = mvgrl.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
>>> mvgrl.fit(graph, mvgrl.Settings(hidden=16, epochs=5)).vectors(output=mvgrl.Output(dim=2)).shape
(4, 2)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mvgrl.embedders import GraphEmbedder, NodeEmbedder, load
    from mvgrl.graphs import Graph
    from mvgrl.settings import Output, Settings
    from mvgrl.training import Trained, fit

__version__ = "0.2.0"
__all__ = ["Graph", "GraphEmbedder", "NodeEmbedder", "Output", "Settings", "Trained", "__version__", "fit", "load"]

_HOMES = {
    "Graph": "graphs",
    "Output": "settings",
    "Settings": "settings",
    "Trained": "training",
    "fit": "training",
    "NodeEmbedder": "embedders",
    "GraphEmbedder": "embedders",
    "load": "embedders",
}
_PARTS = ("datasets", "errors", "evaluation", "graphs", "views")


def __getattr__(name: str) -> Any:
    # PyTorch takes seconds to import, and neither the version nor --help needs it.
    if name not in (*_HOMES, *_PARTS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted((*__all__, *_PARTS))

"""The registry of named datasets: find one on this machine, or download it, and read it."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import pkgutil
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Literal

from mvgrl.datasets import sources
from mvgrl.datasets.base import Dataset, DatasetInfo, Progress, has_files
from mvgrl.datasets.download import download as fetch
from mvgrl.errors import InputError, check_name

logger = logging.getLogger(__name__)


def collect() -> dict[str, DatasetInfo]:
    """Every entry of the modules in ``sources``, by name."""
    names = [module.name for module in pkgutil.iter_modules(sources.__path__, f"{sources.__name__}.")]
    return {entry.name: entry for name in names for entry in importlib.import_module(name).ENTRIES}


DATASETS = collect()


@dataclass(frozen=True)
class Found:
    """Where a dataset's files are on this machine."""

    folder: Path
    source: str  # the same on every machine: a folder inside the data folder or cache, or a package with its version
    kind: Literal["data folder", "package", "cache"]


def load(
    name: str,
    data_root: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Read a dataset by name from where :func:`find` finds it; if it is not on this machine, download it first.

    The download goes into the data folder if there is one, else into the cache. ``progress`` is called while it runs
    with the number of bytes so far, the total (or None) and the file name.

    >>> load("mutag").graph.count
    188
    """
    info = DATASETS[canonical(name)]
    found = find(info.name, data_root)
    if found is None:
        root = _root(data_root)
        if not download or info.url is None:
            raise InputError(_missing(info, root))
        found = _cached(info) if root is None else Found(root / info.folder, info.folder, "data folder")
        fetch(info, found.folder, progress=progress)
    return _read(info, found)


def find(name: str, data_root: str | os.PathLike[str] | None = None) -> Found | None:
    """Where a dataset's files are on this machine, or None; nothing is read or downloaded.

    First ``data_root`` (by default the folder in ``MVGRL_DATA``) is searched, then the package that contains the
    dataset, which is located but not imported, then the cache of earlier downloads.

    >>> find("mutag").kind in ("data folder", "package", "cache")
    True
    """
    info, root = DATASETS[canonical(name)], _root(data_root)
    if root is not None and _is_there(info, root / info.folder):
        return Found(root / info.folder, info.folder, "data folder")
    if info.package is not None:
        package, inside = info.package
        spec = importlib.util.find_spec(package)
        for location in (spec and spec.submodule_search_locations) or ():
            if has_files(Path(location) / inside):
                return Found(Path(location) / inside, f"{package} {metadata.version(package)}: {inside}", "package")
    cached = _cached(info)
    return cached if _is_there(info, cached.folder) else None


def canonical(name: str) -> str:
    """The name a dataset is listed under, from any spelling of it.

    >>> canonical("PTC_MR")
    'ptc-mr'
    """
    key = str(name).lower().replace("_", "-")
    check_name("dataset", key, DATASETS, InputError)
    return key


def cache_folder() -> Path:
    """The folder for downloads if no data folder is given."""
    import platformdirs

    return platformdirs.user_cache_path("mvgrl") / "datasets"


def _root(data_root: str | os.PathLike[str] | None) -> Path | None:
    given = data_root if data_root is not None else os.environ.get("MVGRL_DATA")
    return Path(given) if given else None


def _cached(info: DatasetInfo) -> Found:
    return Found(cache_folder() / info.folder, f"cache: {info.folder}", "cache")


def _is_there(info: DatasetInfo, folder: Path) -> bool:
    """Whether a folder has a dataset's files; one that cannot be downloaded may share its folder with others."""
    return has_files(folder) and (info.url is not None or any((folder / file).exists() for file in info.files))


def _missing(info: DatasetInfo, root: Path | None) -> str:
    files = " and ".join(info.files) if info.url is None else "its files"
    where = f"put {files} into {root / info.folder}" if root else f"put {files} into {info.folder} of a folder"
    where += "" if root else " and name the folder in data_root or the environment variable MVGRL_DATA"
    if info.url is None:
        why = f"is not on this machine and cannot be downloaded: {where}; its files come from {info.provenance}"
        return f"the dataset {info.name!r} {why}"
    return f"the dataset {info.name!r} is not on this machine: allow the download, or {where}{info.package_hint}"


def _read(info: DatasetInfo, found: Found) -> Dataset:
    """Read the dataset in a folder; if it is damaged, the error says how to replace it."""
    remedy = {"cache": f"; remove {found.folder} and it will be downloaded again", "package": "; reinstall the package"}
    try:
        contents = info.read(found.folder)
    except InputError as error:
        raise InputError(f"{error}{remedy.get(found.kind, '')}") from None
    graph = contents.graph
    counts, published = (graph.count, graph.nodes, graph.edges), (info.graphs, info.nodes, info.edges)
    if counts != published:
        message = (
            "%s has %d graphs, %d nodes and %d edges, but the published dataset has %d, %d and %d; is it truncated?"
        )
        logger.warning(message, found.folder, *counts, *published)
    named = {"splits": contents.splits, "classes": contents.classes, "source": found.source, "texts": contents.texts}
    graph = replace(graph, notes=())  # users of a published dataset know how it is read
    return Dataset(info.name, graph, contents.target, info.task, **named)  # type: ignore[arg-type]

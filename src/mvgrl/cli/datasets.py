"""``mvgrl datasets``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, flag

_DOWNLOADED = "no; downloaded when first used"


def run(
    *,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """List the named datasets, where each comes from, and whether it is on this machine.

    ```
    mvgrl datasets
    mvgrl datasets --data-root data --json
    ```

    A dataset that is not in the data folder, an installed package or the cache is downloaded when it is first used,
    where that is possible.
    """
    console = Console(common)

    from mvgrl.datasets import DATASETS, find

    rows = []
    for name, info in DATASETS.items():
        found = find(name, data_root)
        here = None if found is None else f"{found.kind} ({found.source})"
        rows.append({"name": name, "task": info.task, "size": info.size, "here": here, "from": info.citation})
    lines = []
    for row in rows:
        lines.append(f"{row['name']:<14} {row['task']:<6} {row['size']}")
        info = DATASETS[str(row["name"])]
        absent = f"no; put its files into {info.folder} of a data folder" if info.url is None else _DOWNLOADED
        lines += [f"  here: {row['here'] or absent}", f"  from: {row['from']}"]
    console.result({"datasets": rows}, "\n".join(lines))

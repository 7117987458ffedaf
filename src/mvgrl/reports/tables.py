"""Tables of the ledger in Markdown, and the pages that carry them kept to it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.node_tables import EXPERIMENTS, table
from mvgrl.experiments.published import NODE_DATASETS
from mvgrl.experiments.recipes import NAMED, load_recipe

# <!-- table node-classification best --> … <!-- end -->: what stands between is written from the ledger.
_MARKED = re.compile(r"(<!-- table (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def markdown(rows: list[dict[str, Any]]) -> str:
    """A row a dataset and metric, the paper's number beside ours.

    >>> print(markdown([dict(dataset="cora", metric="accuracy", paper=None, mean=84.0, std=0.5, untrained=75.0,
    ...                      propagated=76.0, runs=50, seconds=0.5)]))
    | dataset | metric | the paper | MVGRL, trained | untrained encoder | propagated features | runs |
    |---|---|---:|---:|---:|---:|---:|
    | cora | accuracy | – | 84.0 ± 0.5 | 75.0 | 76.0 | 50 |
    """
    lines = ["| dataset | metric | the paper | MVGRL, trained | untrained encoder | propagated features | runs |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for row in rows:
        digits = 1 if row["metric"] == "accuracy" else 3
        paper, untrained, propagated = (
            "–" if row[key] is None else f"{row[key]:.{digits}f}" for key in ("paper", "untrained", "propagated")
        )
        metric = {"nmi": "NMI", "ari": "ARI"}.get(row["metric"], row["metric"])
        ours = f"{row['mean']:.{digits}f} ± {row['std']:.{digits}f}"
        lines.append(f"| {row['dataset']} | {metric} | {paper} | {ours} | {untrained} | {propagated} | {row['runs']} |")
    return "\n".join(lines)


def filled(page: str, ledger: Ledger) -> str:
    """The page with every marked table written anew."""

    def write(match: re.Match[str]) -> str:
        experiment, setting = match[2], match[3]
        if experiment not in EXPERIMENTS or setting not in NAMED:
            raise ValueError(f"the page marks a table {experiment} {setting}, which there is not")
        rows = table(experiment, ledger, [load_recipe(name, setting) for name in NODE_DATASETS])
        return f"{match[1]}{markdown(rows)}\n{match[4]}"

    return _MARKED.sub(write, page)


if __name__ == "__main__":  # python -m mvgrl.reports.tables LEDGER PAGE…
    for name in sys.argv[2:]:
        path = Path(name)
        path.write_text(filled(path.read_text(encoding="utf-8"), Ledger(sys.argv[1])), encoding="utf-8")

"""The commands that are killed: train, embed and reproduce on small graphs, with and without older output."""

from __future__ import annotations

from typing import Any

from tests.attacks.killing import Scenario
from tests.attacks.seeds import edge_table, table_bytes

TRAINING = ("--epochs", "4", "--hidden", "4", "--device", "cpu")
EDGES = {"edges.csv": table_bytes(edge_table(), "csv")}
RECIPE = b"[best]\nhidden = 4\nlayers = 1\nepochs = 1\n"


def rings_and_stars() -> dict[str, bytes]:
    """Forty small graphs of two classes, in the place and format of MUTAG."""
    edges, sizes = [], [4 + number % 4 for number in range(40)]
    for number, size in enumerate(sizes):
        start = sum(sizes[:number]) + 1
        pairs = [(start + i, start + ((i + 1) % size if number % 2 else 0)) for i in range(size)]
        edges += [(a, b) for a, b in pairs if a != b]
    lines: dict[str, list[Any]] = {
        "A": [f"{a}, {b}\n{b}, {a}" for a, b in edges],
        "graph_indicator": [number + 1 for number, size in enumerate(sizes) for _ in range(size)],
        "graph_labels": [number % 2 for number in range(40)],
        "node_labels": [i % 3 for size in sizes for i in range(size)],
    }
    folder = "data/tu/MUTAG/raw/MUTAG"
    files = {f"{folder}_{name}.txt": "".join(f"{one}\n" for one in some).encode() for name, some in lines.items()}
    return {**files, "recipes/graph/mutag.toml": RECIPE}


def embed(extension: str, *, replace: bool = False, folder: str = "") -> Scenario:
    output = f"{folder}v.{extension}"
    words = ("embed", "edges.csv", "-o", output, *TRAINING)
    name = f"embed to .{extension}{', replacing it' if replace else ''}{', in a new folder' if folder else ''}"
    older = (*words, "--seed", "7") if replace else ()
    return Scenario(name, words, always=(output,), older=older, files=EDGES)


def train(*, replace: bool = False, link: tuple[str, str] | None = None) -> Scenario:
    words = ("train", "edges.csv", "-o", "m", "--overwrite", *TRAINING)  # a run may be killed when the model is there
    name = f"train{', replacing the model' if replace else ''}{' through a link' if link else ''}"
    older = (*words, "--seed", "7") if replace else ()
    return Scenario(name, words, always=("m", link[1]) if link else ("m",), older=older, link=link, files=EDGES)


REPRODUCE = ("reproduce", "ablation-encoders", "--dataset", "mutag", "--runs", "2", "--jobs", "1", "--device", "cpu")
PLACES = ("--ledger", "runs.jsonl", "--recipes", "recipes", "--data-root", "data")
SCENARIOS = {
    one.name: one
    for one in (
        train(),
        train(replace=True),
        train(replace=True, link=("m", "real")),
        *(embed(extension) for extension in ("parquet", "csv", "npy")),
        *(embed(extension, replace=True) for extension in ("parquet", "csv", "npy")),
        embed("csv", folder="deep/er/"),
        Scenario(
            "reproduce",
            (*REPRODUCE, *PLACES),
            ledger="work/runs.jsonl",
            files=rings_and_stars(),
        ),
        Scenario(
            "reproduce in two processes",
            (*REPRODUCE[:-3], "2", *REPRODUCE[-2:], *PLACES),
            ledger="work/runs.jsonl",
            files=rings_and_stars(),
            slow=True,
        ),
    )
}

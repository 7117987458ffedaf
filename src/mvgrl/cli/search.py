"""``mvgrl search``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Chosen, Cluster, Common, Device, Seed, Source, flag, given, whole
from mvgrl.errors import InputError, SettingsError

if TYPE_CHECKING:
    import numpy as np

    from mvgrl.graphs.named import NamedGraph
    from mvgrl.tuning import Problem, Search

TRIALS = 30
_NAMES = {"labels": "accuracy in five folds of the labels", "hidden-edges": "AUC of hidden edges"}


def run(
    graph: str,
    /,
    *,
    output: Annotated[Path, flag("The recipe: a .toml file for --config.", alias="-o")],
    trials: Annotated[int, flag("Number of trials (30).", converter=whole)] = TRIALS,
    labels: Annotated[
        str | None, flag("A table (id, label); by default the label column of --nodes, or of the dataset; or none.")
    ] = None,
    source: Source = Source(),  # noqa: B008 (frozen)
    chosen: Chosen = Chosen(),  # noqa: B008
    seed: Seed = None,
    device: Device = None,
    cluster: Cluster = None,
    common: Common = Common(),  # noqa: B008
) -> None:
    """Search for the settings that suit a graph, and write them as a recipe.

    ```
    mvgrl search edges.csv --labels labels.csv -o recipe.toml
    mvgrl search edges.csv --trials 50 --cluster local -o recipe.toml
    ```

    The recipe is for --config: mvgrl embed edges.csv --config recipe.toml -o vectors.parquet.

    Every trial trains with different settings: the diffusion (ppr or heat, and its strength), layers, hidden and
    learning_rate, and for many graphs also batch_size and readout. Settings given as flags or with --config stay fixed.
    The first trial uses the default settings. Trials are scored by the accuracy of a classifier in five folds of the
    labels; give only labels that may be used, not those of a test set. For a dataset with a public split, only train
    and validation nodes are used. Without labels, a tenth of the edges is hidden, and the score is how well the vectors
    predict them.

    Finished trials are in RECIPE.trials.jsonl; an interrupted search continues when the same command is run again, and
    a larger --trials adds to it.

    Parameters
    ----------
    graph
        As in mvgrl embed: a table of edges, another file, a folder, or the name of a dataset.
    """
    console = Console(common)

    from mvgrl.cli.interrupts import Interrupts
    from mvgrl.cluster.search import trials_on
    from mvgrl.tables.paths import check_not_input
    from mvgrl.tuning import search
    from mvgrl.tuning.search import score_here

    if output.suffix != ".toml":
        raise SettingsError(f"--output is {output}; a recipe is a .toml file")
    if trials < 1:
        raise SettingsError(f"--trials is {trials}; it must be at least 1")
    kept = output.with_suffix(".trials.jsonl")
    for path in (output, kept):
        check_not_input(path, (graph, source.nodes, labels, chosen.config))
    problem, notes = _problem(graph, source, chosen, labels, seed, device, console)
    for note in notes:
        console.note(f"note: {note}")
    console.note(f"{problem.graph.size_text}; trials are scored by the {_NAMES[problem.criterion]}")
    try:
        with Interrupts(console.note), trials_on(cluster, problem.device) as pool:
            together = 1 if pool is None else pool.together
            options: dict[str, Any] = dict(file=kept, together=together, tell=console.note)
            found = search(problem, trials, score=pool or score_here, **options)
    except KeyboardInterrupt:
        again = shlex.join(["mvgrl", *sys.argv[1:]])
        print(f"interrupted; finished trials are in {kept}; to continue: {again}", file=sys.stderr, flush=True)
        raise
    _write(output, found)
    console.note(f"wrote {output}")
    console.result(_values(found, output, kept), _text(found))


def _problem(
    graph: str,
    source: Source,
    chosen: Chosen,
    labels: str | None,
    seed: int | None,
    device: str | None,
    console: Console,
) -> tuple[Problem, list[str]]:
    """Read the graph, its labels and the settings that stay; also return notes."""
    from mvgrl.cli.configuration import RUN, read_config
    from mvgrl.runtime import resolve_device
    from mvgrl.settings import Output
    from mvgrl.tuning import Problem

    values = {**read_config(chosen.config), **given(chosen)}
    run: dict[str, Any] = {"seed": 0, "device": "auto"} | {key: values.pop(key) for key in RUN if key in values}
    run |= {key: value for key, value in (("seed", seed), ("device", device)) if value is not None}
    for name in ("task", "temperature"):
        values.pop(name, None)
    made = {name: values.pop(name) for name in list(values) if name in Output.__dataclass_fields__}
    where = str(resolve_device(run["device"]))
    named, known, notes = _opened(graph, source, labels, console)
    problem = Problem(named.graph, known, values, Output(**made), run["seed"], where)
    problem.settings({})  # what is wrong with them is an error before anything is trained
    return problem, notes


def _opened(
    graph: str, source: Source, labels: str | None, console: Console
) -> tuple[NamedGraph, np.ndarray | None, list[str]]:
    from mvgrl.cli.compare import graph_with_labels
    from mvgrl.cli.inputs import check_dataset_flags, is_dataset, notes_of, open_dataset

    if not is_dataset(graph):
        named, known, notes = graph_with_labels(graph, source, labels, console)
        if named.sides is not None and known is None:
            raise InputError(f"{graph} is bipartite and has no labels, and edges are predicted within one set of "
                             "nodes; give --labels")  # fmt: skip
        return named, known, [*notes_of(named), *notes]
    check_dataset_flags(graph, source)
    if labels not in (None, "none"):
        raise SettingsError(f"{graph} is a named dataset with its own labels; omit --labels, or use --labels none")
    dataset = open_dataset(graph, source.data_root, console)
    if labels == "none":
        return dataset.named(), None, []

    import numpy as np

    known = np.asarray(dataset.classes, dtype=object)[dataset.target].astype(str)
    if dataset.splits is not None:
        used = np.zeros(len(known), dtype=bool)
        used[np.concatenate([dataset.splits["train"], dataset.splits["val"]])] = True
        known = np.where(used, known, "")
    return dataset.named(), known, []


def _write(output: Path, found: Search) -> None:
    """Write the settings of the best trial."""
    from mvgrl.cli.configuration import write_config
    from mvgrl.tables.atomic import atomic_write

    best = found.best
    problem, first = found.problem, found.trials[0].score
    head = (
        f"# Trial {best.number + 1} of {len(found.trials)}: {_NAMES[problem.criterion]} {best.score:.2f}"
        f"{'' if first is None else f', default settings {first:.2f}'}.\n"
        f"# Tuned: {', '.join(best.tuned)}.\n"
    )
    with atomic_write(output) as path:
        text = write_config(found.settings, problem.output, problem.seed, "auto")
        path.write_text(head + text, encoding="utf-8")


def _values(found: Search, output: Path, kept: Path) -> dict[str, Any]:
    best = found.best
    return {
        **{"criterion": found.problem.criterion, "trials": len(found.trials)},
        **{"best": best.score, "default": found.trials[0].score, "settings": dict(best.tuned)},
        **{"failed": sum(1 for trial in found.trials if trial.score is None)},
        **{"seconds": round(sum(trial.seconds for trial in found.trials), 3)},
        **{"output": str(output), "ledger": str(kept)},
    }


def _text(found: Search) -> str:
    best, first = found.best, found.trials[0].score
    tuned = ", ".join(f"{name} {','.join(value) if isinstance(value, list) else value}"
                      for name, value in best.tuned.items())  # fmt: skip
    beside = "" if first is None else f"; the default settings have {first:.2f}"
    return f"{_NAMES[found.problem.criterion]}: {best.score:.2f} with {tuned}{beside}"

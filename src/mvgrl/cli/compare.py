"""``mvgrl compare``."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Cluster, Common, Device, Source, flag, listed, whole
from mvgrl.errors import InputError, SettingsError, shown

if TYPE_CHECKING:
    import numpy as np

    from mvgrl.datasets import Dataset
    from mvgrl.experiments.contest import Splits
    from mvgrl.graphs.named import NamedGraph
    from mvgrl.tables.embeddings import Embeddings

LEDGER = Path("compare.jsonl")
_FLAGS = ("splits", "seeds", "epochs", "label_column", "id_column")


def run(
    graph: str,
    /,
    *,
    labels: Annotated[
        str | None, flag("A table (id, label); by default the label column of --nodes, or of the dataset; or none.")
    ] = None,
    methods: Annotated[str | None, flag("Methods, such as raw,dgi,mvgrl,default (those named above).")] = None,
    splits: Annotated[
        str | None,
        flag("Number of random splits (10; graphs and links 3), public, or a table: id, and a column per split."),
    ] = None,
    seeds: Annotated[int | None, flag("Training runs per split (1; 5 with --splits public).", converter=whole)] = None,
    epochs: Annotated[
        int | None, flag("Maximum number of epochs for every method that trains, for a quick look.", converter=whole)
    ] = None,
    output: Annotated[Path | None, flag("A web page with the table and a plot: .html or .md.", alias="-o")] = None,
    ledger: Annotated[
        Path | None,
        flag("The file of finished runs, which are not repeated (next to the page, else compare.jsonl)."),
    ] = None,
    retry_failed: Annotated[bool, flag("Rerun the methods that failed.")] = False,
    source: Source = Source(),  # noqa: B008 (frozen)
    device: Device = None,
    cluster: Cluster = None,
    common: Common = Common(),  # noqa: B008
) -> None:
    """Compare methods on a graph: same splits, same classifier, with time and memory.

    ```
    mvgrl compare edges.csv --labels labels.csv -o compare.html
    mvgrl compare edges.csv --labels labels.csv --methods raw,netmf,default
    mvgrl compare cora --splits public
    mvgrl compare edges.csv --labels labels.csv --splits splits.csv
    mvgrl compare edges.csv --labels none
    ```

    By default: raw features, propagated features, NetMF (spectral vectors for large graphs), DeepWalk, DGI, CCA-SSG,
    GraphMAE, mvgrl (MVGRL as in the paper) and default (the vectors of mvgrl embed); for many graphs histograms,
    Weisfeiler–Lehman counts, the untrained encoder, InfoGraph, mvgrl and default.

    Vectors are scored by a logistic regression on random splits into 10 % train, 10 % validation and 80 % test nodes;
    vectors of graphs by a linear SVM with nested cross-validation. Methods that learn from labels, such as gcn, are
    trained on every split. Nodes without a label are in the graph, but in no split. Without labels, edges are hidden
    and predicted as in mvgrl links, and the stability of clusters is measured.

    In a table of splits, every column has train, validation (or val) or test per node, or is empty for a node that is
    not used.

    The best score is marked, and so are those that a paired t-test over the splits cannot distinguish from it. Every
    method runs in its own process, so one that fails or runs out of memory becomes a row with the reason. An
    interrupted comparison continues when the same command is run again.

    Parameters
    ----------
    graph
        As in mvgrl embed: a table of edges, another file, a folder, or the name of a dataset.
    """
    console = Console(common)

    from mvgrl.cli.interrupts import Interrupts
    from mvgrl.cli.spelling import spelled_as_flags
    from mvgrl.cluster.compare import contest_on
    from mvgrl.experiments.compare import compare
    from mvgrl.experiments.contest import contest
    from mvgrl.experiments.ledger import Ledger
    from mvgrl.reports.compare import as_text, check_page, protocol_text, write_page
    from mvgrl.tables.paths import check_not_input

    inputs = (graph, source.nodes, labels, splits)
    if output is not None:
        check_not_input(check_page(output), (*inputs, ledger))
    ledger = ledger or (LEDGER if output is None else output.with_suffix(".jsonl"))
    check_not_input(ledger, inputs)
    with spelled_as_flags(_FLAGS):
        dataset, named, notes = _dataset(graph, source, labels, console)
        chosen = None if methods is None else listed(methods)
        found = _splits(splits, dataset, named, str(labels or source.nodes or graph))
        options: dict[str, Any] = dict(splits=found, seeds=seeds, epochs=epochs, device=device or "auto")
        plan = contest(dataset, chosen, **options)
    for note in notes:
        console.note(f"note: {note}")
    console.note(protocol_text(plan))
    try:
        with Interrupts(console.note), contest_on(cluster) as pool:
            options = dict(retry_failed=retry_failed, tell=console.note, busy=console.busy)
            rows = compare(plan, Ledger(ledger), pool=pool, **options)
    except KeyboardInterrupt:
        again = shlex.join(["mvgrl", *sys.argv[1:]])
        print(f"interrupted; finished runs are in {ledger}; to continue: {again}", file=sys.stderr, flush=True)
        raise
    values = {
        **{"graph": dataset.name, "nodes": dataset.graph.nodes, "edges": dataset.graph.edges},
        **{
            "graphs": dataset.graph.count,
            "classes": len(dataset.classes),
            "labelled": int((dataset.target >= 0).sum()),
        },
        **{"protocol": plan.protocol, "splits": plan.splits, "seeds": plan.seeds, "device": plan.device},
        **{"rows": [row.to_dict() for row in rows], "ledger": str(ledger)},
    }
    if output is not None:
        write_page(output, plan, rows)
        values["output"] = str(output)
    bold = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    console.result(values, as_text(plan, rows, bold=bold))
    if output is not None:
        console.note(f"wrote {output}")
    if any(row.failed for row in rows):
        console.note("--retry-failed reruns the methods that failed")


def _splits(text: str | None, dataset: Dataset, named: NamedGraph, labels: str) -> int | str | Splits | None:
    """Return a number of random splits, "public", or the splits of a file."""
    if text is None or text == "public":
        return text
    try:
        return int(text)
    except ValueError:
        if not Path(text).suffix and not Path(text).exists():
            raise SettingsError(
                f"--splits is {shown(text)}; it must be a number, public, or a table of splits"
            ) from None

    import numpy as np

    from mvgrl.cli.evaluate import given_split
    from mvgrl.experiments.contest import check_splittable
    from mvgrl.tables.labels import read_splits

    check_splittable(dataset)
    names, rows = np.array(["", *dataset.classes])[dataset.target + 1], _rows(named)
    found = []
    for name, split in read_splits(text).items():
        unknown = "is not a node of the graph; drop the row"
        try:
            parts = given_split(rows, names, split, labels, classes=True, unknown=unknown)
        except InputError as error:
            raise error if name == "split" else InputError(f"the split {shown(name)}: {error}") from None
        if not len(parts["val"]):
            raise InputError(f"{split.place.name}: the split {shown(name)} has no validation rows, on which the "
                             "classifier is tuned; add some")  # fmt: skip
        found.append(parts)
    return found


def _dataset(graph: str, source: Source, labels: str | None, console: Console) -> tuple[Dataset, NamedGraph, list[str]]:
    """Read the graph and its labels; also return the graph with its ids, and notes on both."""
    from mvgrl.cli.inputs import check_dataset_flags, is_dataset, notes_of, open_dataset
    from mvgrl.experiments.contest import own_dataset

    if is_dataset(graph):
        check_dataset_flags(graph, source)
        if labels not in (None, "none"):
            raise SettingsError(f"{graph} is a named dataset with its own labels; omit --labels, or use --labels none")
        dataset = open_dataset(graph, source.data_root, console)
        if labels is None:
            return dataset, dataset.named(), []
        return replace(own_dataset(dataset.named()), name=f"{dataset.name}, no labels"), dataset.named(), []
    named, values, removed = graph_with_labels(graph, source, labels, console)
    notes = [*notes_of(named), *removed]
    if labels is None and values is None:
        notes.append("there are no labels (--labels, or --label-column of --nodes); hidden edges are predicted")
    if values is None and named.sides is not None:
        raise InputError(f"{graph} is bipartite and has no labels, and edges are predicted within one set of nodes; "
                         "give --labels")  # fmt: skip
    dataset = own_dataset(named, values, name=Path(graph).name)
    if values is not None and (missing := len(values) - int((dataset.target >= 0).sum())):
        what = {"node": "nodes without a label are in no split", "graph": "graphs without a label are left out"}
        notes.append(f"{missing:,} {what[dataset.task]}")
    return dataset, named, notes


def graph_with_labels(
    graph: str, source: Source, labels: str | None, console: Console
) -> tuple[NamedGraph, np.ndarray | None, list[str]]:
    """Read a user's graph, a label per node or per graph, and notes; the column of the labels is never a feature."""
    from mvgrl.cli.inputs import open_graph
    from mvgrl.tables.labels import read_labels

    nodes = source.nodes
    inside = labels is not None and nodes is not None and Path(labels).exists() and Path(labels).samefile(nodes)
    if labels in (None, "none") or inside:
        named = open_graph(graph, source, console)
        wanted = "nodes" if named.graph.count == 1 else "graphs"
        found = named.labels if labels != "none" and named.labels_of == wanted else None
        if inside and found is None:
            raise InputError(f"{labels} has no column 'label'; name the one with the labels with --label-column")
        return named, found, []
    known = read_labels(str(labels), id_column=source.id_column, label_column=source.label_column)
    bare = replace(source, label_column=None, id_column=None if nodes is None else source.id_column)
    named = open_graph(graph, bare, console)
    column, notes = source.label_column or "label", []
    if named.columns is not None and column in named.columns.columns:
        notes.append(f"the column {shown(column)} of {nodes} has the labels, so it is not used as a feature")
        ignored = column if source.ignore is None else f"{source.ignore},{column}"
        named = open_graph(graph, replace(bare, ignore=ignored), console)
    return named, _matched(named, known), notes


def _matched(named: NamedGraph, known: Any) -> np.ndarray:
    from mvgrl.tables.labels import labels_for

    return labels_for(_rows(named), known)


def _rows(named: NamedGraph) -> Embeddings:
    """Return the nodes, or the graphs if there are many, as rows that tables are matched with."""
    import numpy as np

    from mvgrl.cli.running import table_of

    task, count = ("node", named.graph.nodes) if named.graph.count == 1 else ("graph", named.graph.count)
    return table_of(named, np.zeros((count, 1), np.float32), task, None)

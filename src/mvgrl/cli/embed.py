"""``mvgrl embed``."""

from __future__ import annotations

from typing import Annotated

from mvgrl.cli.console import Console
from mvgrl.cli.options import (
    Chosen,
    Common,
    CsvSafe,
    Device,
    Elsewhere,
    MemoryLimit,
    MethodName,
    Output,
    Overwrite,
    Recorded,
    Seed,
    Source,
    flag,
)


def run(
    graph: str,
    /,
    *,
    output: Output,
    method: MethodName = "default",
    source: Source = Source(),  # noqa: B008 (frozen)
    chosen: Chosen = Chosen(),  # noqa: B008
    resume: Annotated[bool, flag("Continue an interrupted run.")] = False,
    overwrite: Overwrite = False,
    csv_safe: CsvSafe = False,
    recorded: Recorded = Recorded(),  # noqa: B008
    seed: Seed = None,
    device: Device = None,
    memory: MemoryLimit = None,
    elsewhere: Elsewhere = Elsewhere(),  # noqa: B008
    common: Common = Common(),  # noqa: B008
) -> None:
    """Train on a graph and write a vector per node, or per graph for many graphs.

    ```
    mvgrl embed edges.csv -o vectors.parquet
    mvgrl embed edges.csv --nodes nodes.csv --label-column topic -o vectors.csv
    mvgrl embed mutag -o vectors.npy --epochs 40
    mvgrl embed edges.csv --method netmf -o vectors.parquet
    mvgrl embed GRAPH --memory 4GB -o vectors.parquet
    ```

    Settings that are not given are chosen for the graph, and one line says what was chosen and why. An interrupted run
    (Ctrl-C, kill) continues with --resume. mvgrl compare shows which method suits a graph.

    Parameters
    ----------
    graph
        A table of edges (source, target, optional weight and graph) in .csv, .tsv, .txt, .parquet, .feather or .jsonl,
        .csv.gz and so on, a folder of such parts, or - for standard input; .graphml, .gml, .gexf, .npz; a folder from
        mvgrl import, or in TU or Planetoid format; or the name of a dataset.
    output
        .parquet (id, embedding), .csv, .tsv or .npy, by its extension.
    """
    console = Console(common)

    from mvgrl.tables.embeddings import check_output, write_embeddings

    overwrite = overwrite or resume  # the interrupted run may have written the table of ids
    inputs = (graph, source.nodes, chosen.config)
    check_output(output, inputs=inputs, overwrite=overwrite, csv_safe=csv_safe)

    from mvgrl.cli.out_of_core import StoredRun, resumable
    from mvgrl.cli.records import add_texts, recorders
    from mvgrl.cli.running import (
        Request,
        check_unfinished,
        embeddings,
        finish,
        finish_method,
        made_by_method,
        only_run,
        peak_memory,
        prepare_any,
        summary_of,
        table_of,
        trained,
    )
    from mvgrl.outofcore.written import check_streamable

    check_unfinished(output, resume=resume)
    records = recorders(recorded, method, output, inputs, resume=resume)
    request = Request(graph, source, chosen, seed, device, method, memory, output, elsewhere)
    job = prepare_any(request, console)
    if isinstance(job, StoredRun):
        job.records = records
        add_texts(records, graph, job.job.resolved.choices)
        check_streamable(output)
        with only_run(output, resume=resume), resumable(job.job.folder):
            rows, width = job.embed(output)
            outcome = job.outcome(output, peak_memory())
        console.note(f"{summary_of(outcome)}; wrote {rows:,} vectors of {width} to {output}")
        console.result(outcome)
        return
    with only_run(output, resume=resume):
        if job.method is None:
            add_texts(records, graph, job.resolved.choices)
            model = trained(job, output, resume=resume, records=records)
            table = embeddings(job.named, model, job.output)
        else:
            made = made_by_method(job, resume=resume)
            table = table_of(job.named, made.found, job.settings.task, job.named.columns)
        write_embeddings(output, table, overwrite=overwrite, csv_safe=csv_safe)
        rows, width = table.vectors.shape
        outcome = finish(job, output, model) if job.method is None else finish_method(job, output, made)
    console.note(f"{summary_of(outcome)}; wrote {rows:,} vectors of {width} to {output}")
    console.result(outcome)

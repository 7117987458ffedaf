"""``mvgrl train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mvgrl.cli.console import Console
from mvgrl.cli.options import Chosen, Common, Device, Elsewhere, MemoryLimit, MethodName, Recorded, Seed, Source, flag
from mvgrl.errors import InputError, SettingsError


def run(
    graph: str,
    /,
    *,
    output: Annotated[Path | None, flag("The model's folder.", alias="-o")] = None,
    method: MethodName = "default",
    source: Source = Source(),  # noqa: B008 (frozen)
    chosen: Chosen = Chosen(),  # noqa: B008
    resume: Annotated[bool, flag("Continue an interrupted run.")] = False,
    overwrite: Annotated[bool, flag("Replace an existing model.")] = False,
    print_config: Annotated[bool, flag("Print the settings that would be used, as TOML, and stop.")] = False,
    recorded: Recorded = Recorded(),  # noqa: B008
    seed: Seed = None,
    device: Device = None,
    memory: MemoryLimit = None,
    elsewhere: Elsewhere = Elsewhere(),  # noqa: B008
    common: Common = Common(),  # noqa: B008
) -> None:
    """Train on a graph and save the model.

    ```
    mvgrl train edges.csv -o model
    mvgrl train cora-linqs --print-config > run.toml
    mvgrl train edges.csv --config run.toml --hidden 256 -o model
    mvgrl train edges.csv --history history.csv --tensorboard runs/model -o model
    ```

    The model is a folder: config.json, model.safetensors and a README.md that says what it was trained on. An
    interrupted run (Ctrl-C, kill) continues with --resume. An existing model is only replaced with --overwrite.
    --history and --tensorboard record every epoch during training; a resumed run continues the records.
    Methods other than MVGRL cannot embed new nodes: their vectors are saved instead, for mvgrl apply on the same graph.

    Parameters
    ----------
    graph
        A table of edges (source, target, optional weight and graph) in .csv, .tsv, .txt, .parquet, .feather or .jsonl,
        .csv.gz and so on, a folder of such parts, or - for standard input; .graphml, .gml, .gexf, .npz; a folder from
        mvgrl import, or in TU or Planetoid format; or the name of a dataset.
    """
    console = Console(common)
    if output is None and not print_config:
        raise SettingsError("the folder for the model is missing; name one with -o")

    from mvgrl.cli.configuration import write_config
    from mvgrl.cli.out_of_core import StoredRun, resumable
    from mvgrl.cli.records import add_texts, recorders
    from mvgrl.cli.running import (
        Request,
        check_unfinished,
        finish,
        finish_method,
        made_by_method,
        only_run,
        peak_memory,
        prepare_any,
        summary_of,
        trained,
    )
    from mvgrl.pretrained import check_model_folder, save_model

    if output is not None:
        check_model_folder(output)
        if (output / "model.safetensors").exists() and not (overwrite or resume or print_config):
            raise InputError(f"{output} is already a model; add --overwrite to replace it, or choose another name")
        check_unfinished(output, resume=resume)
    if print_config and method not in ("default", "mvgrl"):
        raise SettingsError(f"the method {method!r} has no settings to print; omit --print-config")
    records = recorders(recorded, method, output, (graph, source.nodes, chosen.config), resume=resume)
    request = Request(graph, source, chosen, seed, device, method, memory, output, elsewhere)
    job = prepare_any(request, console)
    if isinstance(job, StoredRun):
        job.records = records
        add_texts(records, graph, job.job.resolved.choices)
        settings, made_as = job.job.settings, job.job.output
        if print_config or output is None:
            text = write_config(settings, made_as, job.job.seed, job.job.device, columns=None)
            console.result({"config": text}, text.removesuffix("\n"))
            return
        with only_run(output, resume=resume), resumable(job.job.folder):
            stored = job.job.graph
            about = {"trained on": f"{graph}: one graph, {stored.nodes:,} nodes, {stored.edges:,} edges"}
            save_model(job.compose(), output, output=made_as, about={**about, "seed": job.job.seed})
            outcome = job.outcome(output, peak_memory())
        console.note(f"{summary_of(outcome)}; the model is in {output}")
        console.result(outcome)
        return
    if print_config or output is None:
        text = write_config(job.settings, job.output, job.seed, job.requested_device, columns=job.columns)
        console.result({"config": text}, text.removesuffix("\n"))
        return
    with only_run(output, resume=resume):
        if job.method is None:
            add_texts(records, graph, job.resolved.choices)
            model = trained(job, output, resume=resume, records=records)
            save_model(model, output, output=job.output, about=job.about(graph))
            outcome = finish(job, output, model)
        else:
            made = made_by_method(job, resume=resume)
            made.save(output, about=job.about(graph))
            outcome = finish_method(job, output, made)
    console.note(f"{summary_of(outcome)}; the model is in {output}")
    console.result(outcome)

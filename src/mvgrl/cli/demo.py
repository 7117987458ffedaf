"""``mvgrl demo``."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Chosen, Common, Device, Seed, Source, flag, whole

if TYPE_CHECKING:
    import numpy as np

    from mvgrl.cli.running import Job
    from mvgrl.datasets import Dataset
    from mvgrl.tables.embeddings import Embeddings
    from mvgrl.training import Trained

PAPER = 86.8  # Table 2 of the paper: Cora, which in the authors' code is this split


def run(
    *,
    output: Annotated[
        Path, flag("The folder for model, embeddings.parquet, map.png and explorer.html (mvgrl-demo).", alias="-o")
    ] = Path("mvgrl-demo"),
    epochs: Annotated[
        int | None, flag("Maximum number of epochs (2000); fewer for a quick look.", converter=whole)
    ] = None,
    resume: Annotated[bool, flag("Continue an interrupted run.")] = False,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    seed: Seed = None,
    device: Device = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Embed the papers of Cora without labels, score the vectors, and write a map and a page to explore it.

    ```
    mvgrl demo
    mvgrl demo --seed 1 -o elsewhere
    ```

    Cora (2,708 papers, seven topics) comes with an installed package: nothing is downloaded. A linear classifier learns
    the topics from the vectors of 140 papers. Its accuracy is printed for the default vectors, which are written, for
    the paper's, which are trained separately, and for two controls: the same encoder untrained, and the words of the
    papers propagated over both views without any learning. The paper's probe stops after 300 steps; the converged one
    does not.
    """
    console = Console(common)

    from mvgrl.pretrained import check_model_folder, save_model
    from mvgrl.reports.embedding_map import check_picture, draw_map
    from mvgrl.reports.projection import project
    from mvgrl.tables.embeddings import check_output, write_embeddings

    model_folder, table_file, picture = output / "model", output / "embeddings.parquet", output / "map.png"
    page = output / "explorer.html"
    check_model_folder(model_folder)
    check_output(table_file)
    check_picture(picture)

    from mvgrl.cli.inputs import open_dataset
    from mvgrl.cli.running import Request, check_unfinished, embeddings, finish, only_run, prepare, trained

    check_unfinished(model_folder, resume=resume)
    cora = open_dataset("cora-linqs", data_root, console)
    job = prepare(Request("cora-linqs", Source(data_root=data_root), Chosen(epochs=epochs), seed, device), console)
    with only_run(model_folder, resume=resume):
        run = trained(job, model_folder, resume=resume)
        table = embeddings(job.named, run, job.output)
        topics = [cora.classes[number] for number in cora.target]  # by name, so that mvgrl evaluate scores the same
        paper = _trained_as_in_the_paper(job)
        with console.busy("probing"):
            scores = _scores(cora, topics, job, paper, table.vectors)
        probed = time.perf_counter() - job.started
        with console.busy("drawing the map"):
            points = project(table.vectors, seed=job.seed)
            draw_map(points, picture, labels=topics, title="Cora, embedded without labels")
        write_embeddings(table_file, table)
        about = {**job.about("cora-linqs"), "accuracy (converged probe, LINQS split)": f"{scores['default']:.1f} %"}
        save_model(run, model_folder, output=job.output, about=about)
        _write_page(page, table, points, topics, job, model_folder)
        outcome = finish(job, model_folder, run)
    assert cora.splits is not None
    tested = len(cora.splits["test"])
    console.result(
        {
            **scores,
            "paper": PAPER,
            "seconds": outcome["seconds"],
            "training_and_probing_seconds": round(probed, 3),
            "epochs": outcome["epochs"],
            "seed": job.seed,
            "model": str(model_folder),
            "embeddings": str(table_file),
            "map": str(picture),
            "page": str(page),
        },
        _as_text(scores, tested, f"{outcome['epochs']} epochs; training and probing took {probed:.0f} s")
        + f"\nwrote {model_folder}, {table_file}, {picture}, {page} (open it in a browser)",
    )


def _trained_as_in_the_paper(job: Job) -> Trained:
    """Train again, without edges between similar nodes."""
    from mvgrl.progress import ProgressBar
    from mvgrl.training import fit

    settings = replace(job.settings, similar=0)
    with ProgressBar(settings, "training as in the paper", quiet=not job.console.bars) as bar:
        return fit(
            job.named, replace(job.resolved, settings=settings), seed=job.seed, device=job.device, callbacks=[bar]
        )


def _write_page(
    path: Path, table: Embeddings, points: np.ndarray, topics: list[str], job: Job, model_folder: Path
) -> None:
    """Write the page to explore the vectors in, with the places of the map, the citations and the model."""
    from mvgrl.explorer.columns import category
    from mvgrl.explorer.gather import Gathered, arranged
    from mvgrl.explorer.model_facts import model_facts
    from mvgrl.explorer.page import write_page

    gathered = Gathered(table, [category("topic", topics)], places=points)
    gathered.add_graph(replace(job.named, labels=None))
    title = "Cora, embedded without labels"
    write_page(path, arranged(gathered, title=title, colour="topic", model=model_facts(model_folder)))


def _as_text(scores: dict[str, Any], tested: int, note: str) -> str:
    """The scores as a table with a column per probe."""
    heads = ("", "converged probe", "the paper's probe")
    lines = [
        f"Accuracy on the {tested:,} test papers of Cora (LINQS split), one seed, in percent",
        f"  {heads[0]:<20} {heads[1]:>15} {heads[2]:>18}",
    ]
    rows = {"default": "default vectors", "accuracy": "the paper's vectors"}
    rows |= {"untrained": "untrained encoder", "propagated": "propagated features"}
    for name, label in rows.items():
        second = f"{scores[name]:18.1f}" if name != "default" else ""
        remark = f"  (in the paper: {PAPER})" if name == "accuracy" else ""
        lines.append(f"  {label:<20} {scores['converged'][name]:15.1f} {second}{remark}".rstrip())
    return "\n".join([*lines, note])


def _scores(cora: Dataset, topics: list[str], job: Job, paper: Trained, vectors: np.ndarray) -> dict[str, Any]:
    """The accuracy of the vectors, of those of the paper and of the two controls, in percent.

    By the converged probe for all; by the paper's, which stops after 300 steps, for those made as in the paper.
    """
    from mvgrl.evaluation import linear_probe, logistic_probe, propagated, untrained
    from mvgrl.settings import Output

    assert cora.splits is not None
    output, settings = Output(preset="paper"), paper.model.settings
    codes = {
        "accuracy": paper.vectors(output=output),
        "untrained": untrained(cora.graph, settings, output=output, seed=job.seed, device=job.device),
        "propagated": propagated(cora.graph, settings, device=job.device),
    }
    train, val, test = (cora.splits[part] for part in ("train", "val", "test"))
    scores = {name: 100 * float(linear_probe(code, topics, train, test, seed=job.seed)) for name, code in codes.items()}
    converged = {
        name: 100 * float(logistic_probe(code, topics, train, test, val=val))
        for name, code in {"default": vectors, **codes}.items()
    }
    return {**scores, "default": converged["default"], "converged": converged}

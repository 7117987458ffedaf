"""``mvgrl demo``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mvgrl.cli.console import Console
from mvgrl.cli.options import Chosen, Common, Device, Seed, Source, flag, whole

if TYPE_CHECKING:
    import numpy as np

    from mvgrl.cli.running import Job
    from mvgrl.datasets import Dataset

PAPER = 86.8  # Table 2 of the paper: Cora, which in the authors' code is this split


def run(
    *,
    output: Annotated[
        Path, flag("The folder for model, embeddings.parquet and map.png (mvgrl-demo).", alias="-o")
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
    """Embed the papers of Cora without labels, score the vectors and draw a map.

    ```
    mvgrl demo
    mvgrl demo --seed 1 -o elsewhere
    ```

    Cora (2,708 papers, seven topics) comes with an installed package: nothing is downloaded. A linear classifier learns
    the topics from the vectors of 140 papers. Its accuracy is printed next to the paper's and to two controls: the same
    encoder untrained, and the words of the papers propagated over both views without any learning.
    """
    console = Console(common)

    from mvgrl.pretrained import check_model_folder, save_model
    from mvgrl.reports.embedding_map import check_picture, embedding_map
    from mvgrl.tables.embeddings import check_output, write_embeddings

    model_folder, table_file, picture = output / "model", output / "embeddings.parquet", output / "map.png"
    check_model_folder(model_folder)
    check_output(table_file)
    check_picture(picture)

    from mvgrl.cli.inputs import open_dataset
    from mvgrl.cli.running import check_unfinished, embeddings, finish, only_run, prepare, trained

    check_unfinished(model_folder, resume=resume)
    cora = open_dataset("cora-linqs", data_root, console)
    job = prepare("cora-linqs", Source(data_root=data_root), Chosen(epochs=epochs), seed, device, console)
    with only_run(model_folder, resume=resume):
        run = trained(job, model_folder, resume=resume)
        table = embeddings(job.named, run, job.output)
        topics = [cora.classes[number] for number in cora.target]  # by name, so that mvgrl evaluate scores the same
        with console.busy("probing"):
            scores = _scores(cora, topics, job, table.vectors)
        probed = time.perf_counter() - job.started
        with console.busy("drawing the map"):
            embedding_map(table.vectors, picture, labels=topics, seed=job.seed, title="Cora, embedded without labels")
        write_embeddings(table_file, table)
        about = {**job.about("cora-linqs"), "accuracy (linear probe, LINQS split)": f"{scores['accuracy']:.1f} %"}
        save_model(run, model_folder, output=job.output, about=about)
        outcome = finish(job, model_folder, run)
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
        },
        "\n".join(
            (
                f"Accuracy on the {len(_parts(cora)[1]):,} test papers of Cora (LINQS split), one seed, in percent",
                f"  MVGRL, trained       {scores['accuracy']:5.1f}",
                f"  the paper            {PAPER:5.1f}",
                f"  untrained encoder    {scores['untrained']:5.1f}",
                f"  propagated features  {scores['propagated']:5.1f}",
                f"{outcome['epochs']} epochs; training and probing took {probed:.0f} s",
                f"wrote {model_folder}, {table_file}, {picture}",
            )
        ),
    )


def _parts(cora: Dataset) -> tuple[np.ndarray, np.ndarray]:
    assert cora.splits is not None
    return cora.splits["train"], cora.splits["test"]


def _scores(cora: Dataset, topics: list[str], job: Job, vectors: np.ndarray) -> dict[str, float]:
    """The accuracy of the vectors and of the two controls, in percent."""
    from mvgrl.evaluation import linear_probe, propagated, untrained

    codes = {
        "accuracy": vectors,
        "untrained": untrained(cora.graph, job.settings, seed=job.seed, device=job.device),
        "propagated": propagated(cora.graph, job.settings, device=job.device),
    }
    return {name: 100 * float(linear_probe(code, topics, *_parts(cora), seed=job.seed)) for name, code in codes.items()}

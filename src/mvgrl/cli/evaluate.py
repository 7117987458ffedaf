"""``mvgrl evaluate``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Device, Memory, Seed, flag, whole
from mvgrl.errors import SettingsError, check_name, shown

if TYPE_CHECKING:
    import numpy as np

    from mvgrl.datasets import Dataset
    from mvgrl.tables.embeddings import Embeddings
    from mvgrl.tables.labels import Split

PROTOCOLS = {
    "logistic": 20,
    "linear": 20,
    "regression": 20,
    "clustering": 10,
    "svm": 5,
}  # the default number of splits or runs of each
_COPIES = 6  # of the vectors in double precision, while they are scored
SPLIT_PROTOCOLS = ("logistic", "linear", "regression")


def run(
    embeddings: Path,
    /,
    *,
    labels: Annotated[str, Parameter(help="A table (id, label), an imported graph, or the name of a dataset.")],
    protocol: Annotated[str | None, flag("logistic, linear, regression, clustering or svm.")] = None,
    id_column: Annotated[str | None, flag("The id column of the table of labels (id).")] = None,
    label_column: Annotated[str | None, flag("The label column of the table of labels (label).")] = None,
    split: Annotated[Path | None, flag("A table of id and split (train, val or test).")] = None,
    train_fraction: Annotated[float | None, flag("Train share of random splits (0.1).")] = None,
    val_fraction: Annotated[float | None, flag("Validation share of random splits (0.1).")] = None,
    splits: Annotated[
        int | None,
        flag("Number of random splits (20), or of runs of K-Means (10) or cross-validation (5).", converter=whole),
    ] = None,
    folds: Annotated[int | None, flag("svm: folds of cross-validation (10).", converter=whole)] = None,
    data_root: Annotated[Path | None, flag("The folder with the named datasets (or set MVGRL_DATA).")] = None,
    seed: Seed = None,
    device: Device = None,
    memory: Memory = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Score a table of embeddings, from mvgrl or any other tool.

    ```
    mvgrl evaluate vectors.parquet --labels nodes.csv --label-column topic
    mvgrl evaluate vectors.csv --labels nodes.csv --split split.csv
    mvgrl evaluate vectors.parquet --labels cora-linqs --protocol clustering
    mvgrl evaluate vectors.parquet --labels mutag --protocol svm
    ```

    logistic: logistic regression trained on the train rows, with the regularisation chosen on the val rows, and scored
    on the test rows; uses the split of --split, else of the named dataset, else random splits. linear: the same, but
    without regularisation and stopped after 300 steps of Adam, as in the paper; use it with the paper's vectors only.
    regression: ridge regression of numbers, with the same splits; it is the default where labels are numbers with
    fractions and more than 10 different values, or whole numbers with more than 100.
    clustering: K-Means with one cluster per class, compared with the classes.
    svm: a linear SVM with nested cross-validation. Accuracy and macro-F1 are in percent; NMI, ARI and R² are at
    most 1. Each is reported as mean and standard deviation. Rows without a label are not scored.

    If the vectors do not fit into --memory, a random sample of the labelled rows is scored, and a note says so.

    Parameters
    ----------
    embeddings
        .parquet or .csv (id, and one list column or numeric columns), or .npy.
    """
    console = Console(common)
    only_linear = {"split": split, "train-fraction": train_fraction, "val-fraction": val_fraction}
    if protocol is not None:
        check_name("protocol", protocol, PROTOCOLS)
        _refuse_unused(protocol, SPLIT_PROTOCOLS, only_linear)
    _refuse_unused(protocol or "logistic", ("svm",), {"folds": folds})
    for name, value, least in (("splits", splits, 1), ("folds", folds, 2)):
        if value is not None and value < least:
            raise SettingsError(f"--{name} is {value}; it must be at least {least}")
    if split is not None:
        _refuse_unused("a --split file", (), {**only_linear, "split": None, "splits": splits})

    from mvgrl.cli.inputs import open_vectors
    from mvgrl.cli.labels import labels_of
    from mvgrl.evaluation import summary
    from mvgrl.evaluation.checks import is_known
    from mvgrl.runtime import resolve_device

    where = resolve_device(device or "auto")
    table, free = open_vectors(embeddings, memory, console)
    names, dataset = labels_of(table, labels, id_column, label_column, data_root, console)
    if dataset is None and (label_column or "label") in table.columns:
        column = shown(label_column or "label")
        console.note(f"note: the vectors were made with the column {column} as a feature, so they contain the labels; "
                     "train again with --label-column, or with --ignore, for an honest score")  # fmt: skip
    protocol = _fitting(protocol, names, labels)
    labelled, rows = int(is_known(names).sum()), len(names)
    count = splits if splits is not None else PROTOCOLS[protocol]
    kept = _kept(table, names, free, seed or 0, console) if table.on_disk else None
    with console.busy("scoring") as say:
        if protocol in SPLIT_PROTOCOLS:
            fractions = train_fraction, val_fraction
            options = labels, dataset, split, fractions, splits, seed or 0
            table, names, parts, how = _sampled_parts(protocol, table, names, kept, options)
            score = {"linear": _linear, "logistic": _logistic, "regression": _regression}[protocol]
            count = len(parts)
            scores = score(table, names, parts, seed or 0, where, lambda done: say(f"scored {done} of {count} splits"))
        elif kept is not None:
            table, names, kept = table.select(kept), names[kept], None
        if protocol == "clustering":
            scores, how = _clustering(table, names, count, seed or 0, where), f"{count} runs of K-Means"
        elif protocol == "svm":
            scores = _svm(table, names, count, folds or 10, seed or 0, where)
            how = f"{count} runs of nested {folds or 10}-fold cross-validation"
    means = summary(scores)
    text = f"{_as_text(f'{protocol}: {how}', means)}\n  {'labelled rows':<20} {labelled:,} of {rows:,}"
    counts = {"rows": rows, "labelled": labelled} | ({"sampled": len(names)} if len(names) < labelled else {})
    console.result({"protocol": protocol, "splits": count, **means, **counts}, text)


def _kept(table: Embeddings, names: np.ndarray, free: int, seed: int, console: Console) -> np.ndarray | None:
    """Return a random sample of the labelled rows, as many as fit into memory with what scoring them takes."""
    import numpy as np

    from mvgrl.evaluation.checks import is_known

    most = max(1000, free // (_COPIES * 8 * table.vectors.shape[1]))
    known = np.flatnonzero(is_known(names))
    if len(known) > most:
        known = np.sort(np.random.default_rng(seed).choice(known, most, replace=False))
        console.note(f"scored on a random sample of {most:,} of the labelled rows, as many as fit into memory")
    return known


def _sampled_parts(
    protocol: str, table: Embeddings, names: np.ndarray, kept: np.ndarray | None, options: Any
) -> tuple[Embeddings, np.ndarray, list[dict[str, np.ndarray]], str]:
    """Return the vectors and labels to score, the splits of their rows, and how the splits were made.

    Given splits are made of all rows and reduced to those that are kept; random splits are made of the latter.
    """
    import numpy as np

    if kept is None:
        return table, names, *_parts(protocol, table, names, *options)
    _, dataset, split, fractions, splits, _ = options
    given = split is not None or (dataset is not None and dataset.splits is not None)
    if not given or (split is None and any(value is not None for value in (*fractions, splits))):
        table, names = table.select(kept), names[kept]
        return table, names, *_parts(protocol, table, names, *options)
    parts, how = _parts(protocol, table, names, *options)
    inside = [{part: np.flatnonzero(np.isin(kept, rows)) for part, rows in one.items()} for one in parts]
    return table.select(kept), names[kept], inside, how


def _fitting(protocol: str | None, names: np.ndarray, labels: str) -> str:
    """Return the protocol for the labels; classes cannot be regressed, nor numbers with fractions classified."""
    from mvgrl.evaluation.regression import has_fractions, is_continuous

    if protocol is None:
        return "regression" if is_continuous(names) else "logistic"
    if protocol == "regression" and names.dtype.kind not in "iuf":
        raise SettingsError(f"the labels of {labels} are not numbers, so they cannot be regressed; omit --protocol")
    if protocol != "regression" and is_continuous(names) and has_fractions(names):
        raise SettingsError(
            f"the labels of {labels} are numbers with fractions, not classes; use --protocol regression, or choose "
            "another column with --label-column"
        )
    return protocol


def _refuse_unused(chosen: str, wanted: tuple[str, ...], flags: dict[str, Any]) -> None:
    for flag_, value in flags.items():
        if value is not None and chosen not in wanted:
            raise SettingsError(f"--{flag_} has no effect with {chosen}; omit it")


def _parts(
    protocol: str,
    table: Embeddings,
    names: np.ndarray,
    labels: str,
    dataset: Dataset | None,
    split: Path | None,
    fractions: tuple[float | None, float | None],
    splits: int | None,
    seed: int,
) -> tuple[list[dict[str, np.ndarray]], str]:
    """Return the splits and a description: those of a file, of the dataset unless options say otherwise, or random."""
    from mvgrl.evaluation import random_splits, regression_splits
    from mvgrl.tables.columns import Place
    from mvgrl.tables.labels import Split, read_split

    classes = protocol != "regression"
    if split is not None:
        return [given_split(table, names, read_split(split), labels, classes=classes)], f"the split of {split}"
    random_requested = any(value is not None for value in (*fractions, splits))
    if dataset is not None and dataset.splits is not None and not random_requested:
        import numpy as np

        ids = np.concatenate(list(dataset.splits.values()))
        parts = np.repeat(list(dataset.splits), [len(part) for part in dataset.splits.values()])
        own = Split(ids, place=Place(dataset.name), parts=parts)
        return [given_split(table, names, own, labels, classes=classes)], f"the split of {dataset.name}"
    train, val = (0.1 if value is None else value for value in fractions)
    count = PROTOCOLS[protocol] if splits is None else splits
    draw = random_splits if classes else regression_splits
    drawn = draw(names, train_fraction=train, val_fraction=val, count=count, seed=seed)
    return drawn, f"{count} random splits, {train:.0%} train, {val:.0%} validation"


def given_split(
    table: Embeddings, names: np.ndarray, split: Split, labels: str, *, classes: bool, **wording: str
) -> dict[str, np.ndarray]:
    """Convert a split to rows of the embeddings; every row needs a label, and classes must all be in train."""
    import numpy as np

    from mvgrl.evaluation.checks import is_known
    from mvgrl.tables.ids import align
    from mvgrl.tables.labels import splits_for

    parts = splits_for(table, split, **wording)
    train_classes = names[parts["train"] if classes else slice(None)]
    for part, rows in parts.items():
        odd = rows[~(is_known(names[rows]) & np.isin(names[rows], train_classes))]
        if not len(odd):
            continue
        one, row = odd[0], align(table.rows, split)[odd[0]]
        who = f"the id {table.ids[one].item()!r} is in {part}"
        if is_known(names[[one]])[0]:
            problem = f"{who} and has class {names[one]}, which is missing from train; add rows of every class"
        else:
            problem = f"{who}, but {labels} has no label for it; add the label, or remove the id from the split"
        raise split.place.error(row, problem)
    return parts


def _linear(
    table: Embeddings, names: np.ndarray, parts: Any, seed: int, device: Any, progress: Callable[[int], None]
) -> dict[str, np.ndarray]:
    from mvgrl.evaluation import linear_scores

    return linear_scores(table.vectors, names, parts, seed=seed, device=device, progress=progress)


def _logistic(
    table: Embeddings, names: np.ndarray, parts: Any, seed: int, device: Any, progress: Callable[[int], None]
) -> dict[str, np.ndarray]:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from mvgrl.evaluation import logistic_scores

    with warnings.catch_warnings():
        # Where classes can be separated, the weakest penalties do not converge; they are candidates as they are.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Deterministic: it needs no seed.
        return logistic_scores(table.vectors, names, parts, device=device, progress=progress)


def _regression(
    table: Embeddings, names: np.ndarray, parts: Any, seed: int, device: Any, progress: Callable[[int], None]
) -> dict[str, np.ndarray]:
    from mvgrl.evaluation import regression_scores

    return regression_scores(table.vectors, names, parts)  # deterministic: it needs no seed


def _clustering(table: Embeddings, names: np.ndarray, runs: int, seed: int, device: Any) -> dict[str, np.ndarray]:
    import torch

    from mvgrl.evaluation import clustering_scores

    return clustering_scores(torch.tensor(table.vectors, device=device), names, runs=runs, seed=seed)


def _svm(table: Embeddings, names: np.ndarray, runs: int, folds: int, seed: int, device: Any) -> dict[str, np.ndarray]:
    from mvgrl.evaluation import cross_validate
    from mvgrl.evaluation.checks import is_known

    known = is_known(names)  # as in the other protocols, rows without a label are skipped
    found = cross_validate(table.vectors[known], names[known], folds=folds, runs=runs, seed=seed, device=device)
    return {
        "accuracy": found.nested_accuracy,
        "macro_f1": found.nested_macro_f1,
        "best_c_accuracy": found.best_c_accuracy,
    }


def _as_text(title: str, means: dict[str, dict[str, float]]) -> str:
    """Format one line per score, with a digit more than in tables."""
    from mvgrl.evaluation.scores import SCORES

    lines = [title]
    for name, score in means.items():
        digits = SCORES[name].digits + 1
        lines.append(f"  {SCORES[name].label:<20} {score['mean']:7.{digits}f} ± {score['std']:.{digits}f}")
    return "\n".join(lines)

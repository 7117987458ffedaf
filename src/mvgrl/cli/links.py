"""``mvgrl links``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Chosen, Common, Device, Seed, Source, flag, whole
from mvgrl.errors import InputError, SettingsError

if TYPE_CHECKING:
    import numpy as np

    from mvgrl.cli.running import Job
    from mvgrl.evaluation.links import SplitResult
    from mvgrl.evaluation.missing_links import MissingLinks
    from mvgrl.graphs import Graph

SPLITS, TOP = 5, 100
SCORES = {"auc": "AUC", "average_precision": "avg. precision", "hits": "Hits@50"}


def run(
    graph: str,
    /,
    *,
    splits: Annotated[int, flag("Number of random splits of the edges (5).", converter=whole)] = SPLITS,
    test_fraction: Annotated[float, flag("Share of the edges to hold out for testing (0.1).")] = 0.1,
    top: Annotated[
        int | None, flag("Also list this many likely missing edges of the whole graph.", converter=whole)
    ] = None,
    output: Annotated[Path | None, flag("Where to write them: .csv, .tsv or .parquet (--top 100).", alias="-o")] = None,
    source: Source = Source(),  # noqa: B008 (frozen)
    chosen: Chosen = Chosen(),  # noqa: B008
    seed: Seed = None,
    device: Device = None,
    common: Common = Common(),  # noqa: B008
) -> None:
    """Predict links: hold out edges, train on the rest, and rank the held-out edges among pairs without an edge.

    ```
    mvgrl links edges.csv
    mvgrl links cora-linqs --splits 3 --epochs 50
    mvgrl links edges.csv --nodes nodes.csv --top 100 -o links.csv
    ```

    In every split, 10 % of the edges are held out for testing and 10 % of the rest for validation; the graph that is
    embedded contains neither. Our vectors (their cosine, and a logistic model of their products) are compared with
    scores that need no vectors: Adamic–Adar, common neighbours and the product of degrees. The combined model weights
    all of them. AUC, average precision and Hits@50 are computed on the test edges and as many pairs without an edge,
    and reported as mean and standard deviation over the splits.

    --top trains once more, on the whole graph, and scores pairs at distance two and the ten nearest nodes of every
    node with the model that ranks validation edges best among other pairs at distance two.

    Parameters
    ----------
    graph
        As in mvgrl embed: a table of edges, another file, a folder, or the name of a dataset.
    """
    console = Console(common)
    for name, value in (("splits", splits), ("top", top)):
        if value is not None and value < 1:
            raise SettingsError(f"--{name} is {value}; it must be at least 1")
    if not 0 < test_fraction < 1:
        raise SettingsError(f"--test-fraction is {test_fraction}; it must be above 0 and below 1")
    if output is not None:
        from mvgrl.tables.results import check_table_output

        check_table_output(output, "links.csv", (graph, source.nodes, chosen.config))
        top = top or TOP

    from mvgrl.cli.running import Request, prepare
    from mvgrl.evaluation.links import best_model

    job = prepare(Request(graph, source, chosen, seed, device), console)
    if job.settings.task != "node":
        raise InputError(f"{graph} has {job.named.graph.count:,} graphs; links are predicted in a single one: give one "
                         "of them (edges without a column 'graph' are one graph)")  # fmt: skip
    if job.named.sides is not None:
        raise InputError(f"{graph} is bipartite, but links are compared with common neighbours, which its two sides "
                         "do not have; omit --bipartite if the ids of both columns name the same things")  # fmt: skip
    results = _scored(job, splits, test_fraction)
    best = best_model(results)
    outcome = _outcome(job, results, best)
    text = _as_text(outcome, len(results))
    if top is not None:
        found = _missing(job, results, best, top)
        console.note(f"--top uses {best}, which ranks validation edges best among pairs at distance two")
        columns = _named(job, found)
        outcome["top"] = {"model": best, "candidates": found.candidates, "links": len(found.pairs)}
        if output is None:
            outcome["top"]["pairs"] = [dict(zip(columns, row, strict=True)) for row in _rows(columns)]
            text += "\n\n" + _link_lines(columns)
        else:
            from mvgrl.tables.results import write_table

            write_table(output, columns)
            outcome["output"] = str(output)
            console.note(f"wrote {len(found.pairs):,} of {found.candidates:,} candidates to {output}")
    console.result(outcome, text)


def _scored(job: Job, splits: int, test_fraction: float) -> list[SplitResult]:
    """Train on every split without its held-out edges, and score it."""
    import numpy as np

    from mvgrl.evaluation.link_split import split_edges
    from mvgrl.evaluation.links import score_split

    graph, results = job.named.graph, []
    seeds = [int(np.random.SeedSequence([job.seed, number]).generate_state(1)[0]) for number in range(splits)]
    parts = [split_edges(graph.adjacency, test_fraction=test_fraction, seed=one) for one in seeds]  # errors come first
    for number, (split, one) in enumerate(zip(parts, seeds, strict=True), start=1):
        vectors = _vectors(job, replace(graph, adjacency=split.adjacency), f"split {number} of {splits}")
        with job.console.busy("scoring"):
            results.append(score_split(split, vectors, seed=one))
        cosine, combined = (results[-1].test[name]["auc"] for name in ("cosine", "combined"))
        job.console.note(f"split {number} of {splits}: AUC {cosine:.3f} by cosine, {combined:.3f} combined")
    return results


def _vectors(job: Job, graph: Graph, what: str) -> np.ndarray:
    from mvgrl.progress import ProgressBar
    from mvgrl.training import fit

    with ProgressBar(job.settings, what, quiet=not job.console.bars) as bar:
        trained = fit(graph, job.settings, seed=job.seed, device=job.device, callbacks=[bar])
    return trained.vectors(output=job.output)


def _missing(job: Job, results: Sequence[SplitResult], best: str, top: int) -> MissingLinks:
    """Train on the whole graph and rank its candidates; what was learned on held-out edges is reused."""
    import numpy as np

    from mvgrl.evaluation.link_split import draw_non_edges, edge_pairs
    from mvgrl.evaluation.links import combine, fit_combined, fit_products, pair_scores
    from mvgrl.evaluation.missing_links import missing_links

    adjacency = job.named.graph.adjacency
    vectors = _vectors(job, job.named.graph, "whole graph")
    edges = edge_pairs(adjacency)
    others = draw_non_edges(adjacency, len(edges), np.random.default_rng(job.seed))
    strength = float(np.median([result.strength for result in results]))
    products = fit_products(vectors, edges, others, strengths=[strength], seed=job.seed)
    combined = fit_combined([result.scores for result in results])

    def score(pairs: np.ndarray) -> np.ndarray:
        scores = pair_scores(adjacency, vectors, products, pairs)
        return combine(combined, scores) if best == "combined" else scores[best]

    with job.console.busy("ranking candidates"):
        return missing_links(adjacency, vectors, score, top)


def _outcome(job: Job, results: Sequence[SplitResult], best: str) -> dict[str, Any]:
    """The result as JSON; a score that is not defined is null."""
    import numpy as np

    def summary(name: str, score: str) -> dict[str, float] | None:
        values = [result.test[name][score] for result in results]
        return None if np.isnan(values).any() else {"mean": float(np.mean(values)), "std": float(np.std(values))}

    models = {name: {score: summary(name, score) for score in SCORES} for name in results[0].test}
    for name, scores in models.items():
        scores["validation_average_precision"] = {
            "mean": float(np.mean([result.val[name] for result in results])),
            "std": float(np.std([result.val[name] for result in results])),
        }
    graph = job.named.graph
    sizes = {"nodes": graph.nodes, "edges": graph.edges}
    return {"splits": len(results), **sizes, "seed": job.seed, "models": models, "best_on_validation": best}


def _as_text(outcome: dict[str, Any], splits: int) -> str:
    """One line per model, and who wins."""
    from mvgrl.evaluation.links import LABELS

    title = f"test edges, {splits} split{'s' if splits > 1 else ''}"
    lines = [f"{title:<24}" + "".join(f"{label:>18}" for label in SCORES.values())]
    for name, scores in outcome["models"].items():
        cells = [scores[score] for score in SCORES]
        values = ["–" if one is None else f"{one['mean']:.3f} ± {one['std']:.3f}" for one in cells]
        lines.append(f"  {LABELS[name]:<22}" + "".join(f"{value:>18}" for value in values))
    for score, label in SCORES.items():
        means = {name: scores[score]["mean"] for name, scores in outcome["models"].items() if scores[score]}
        if means:
            lines.append(f"highest {label}: {LABELS[max(means, key=means.__getitem__)]}")
    return "\n".join(lines)


def _named(job: Job, found: MissingLinks) -> dict[str, np.ndarray]:
    ids = job.named.node_ids
    return {"source": ids[found.pairs[:, 0]], "target": ids[found.pairs[:, 1]], "score": found.scores}


def _rows(columns: dict[str, np.ndarray]) -> list[tuple[Any, ...]]:
    return list(zip(*(values.tolist() for values in columns.values()), strict=True))


def _link_lines(columns: dict[str, np.ndarray]) -> str:
    from mvgrl.cli.lines import aligned

    return aligned(columns)

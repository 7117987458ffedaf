"""Everything that can be reproduced: the paper's tables, its ablations, and sweeps beyond it."""

from __future__ import annotations

from typing import Any

from mvgrl.experiments import discrepancies
from mvgrl.experiments.experiment import GRAPH_DATASETS, NODE_DATASETS, Experiment, Variant
from mvgrl.settings import Settings

_CITATIONS = ("cora-linqs", "citeseer", "pubmed")  # the paper's Cora is that of LINQS
_PROBES, _SVMS = ("linear-probe", "converged-probe"), ("nested-svm", "best-c-svm")
_ABLATION_RUNS = {**dict.fromkeys(_CITATIONS, 5), **dict.fromkeys(GRAPH_DATASETS, 3), "reddit-binary": 1}
_ABLATIONS, _SWEEPS = "Ablations", "Sweeps beyond the paper"
_CONTROLS = (
    Variant("untrained", method="untrained", control=True),
    Variant("propagated", method="propagated", control=True),
)
_TABLES = (
    Experiment(
        "node-classification",
        "Node classification",
        (Variant("trained"), *_CONTROLS),
        NODE_DATASETS,
        _PROBES,
        dict.fromkeys(NODE_DATASETS, 50),
        own_recipes=True,
    ),
    Experiment(
        "node-clustering",
        "Node clustering",
        (Variant("trained"), *_CONTROLS),
        NODE_DATASETS,
        ("clustering",),
        dict.fromkeys(NODE_DATASETS, 50),
        own_recipes=True,
    ),
    Experiment(
        "graph-classification",
        "Graph classification",
        (
            Variant("trained"),
            *_CONTROLS,
        ),
        GRAPH_DATASETS,
        _SVMS,
        dict.fromkeys(GRAPH_DATASETS, 5),
        own_recipes=True,
    ),
    Experiment(
        "node-slips",
        "Where the text and the code differ",
        tuple(Variant(row, changes) for row, changes in discrepancies.ROWS.items()),
        ("cora-linqs", "cora", "citeseer"),
        _PROBES,
        dict.fromkeys(("cora-linqs", "cora", "citeseer"), 10),
        shown=("accuracy",),
        about="The default settings with one thing changed.",
        start=Settings(),
        baseline=True,
    ),
)


def _ablation(
    name: str, title: str, *variants: Variant, datasets: Any = None, group: str = _ABLATIONS, **more: Any
) -> Experiment:
    return Experiment(
        name,
        title,
        variants,
        datasets or (*_CITATIONS, *GRAPH_DATASETS),
        more.pop("protocols", (*_PROBES, *_SVMS)),
        _ABLATION_RUNS,
        shown=("accuracy", "nested"),
        group=group,
        **more,
    )


def _sweep(
    name: str, title: str, rows: dict[str, dict[str, Any]], axis: str, tasks: Any = None, **more: Any
) -> Experiment:
    """Rows that are values of one number."""
    variants = (Variant(id, changes, value=id, task=(tasks or {}).get(id, "")) for id, changes in rows.items())
    return _ablation(name, title, *variants, axis=axis, **{"group": _SWEEPS, **more})


_PLAIN = dict(norm="none", dropout=0.0, noise=0.0, l2=0.0)
_SILENT = "the paper gives no strength; {} here"
_PARTS_OF_THE_METHOD = (
    _ablation(
        "ablation-bounds",
        "The bound on mutual information",
        Variant("NCE", dict(bound="nce")),
        Variant("JSD", dict(bound="jsd")),
        Variant("NT-Xent", dict(bound="nt-xent")),
        Variant("DV", dict(bound="dv")),
    ),
    _ablation(
        "ablation-modes",
        "The contrast mode",
        Variant("local-global", dict(mode="local-global")),
        Variant("global", dict(mode="global"), task="graph"),
        Variant("multi-scale", dict(mode="multi-scale", readout="diffpool-2")),
        Variant("hybrid", dict(mode="hybrid"), task="graph"),
        Variant("ensemble", dict(mode="ensemble")),
    ),
    _ablation(
        "ablation-views",
        "The pair of views",
        Variant("adj-ppr", dict(views=("adjacency", "ppr"))),
        Variant("adj-heat", dict(views=("adjacency", "heat"))),
        Variant("adj-dist", dict(views=("adjacency", "distance"))),
        Variant("ppr-heat", dict(views=("ppr", "heat"))),
        Variant("ppr-dist", dict(views=("ppr", "distance"))),
        Variant("heat-dist", dict(views=("heat", "distance"))),
    ),
    _ablation(
        "ablation-readouts",
        "The readout",
        *(Variant(name, dict(readout=name)) for name in ("sum", "mean", "diffpool-1", "diffpool-2")),
    ),
    _ablation(
        "ablation-encoders",
        "The encoders",
        Variant("shared", dict(encoder="shared", draw_two_views=False)),
        Variant("dedicated", dict(encoder="dedicated", draw_two_views=False)),
        Variant(
            "shared, two of four views at random",
            dict(encoder="shared", draw_two_views=True, views=("adjacency", "ppr", "heat", "distance")),
            note="two views per sample in training; the vectors join all four",
        ),
    ),
    _ablation(
        "ablation-view-count",
        "The number of views",
        Variant("2", dict(views=("adjacency", "ppr"))),
        Variant("3", dict(views=("adjacency", "ppr", "heat"))),
        datasets=_CITATIONS,
    ),
    _sweep(
        "ablation-batch-size",
        "The batch size",
        {
            **{str(size): dict(sampler="nodes", sample_size=2000, batch_size=size) for size in (2, 4, 8)},
            **{str(size): dict(batch_size=size) for size in (16, 32, 64, 128, 256)},
        },
        "batch size",
        {str(2**power): "node" if power < 4 else "graph" for power in range(1, 9)},
        group=_ABLATIONS,
    ),
    _ablation(
        "ablation-negatives",
        "The negatives",
        Variant("permuted features", dict(negatives="features")),
        Variant("corrupted adjacency", dict(negatives="adjacency")),
        Variant("both", dict(negatives="both")),
        datasets=_CITATIONS,
    ),
    _ablation(
        "ablation-regularisers",
        "Normalisation and regularisers",
        Variant("none", _PLAIN),
        Variant("BatchNorm", {**_PLAIN, "norm": "batch"}),
        Variant("LayerNorm", {**_PLAIN, "norm": "layer"}),
        Variant("dropout", {**_PLAIN, "dropout": 0.5}, note=_SILENT.format(0.5)),
        Variant("noise", {**_PLAIN, "noise": 0.1}, note=_SILENT.format(0.1)),
        Variant("L2", {**_PLAIN, "l2": 0.0005}, note=_SILENT.format(0.0005)),
    ),
)
_SHARES = {0.5: "node", 1: "node", 2: "", 5: "", 10: "", 20: "", 50: "graph", 100: "graph"}  # percent
_NUMBERS = (
    _sweep(
        "sweep-alpha",
        "The α of ppr",
        {f"{alpha}": dict(diffusion=f"ppr:alpha={alpha}") for alpha in (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)},
        "α",
    ),
    _sweep("sweep-t", "The time of heat", {f"{t}": dict(diffusion=f"heat:t={t}") for t in (1, 2, 5, 10, 20)}, "t"),
    _sweep(
        "sweep-top-k",
        "The entries of ppr kept per row",
        {f"{kept}": dict(diffusion=f"ppr:top_k={kept}") for kept in (8, 16, 32, 64, 128, 256)},
        "entries per row",
        about="Graphs with fewer nodes keep all entries.",
    ),
    _sweep(
        "sweep-hidden",
        "The hidden size",
        {f"{size}": dict(hidden=size) for size in (64, 128, 256, 512, 1024, 2048)},
        "hidden size",
    ),
    _sweep(
        "sweep-layers",
        "The number of layers",
        {f"{layers}": dict(layers=layers) for layers in (1, 2, 3, 4, 8)},
        "layers",
        {"3": "node", "8": "graph"},
    ),
    _ablation(
        "sweep-labels",
        "The share of labels to learn from",
        *(
            Variant(f"{share:g} %{suffix}", method=method, task=task, value=f"{share:g} %", share=share / 100)
            for share, task in _SHARES.items()
            for suffix, method in (("", "mvgrl"), (", propagated", "propagated"))
        ),
        protocols=("linear-probe-with-share", "nested-svm-with-share"),
        group=_SWEEPS,
        about="For nodes, a share of all nodes, drawn outside the test nodes; for graphs, a share of each training "
        "part. Propagated: the same labels, with propagated features in place of the trained vectors.",
        axis="share of labels",
    ),
)
EXPERIMENTS = {one.name: one for one in (*_TABLES, *_PARTS_OF_THE_METHOD, *_NUMBERS)}

"""What the paper concludes from its ablations, in our words, as rows that it favours over others."""

from __future__ import annotations

from dataclasses import dataclass

from mvgrl.experiments.ablations import ABLATIONS
from mvgrl.experiments.published import GRAPH_DATASETS


def _task(dataset: str) -> str:
    return "graph" if dataset in GRAPH_DATASETS else "node"


@dataclass(frozen=True)
class Claim:
    """Rows of an ablation that the paper says are better than others."""

    text: str
    ablation: str
    favoured: tuple[str, ...]
    others: tuple[str, ...]
    task: str = ""  # where it is said of nodes, or of graphs, alone
    remark: str = ""

    @property
    def datasets(self) -> list[str]:
        """Those of the ablation that have rows on both sides."""
        names = ABLATIONS[self.ablation].datasets
        return [name for name in names if self.task in ("", _task(name)) and all(self.sides(name))]

    def sides(self, dataset: str) -> tuple[list[str], list[str]]:
        """The favoured rows and the others, of those that there are for a dataset."""
        rows = ABLATIONS[self.ablation].rows_of(_task(dataset))
        return [row for row in self.favoured if row in rows], [row for row in self.others if row in rows]


@dataclass(frozen=True)
class Conclusion:
    """What the paper concludes of one part of the method, claim by claim; the title does not say whether it is so."""

    title: str
    claims: tuple[Claim, ...]


_PAIRS = tuple(ABLATIONS["ablation-views"].rows)
_DRAWN = "shared, two of four views at random"
CONCLUSIONS = (
    Conclusion(
        "1. The views",
        (
            Claim(
                "A third view, heat, adds nothing to adjacency and ppr",
                "ablation-view-count",
                ("2",),
                ("3",),
                remark="no difference agrees with this",
            ),
            Claim("Adjacency with a diffusion is the best kind of pair", "ablation-views", _PAIRS[:2], _PAIRS[2:]),
            Claim("Adjacency with ppr is the best pair", "ablation-views", _PAIRS[:1], _PAIRS[1:]),
            Claim(
                "Two of four views, drawn at random for each sample, are worse than the same two always",
                "ablation-encoders",
                ("shared",),
                (_DRAWN,),
                remark="one encoder for all views, in both",
            ),
        ),
    ),
    Conclusion(
        "2. What is contrasted",
        (
            Claim("Local-global is better than graph against graph", "ablation-modes", ("local-global",), ("global",)),
            Claim(
                "Local-global is better than multi-scale",
                "ablation-modes",
                ("local-global",),
                ("multi-scale",),
                remark="the paper's row of multi-scale repeats that of diffpool-2",
            ),
            Claim(
                "Local-global is the best of the five modes",
                "ablation-modes",
                ("local-global",),
                ("global", "multi-scale", "hybrid", "ensemble"),
            ),
        ),
    ),
    Conclusion(
        "3. The readout",
        (
            Claim(
                "Sum or mean is better than DiffPool of one layer or two",
                "ablation-readouts",
                ("sum", "mean"),
                ("diffpool-1", "diffpool-2"),
            ),
        ),
    ),
    Conclusion(
        "4. Normalisation and regularisers",
        (
            Claim("BatchNorm and LayerNorm do harm", "ablation-regularisers", ("none",), ("BatchNorm", "LayerNorm")),
            Claim("Dropout, noise and L2 do harm", "ablation-regularisers", ("none",), ("dropout", "noise", "L2")),
        ),
    ),
    Conclusion(
        "Beside the four",
        (
            Claim(
                "JSD is the best bound for graphs", "ablation-bounds", ("JSD",), ("NCE", "NT-Xent", "DV"), task="graph"
            ),
            Claim(
                "NCE is the best bound for nodes",
                "ablation-bounds",
                ("NCE",),
                ("JSD", "NT-Xent", "DV"),
                task="node",
                remark="the paper says so of two sets of three",
            ),
            Claim(
                "An encoder for each view is better than one for all", "ablation-encoders", ("dedicated",), ("shared",)
            ),
            Claim(
                "Permuted features are better negatives than a corrupted adjacency or both",
                "ablation-negatives",
                ("permuted features",),
                ("corrupted adjacency", "both"),
            ),
        ),
    ),
)

"""Definitions of all scores: name in files, label in tables, unit, and number of digits shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """A number that a protocol reports.

    >>> SCORES["nmi"].text(0.6291), SCORES["accuracy"].text(86.8, 0.5), SCORES["nested"].axis
    ('0.629', '86.8 ± 0.5', 'accuracy (nested), %')
    """

    name: str  # in the ledger and in JSON
    label: str  # in a table
    title: str  # in a sentence or on the axis of a chart
    share: bool = False  # at most 1, or a number without a unit; otherwise in percent

    @property
    def digits(self) -> int:
        """Digits after the decimal point, in a table."""
        return 3 if self.share else 1

    @property
    def axis(self) -> str:
        """The title with its unit."""
        return self.title if self.share else f"{self.title}, %"

    def text(self, value: float, std: float | None = None) -> str:
        """Return the value as shown in tables, with its standard deviation if there is one."""
        return f"{value:.{self.digits}f}" + ("" if std is None else f" ± {std:.{self.digits}f}")

    def points(self, difference: float) -> float:
        """Return a difference in points: percent, or hundredths of a share."""
        return difference * 100 if self.share else difference


SCORES = {
    score.name: score
    for score in (
        Score("accuracy", "accuracy", "accuracy"),  # of the linear probe
        Score("validation", "validation", "validation accuracy"),  # of the linear probe, on the validation nodes
        Score("validation_accuracy", "validation accuracy", "validation accuracy"),
        Score("logistic", "logistic", "logistic"),  # accuracy of the converged probe
        Score("random_10", "random 10 %", "accuracy (10 % train)"),  # converged probe, random splits 10/10/80
        Score("random_20", "random 20 %", "accuracy (20 % train)"),  # the same, 20/80
        Score("macro_f1", "macro-F1", "macro-F1"),
        Score("nested", "nested", "accuracy (nested)"),  # C chosen inside each training part
        Score("best_c", "best-C", "accuracy (best-C)"),  # the C with the best mean over the reported folds
        Score("best_c_accuracy", "best-C accuracy", "accuracy (best-C)"),
        Score("nmi", "NMI", "NMI", share=True),
        Score("ari", "ARI", "ARI", share=True),
        Score("auc", "AUC", "AUC", share=True),  # of held-out edges among pairs without an edge
        Score("average_precision", "avg. precision", "average precision", share=True),
        Score("stability", "stability", "stability of clusters", share=True),  # ARI of two clusterings
        Score("r2", "R²", "R²", share=True),
        Score("mae", "mean absolute error", "mean absolute error", share=True),
    )
}

"""What the paper concludes from its ablations, as rows that it favours over others: read from claims.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Experiment, task_of


@dataclass(frozen=True)
class Claim:
    """Rows of an experiment that the paper says are better than others."""

    text: str
    experiment: str
    favoured: tuple[str, ...]
    others: tuple[str, ...]
    task: str = ""  # where it is about nodes, or graphs, alone
    remark: str = ""

    @property
    def about(self) -> Experiment:
        """The experiment."""
        return EXPERIMENTS[self.experiment]

    @property
    def datasets(self) -> list[str]:
        """The datasets of the experiment that have rows on both sides."""
        return [name for name in self.about.datasets if self.task in ("", task_of(name)) and all(self.sides(name))]

    def sides(self, dataset: str) -> tuple[list[str], list[str]]:
        """Return the favoured rows and the others that exist for a dataset."""
        rows = [variant.id for variant in self.about.variants_for(dataset)]
        return [row for row in self.favoured if row in rows], [row for row in self.others if row in rows]


@dataclass(frozen=True)
class Conclusion:
    """What the paper concludes about one part of the method, claim by claim."""

    title: str
    claims: tuple[Claim, ...]


def _claim(favoured: list[str], others: list[str], **values: str) -> Claim:
    return Claim(favoured=tuple(favoured), others=tuple(others), **values)


CONCLUSIONS = tuple(
    Conclusion(one["title"], tuple(_claim(**claim) for claim in one["claims"]))
    for one in tomllib.loads((files(__package__) / "claims.toml").read_text(encoding="utf-8"))["conclusions"]
)

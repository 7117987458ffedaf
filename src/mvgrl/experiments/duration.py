"""Expect how long a comparison takes: operations per method, the speed of the machine, and corrections on the way."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import scipy.sparse as sp
import torch

from mvgrl.experiments.contenders import Contender
from mvgrl.experiments.contest import Contest
from mvgrl.experiments.contest_process import Todo
from mvgrl.experiments.ledger import Run
from mvgrl.graphs import Graph
from mvgrl.settings import Settings
from mvgrl.views.diffusion import Diffusion

_START = 6.0  # seconds until a process has imported everything
_EPOCHS = 300  # after which training usually stops, for lack of progress
# Of the products of a training step, compared with a product of large matrices: by dense and by sparse matrices; and
# the operations per number of a code that everything else costs.
_DENSE, _SPARSE, _OTHER = 0.8, 0.05, 3000.0
_TOKENS_PER_SECOND = {"cpu": 120_000.0, "cuda": 2_500_000.0}  # of walks, that skip-gram trains vectors of
_PROBE = 5e-6  # seconds of a probe per train row, class and column, over all strengths
_SVM = 2e-6  # the same for the nested folds of graphs, per graph, class and column
_COLUMNS = 512


@dataclass
class Expected:
    """The expected seconds of every group of contenders that is left, and how well earlier ones were estimated."""

    seconds: list[float]
    pace: float = 1.0  # the seconds of finished groups, divided by the expected ones
    _spent: float = 0.0
    _expected: float = 0.0

    @property
    def left(self) -> float:
        """The seconds that are left.

        >>> ahead = Expected([10.0, 20.0])
        >>> ahead.finished(30.0)  # three times as long as expected
        >>> ahead.left
        60.0
        """
        return self.pace * sum(self.seconds)

    def finished(self, seconds: float) -> None:
        """Note how long the first of the groups took."""
        self._spent += seconds
        self._expected += self.seconds.pop(0)
        self.pace = self._spent / self._expected


def expected(contest: Contest, todo: Sequence[Todo], lines: Sequence[Run] = ()) -> Expected:
    """Return the expected seconds of what is to be done; earlier runs on a graph of this name count as measurements."""
    speed = _operations_per_second(torch.device(contest.device)) if todo else 1.0
    found = []
    for some in todo:
        seconds = _START
        for place, (contender, left) in enumerate(some):
            one = _seconds(contest, contender, speed, lines) if place == 0 else 0.0  # the others share its training
            trainings = sum(len(runs) for runs in left) if contest.kind == "links" else len(left)
            seconds += one * trainings + _scoring(contest) * sum(len(runs) for runs in left)
        found.append(seconds)
    return Expected(found)


def _operations_per_second(device: torch.device) -> float:
    """Measure a product of two matrices; about a tenth of a second."""
    one = torch.ones(1024, 1024, device=device)
    float((one @ one)[0, 0])  # libraries are loaded
    started = time.perf_counter()
    for _ in range(3):
        one = (one @ one).clamp_(max=1.0)
    float(one[0, 0])  # a GPU has finished when a number is there
    return 3 * 2 * 1024**3 / max(time.perf_counter() - started, 1e-6)


def _seconds(contest: Contest, contender: Contender, speed: float, lines: Sequence[Run]) -> float:
    """Return the expected seconds of one training or computation."""
    same = (contest.dataset.name, contender.id)
    known = [run.seconds for run in lines if (run.dataset, run.variant) == same and not run.failed]
    if known:
        return sum(known) / len(known)
    graph, method = contest.dataset.graph, contender.method
    if method.name in ("deepwalk", "node2vec"):
        return 80 * 40 * graph.nodes / _TOKENS_PER_SECOND["cpu" if contest.device == "cpu" else "cuda"]
    if method.name == "netmf":
        return graph.nodes**2 * _COLUMNS * 160 / speed
    if method.name == "spectral":
        return (2 * graph.edges + graph.nodes * _COLUMNS) * _COLUMNS * 160 / speed
    settings = contest.resolved(contender)
    step = _operations(graph, settings, diffused=not method.source) / speed
    given = method.parameters if method.source else {"epochs": settings.epochs, "patience": 1}
    epochs = given.get("epochs", 0) if method.trains else 0
    return float(step * (3 + (min(epochs, _EPOCHS) if "patience" in given else epochs)))


def _operations(graph: Graph, settings: Settings, *, diffused: bool) -> float:
    """Return what a training step on all nodes costs, in operations of a product of large matrices.

    Methods that follow the settings multiply by a diffusion too, others by the adjacency only.
    """
    features = graph.features
    filled = graph.nodes * (_COLUMNS if graph.count == 1 else 1)  # positions of one graph, labels or degrees of many
    if features is not None:
        filled = sp.csr_array(features).nnz if sp.issparse(features) else features.size
    diffusion = 0.0
    for view in settings.views if diffused else ():
        if isinstance(view, Diffusion):
            kept = getattr(view, "top_k", None)
            diffusion += float((graph.sizes.astype(float) ** 2).sum()) if kept is None else graph.nodes * kept
    sparse = (filled + 2 * graph.edges) / _SPARSE
    return settings.hidden * (12 * sparse + 8 * diffusion / _DENSE + _OTHER * graph.nodes)


def _scoring(contest: Contest) -> float:
    """Return the expected seconds of scoring one run."""
    rows, classes = len(contest.dataset.target), max(2, len(contest.dataset.classes))
    if contest.kind == "folds":
        return _SVM * rows * classes * _COLUMNS * 10
    if contest.kind == "links":
        return 2.0 + rows * 2e-4
    trained = {"random": 0.1 * rows, "given": (contest.parts or (0.0,))[0]}.get(contest.kind, 20.0 * classes)
    return 0.2 + _PROBE * trained * classes * min(trained, _COLUMNS)


def as_text(seconds: float) -> str:
    """Return a duration in words.

    >>> as_text(42), as_text(400), as_text(8000)
    ('about 40 s', 'about 7 min', 'about 2 h 15 min')
    """
    if seconds < 90:
        return f"about {max(10, round(seconds, -1)):.0f} s"
    minutes = round(seconds / 60)
    minutes = minutes if minutes < 60 else 15 * round(minutes / 15)
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60:02d} min"

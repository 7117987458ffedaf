"""Records of a training run, to monitor it: a .csv file with a row per epoch, or a folder for TensorBoard.

An interrupted training may leave a record that ends before its checkpoint (the process was killed between the two) or
after it (a checkpoint is written every few seconds). So a resumed training compares the record with the losses of its
checkpoint: what agrees is kept, and the rest is written again.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from mvgrl.errors import InputError, cannot_write
from mvgrl.history import Epoch, History
from mvgrl.tables.atomic import atomic_write, check_writable
from mvgrl.tables.paths import check_output_file

if TYPE_CHECKING:
    from mvgrl.settings import Settings

COLUMNS = ("epoch", "loss", "lowest_loss", "epochs_since_lowest", "seconds")
_HEADER = ",".join(COLUMNS) + "\n"


class Recorder:
    """A callback that writes every epoch; the training starts it, and closes it whatever happens."""

    def check(self, *, resume: bool = False) -> None:
        """Reject a path that cannot be written, before time is spent on training."""
        raise NotImplementedError

    def start(self, settings: Settings, losses: Sequence[float]) -> None:
        """Continue a training with these losses; there are none unless it is resumed."""
        raise NotImplementedError

    def __call__(self, epoch: Epoch) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Finish writing."""
        raise NotImplementedError


@contextmanager
def recording(callbacks: Iterable[Any], settings: Settings, losses: Sequence[float]) -> Iterator[None]:
    """Start the recorders among the callbacks of a training run, and close them at the end."""
    with ExitStack() as stack:
        for one in callbacks:
            if isinstance(one, Recorder):
                stack.callback(one.close)
                one.start(settings, losses)
        yield


class HistoryFile(Recorder):
    """Write a row per epoch to a .csv file: epoch, loss, lowest loss, epochs since then, and seconds of training.

    An existing file is replaced if it is such a history. The seconds of a resumed run continue.

    >>> from tempfile import TemporaryDirectory
    >>> from mvgrl import Graph, Settings, fit
    >>> with TemporaryDirectory() as folder:
    ...     record = HistoryFile(f"{folder}/history.csv")
    ...     trained = fit(Graph.from_edges([0, 1], [1, 2]), Settings(hidden=8, epochs=2), callbacks=[record])
    ...     [row.split(",")[0] for row in record.path.read_text().splitlines()]
    ['epoch', '1', '2']
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: TextIO | None = None
        self._before = 0.0  # seconds of the earlier parts of a resumed run

    def check(self, *, resume: bool = False) -> None:
        check_output_file(self.path, (".csv",), "history.csv")
        if self._text(len(_HEADER)) not in ("", _HEADER):
            raise InputError(f"{self.path} exists and is not the history of a training run; choose another name")

    def start(self, settings: Settings, losses: Sequence[float]) -> None:
        self.check()
        rows = self._kept(losses)
        seconds = [row.rpartition(",")[2] for row in rows]
        self._before = max((float(one) for one in seconds if one), default=0.0)
        rows += [_row(epoch) for epoch in _replayed(losses)[len(rows) :]]
        with atomic_write(self.path) as temporary:
            temporary.write_text(_HEADER + "".join(f"{row}\n" for row in rows), "utf-8")
        self._file = self.path.open("a", encoding="utf-8")

    def __call__(self, epoch: Epoch) -> None:
        assert self._file is not None, "a recorder is called by a training that has started it"
        with _writing(self.path):
            self._file.write(f"{_row(epoch._replace(seconds=self._before + epoch.seconds))}\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            with _writing(self.path):
                self._file.close()
            self._file = None

    def _text(self, most: int = -1) -> str:
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                return file.read(most)
        except FileNotFoundError:
            return ""

    def _kept(self, losses: Sequence[float]) -> list[str]:
        """Return the rows of the file, up to the first that is not an epoch of this training."""
        kept = []
        # What follows the last line break was being written when the process was killed.
        for row, epoch in zip(self._text().split("\n")[1:-1], _replayed(losses), strict=False):
            cells = row.split(",")
            if len(cells) != len(COLUMNS) or cells[:-1] != _row(epoch).split(",")[:-1] or not _is_seconds(cells[-1]):
                break
            kept.append(row)
        return kept


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def _replayed(losses: Sequence[float]) -> list[Epoch]:
    """Return the epochs with the given losses; their seconds are unknown."""
    history, found = History(), []
    for loss in losses:
        history.add(loss)
        found.append(Epoch(len(history.losses), loss, history.best_loss, history.waited, math.nan))
    return found


def _row(epoch: Epoch) -> str:
    seconds = "" if math.isnan(epoch.seconds) else f"{epoch.seconds:.3f}"
    return f"{epoch.number},{epoch.loss!r},{epoch.best!r},{epoch.waited},{seconds}"


def _is_seconds(text: str) -> bool:
    try:
        return not text or math.isfinite(float(text))
    except ValueError:
        return False


class TensorBoard(Recorder):
    """Write the loss, the lowest loss and the epochs since then to a folder for TensorBoard, and the settings as text.

    A folder has one training; ``tensorboard --logdir`` of the folder around it shows them side by side. ``texts`` are
    more tables for its page of texts, by title. This needs ``pip install 'mvgrl[tensorboard]'``.
    """

    def __init__(self, folder: str | Path, texts: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.folder = Path(folder)
        self.texts = dict(texts or {})
        self._settings: dict[str, Any] = {}
        self._writer: Any = None

    def check(self, *, resume: bool = False) -> None:
        try:
            import torch.utils.tensorboard  # noqa: F401
        except ImportError:
            raise InputError(
                "a record for TensorBoard needs tensorboard, which is not installed: pip install 'mvgrl[tensorboard]'"
            ) from None
        check_writable(self.folder / "events")
        if not resume and self._files():
            raise InputError(
                f"{self.folder} has the record of another training run; choose another folder, or delete it"
            )

    def start(self, settings: Settings, losses: Sequence[float]) -> None:
        self.check(resume=bool(losses))
        self._settings = settings.to_dict()
        if losses:
            kept = self._kept(losses)
            self._open(first=kept + 1)
            for epoch in _replayed(losses)[kept:]:
                self._add(epoch)

    def __call__(self, epoch: Epoch) -> None:
        if self._writer is None:  # not before there is a checkpoint to resume from
            self._open(first=1)
        self._add(epoch)

    def close(self) -> None:
        if self._writer is not None:
            with _writing(self.folder):
                self._writer.close()
            self._writer = None

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("events.out.tfevents.*"))

    def _open(self, first: int) -> None:
        """Start a file of events, to be read after all others; events from the first epoch on in these are void."""
        from torch.utils.tensorboard import SummaryWriter

        while any(path.name.split(".")[3] == str(int(time.time())) for path in self._files()):
            time.sleep(0.05)  # files are read in the order of their names, which start with the second
        with _writing(self.folder):
            self._writer = SummaryWriter(str(self.folder), purge_step=first if self._files() else None, flush_secs=1)
            if first == 1:
                for title, values in {"settings": self._settings, **self.texts}.items():
                    self._writer.add_text(title, _table(values), 0)

    def _add(self, epoch: Epoch) -> None:
        with _writing(self.folder):
            for name, value in zip(COLUMNS[1:-1], (epoch.loss, epoch.best, epoch.waited), strict=True):
                self._writer.add_scalar(name, value, epoch.number)

    def _kept(self, losses: Sequence[float]) -> int:
        """Return how many epochs of this training are in the folder."""
        if not self._files():
            return 0
        from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

        events = EventAccumulator(str(self.folder), size_guidance={SCALARS: 0}).Reload()
        found = events.Scalars("loss") if "loss" in events.Tags()[SCALARS] else []
        expected = [(number, float(np.float32(loss))) for number, loss in enumerate(losses, 1)]
        same = [(one.step, one.value) == wanted for one, wanted in zip(found, expected, strict=False)]
        return same.index(False) if False in same else len(same)


def _table(values: Mapping[str, Any]) -> str:
    """Return values as a Markdown table.

    >>> print(_table({"hidden": 8, "views": ["adjacency", "ppr"]}))
    | name | value |
    |---|---|
    | hidden | 8 |
    | views | ["adjacency", "ppr"] |
    """
    texts = {name: one if isinstance(one, str) else json.dumps(one, default=str) for name, one in values.items()}
    rows = [f"| {name} | {text} |" for name, text in texts.items()]
    return "\n".join(["| name | value |", "|---|---|", *rows])

"""The records of a training that embed and train write: --history and --tensorboard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvgrl.cli.options import Recorded
from mvgrl.errors import InputError, SettingsError

if TYPE_CHECKING:
    from mvgrl.recording import Recorder


def recorders(
    recorded: Recorded,
    method: str,
    output: Path | None,
    inputs: Iterable[str | Path | None],
    *,
    resume: bool,
) -> list[Recorder]:
    """Return what records a training, checked before any work starts."""
    from mvgrl.recording import HistoryFile, TensorBoard
    from mvgrl.tables.paths import check_not_input

    found: list[Recorder] = []
    for name, path in (("history", recorded.history), ("tensorboard", recorded.tensorboard)):
        if path is None:
            continue
        if method not in ("default", "mvgrl"):
            raise SettingsError(f"--{name} records the training of MVGRL, not of {method!r}; omit it")
        if output is not None and path.absolute().is_relative_to(output.absolute()):
            raise InputError(f"--{name} {path} is the output {output} or inside it; choose another path")
        check_not_input(path, inputs)
        found.append(HistoryFile(path) if name == "history" else TensorBoard(path))
    for one in found:
        one.check(resume=resume)
    return found


def add_texts(records: Iterable[Recorder], graph: str, choices: Mapping[str, str]) -> None:
    """Let TensorBoard show the graph and what was chosen for it."""
    from mvgrl.recording import TensorBoard

    texts: dict[str, Mapping[str, Any]] = {"training": {"graph": graph}, "choices": choices}
    for one in records:
        if isinstance(one, TensorBoard):
            one.texts = {title: values for title, values in texts.items() if values}

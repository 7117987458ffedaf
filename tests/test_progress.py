from __future__ import annotations

import io
import sys
import types

import pytest

from mvgrl import Graph, Settings, fit
from mvgrl.history import Epoch
from mvgrl.progress import NotebookBar, ProgressBar, ProgressLines, progress_for

SETTINGS = Settings(hidden=4, epochs=7, patience=7)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_progress_bar_is_shown_on_a_terminal_only(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", stream)
    with ProgressBar(SETTINGS, "Cora") as bar:
        trained = fit(Graph.from_edges([0, 1], [1, 2]), SETTINGS, device="cpu", callbacks=[bar])
    shown = stream.getvalue()
    if stream.isatty():
        assert "Cora" in shown
        assert "7/7" in shown
        assert f"lowest {trained.history.best_loss:.4f}" in shown
    else:
        assert shown == ""
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("stream", "kind"), [(Terminal(), ProgressBar), (io.StringIO(), ProgressLines)])
def test_progress_suits_the_stream(stream: io.StringIO, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", stream)
    with progress_for(SETTINGS) as progress:
        fit(Graph.from_edges([0, 1], [1, 2]), SETTINGS, device="cpu", callbacks=[progress])
    assert type(progress) is kind
    assert "7" in stream.getvalue()


def test_lines_are_the_first_and_the_last_epoch_of_a_short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with ProgressLines(SETTINGS) as lines:
        for number in range(1, 6):
            lines(Epoch(number, 1 / number, 1 / number, 0, 0.1 * number))
    first, last = stream.getvalue().splitlines()
    assert first == "training: epoch 1 of at most 7, loss 1.0000, lowest 1.0000"
    assert last == "training: epoch 5 of at most 7, loss 0.2000, lowest 0.2000"


def test_a_notebook_gets_one_bar_that_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython's interface, as documented: display returns a handle, whose update replaces what is shown."""
    pages: list[str] = []
    handle = types.SimpleNamespace(update=lambda page: pages.append(page))
    shown: list[str] = []

    def display(page: str, display_id: bool = False) -> types.SimpleNamespace:
        assert display_id
        shown.append(page)
        return handle

    notebook = types.ModuleType("IPython")
    notebook.get_ipython = lambda: types.SimpleNamespace()  # type: ignore[attr-defined]
    part = types.ModuleType("IPython.display")
    part.HTML, part.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", part)
    with progress_for(SETTINGS) as bar:
        assert type(bar) is NotebookBar
        for number in range(1, 6):
            bar(Epoch(number, 1 / number, 1 / number, 0, 0.15 * number))
    assert len(shown) == 1
    assert [page.count("<progress") for page in pages] == [1] * len(pages)
    assert len(pages) < 4
    assert "5/7" in pages[-1]

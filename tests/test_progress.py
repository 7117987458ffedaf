from __future__ import annotations

import io

import pytest

from mvgrl import Graph, Settings, fit
from mvgrl.progress import ProgressBar

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

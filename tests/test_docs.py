"""The Python code in the documentation runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python.md"


@pytest.mark.filterwarnings("ignore::mvgrl.errors.GraphWarning")
def test_python_page_runs() -> None:
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), names)
    assert names["embedder"].ids_.tolist() == ["ann", "bob", "cy", "dan"]
    assert names["frame"].index.tolist() == ["ann", "bob", "cy", "dan", "eve"]
    assert names["frame"].equals(names["vectors"])
    assert names["eve"].shape == (2,)
    assert names["arrow"].column_names == ["id", "e0", "e1"]

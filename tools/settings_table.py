"""Write the table of settings into the documentation, from their definitions in ``mvgrl.settings``.

    python tools/settings_table.py docs/method.md

Everything between ``<!-- settings -->`` and ``<!-- end -->`` is replaced.
"""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from mvgrl.definitions import spec_of
from mvgrl.settings import BY_TASK, OutputFields, TaskField, TrainingFields

_MARKED = re.compile(r"(<!-- settings -->\n).*?(<!-- end -->)", re.DOTALL)


def table() -> str:
    """The table in Markdown: one row per setting, then one per option of the output."""
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for group in (TaskField, TrainingFields, OutputFields):
        for f in fields(group):
            lines.append(f"| `{f.name}` | {_default(f.name, f.default)} | {spec_of(f).help.replace('|', '/')} |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """The page with its table of settings up to date."""
    return _MARKED.sub(lambda match: f"{match[1]}{table()}\n{match[2]}", page)


def _default(name: str, default: Any) -> str:
    if default is None:
        by_task = {task: values[name] for task, values in BY_TASK.items() if name in values}
        return "; ".join(f"{task} `{value}`" for task, value in by_task.items()) or "automatic"
    return f"`{','.join(default)}`" if isinstance(default, tuple) else f"`{str(default).lower()}`"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")

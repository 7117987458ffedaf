"""Write the table of settings into the documentation, from their definitions in ``mvgrl.settings``.

    python tools/settings_table.py docs/method.md

Everything between ``<!-- settings -->`` and ``<!-- end -->`` is replaced.
"""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path

from mvgrl.definitions import spec_of
from mvgrl.settings import OutputFields, TaskField, TrainingFields, default_text

_MARKED = re.compile(r"(<!-- settings -->\n).*?(<!-- end -->)", re.DOTALL)


def table() -> str:
    """Return the table in Markdown: one row per setting, then one per option of the output."""
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for group in (TaskField, TrainingFields, OutputFields):
        for f in fields(group):
            default = default_text(f.name, f.default) or "false"
            lines.append(f"| `{f.name}` | {default} | {spec_of(f).help} |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """Return the page with its table of settings up to date."""
    return _MARKED.sub(lambda match: f"{match[1]}{table()}\n{match[2]}", page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")

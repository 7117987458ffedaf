"""Diagrams in Mermaid's language, which the source host draws itself, as pictures within the pages."""

from __future__ import annotations

import re
from itertools import count

_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def with_diagrams(text: str) -> str:
    """Return a page with its diagrams as SVG; the style sheet of the site colours them, for light and dark."""
    number = count()

    def drawn(match: re.Match[str]) -> str:
        svg = _svg(match[1]).replace("my-svg", f"diagram-{next(number)}")
        return f'```{{raw}} html\n<div class="diagram">{svg}</div>\n```'

    return _DIAGRAM.sub(drawn, text)


def _svg(diagram: str) -> str:
    import mermaidx  # takes a while

    return mermaidx.render(diagram, theme="neutral").svg()

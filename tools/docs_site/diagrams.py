"""Diagrams in Mermaid's language, which the source host draws itself, as pictures within the pages."""

from __future__ import annotations

import re

_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def with_diagrams(text: str) -> str:
    """Return a page with its diagrams as SVG; the style sheet of the site colours them, for light and dark."""
    for number, diagram in enumerate(_DIAGRAM.findall(text)):
        svg = _svg(diagram).replace("my-svg", f"diagram-{number}")
        text = _DIAGRAM.sub(
            lambda match, svg=svg: f'```{{raw}} html\n<div class="diagram">{svg}</div>\n```', text, count=1
        )
    return text


def _svg(diagram: str) -> str:
    import mermaidx  # takes a while

    return mermaidx.render(diagram, theme="neutral").svg()

"""Jinja2 templates of the pages and their charts, and the CSS they include."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mvgrl.reports.document import plain

FOLDER = Path(__file__).parent
_ENVIRONMENT = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined)
_ENVIRONMENT.trim_blocks = _ENVIRONMENT.lstrip_blocks = _ENVIRONMENT.keep_trailing_newline = True
_ENVIRONMENT.finalize = lambda value: value if isinstance(value, Markup) else plain(value)


def render(template: str, **values: Any) -> str:
    """Fill in a template; each value is reduced to printable text on one line, then escaped.

    >>> "<h1>a &lt; b</h1>" in render("page.html.jinja", document={"title": "a <\\n b\\x00", "sections": []})
    True
    """
    return _ENVIRONMENT.get_template(template).render(values)


def style(*more: str) -> str:
    """Return the style sheet that all pages share, followed by further files of this folder.

    >>> style("explorer.css").startswith(style())
    True
    """
    return "\n".join(render(name) for name in ("style.css", *more))

"""The page as one file that loads nothing: data, script and style, and a policy that allows only these."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from mvgrl.explorer.contents import Contents, pack
from mvgrl.reports.templates import render, style
from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.paths import check_output_file

_NO_STYLE = ""  # the empty style that the lasso adds


def write_page(path: str | os.PathLike[str], contents: Contents) -> int:
    """Write a self-contained page; return its size in bytes. The write is atomic."""
    check_output_file(path, (".html",), "page.html")
    page = page_of(contents).encode()
    with atomic_write(path) as temporary:
        Path(temporary).write_bytes(page)
    return len(page)


def page_of(contents: Contents) -> str:
    """Return the page with all data inside.

    >>> import numpy as np
    >>> from mvgrl.explorer.contents import Map
    >>> page = page_of(Contents("Two", np.arange(2), (Map("", np.array([[-1.0, 0.0], [1.0, 0.0]])),)))
    >>> "default-src 'none'" in page, "src=" in page.split("<script>")[0]
    (True, False)
    """
    data = base64.b64encode(gzip.compress(pack(contents), 6, mtime=0)).decode()
    return html(data, policy())


def policy(*more: str) -> str:
    """Return the content-security policy: our script and styles by their hashes, and what is given."""
    styles = f"style-src {_hash(sheet())} {_hash(_NO_STYLE)}"
    rules = (
        "default-src 'none'",
        f"script-src {_hash(script())}",
        styles,
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *more,
    )
    return "; ".join(rules)


def html(data: str | None, rules: str) -> str:
    """Return the page; without data, its script asks the server."""
    parts: dict[str, Any] = {
        "style": Markup(sheet()),
        "script": Markup(script()),
        "data": None if data is None else Markup(data),
        "policy": Markup(rules),
    }
    return render("explorer.html.jinja", **parts)


def script() -> str:
    """Return the script of the page, which web/ is the source of."""
    return (files("mvgrl.explorer") / "assets" / "explorer.js").read_text("utf-8")


def sheet() -> str:
    """Return the style sheet: that of all pages, and the arrangement of this one."""
    return style("explorer.css")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

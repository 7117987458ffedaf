"""Check a built site: links lead to files and anchors that exist, and no page loads anything from outside."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}
_OUTSIDE = re.compile(r"""(?:@import|url\()\s*(?:url\()?["']?((?:https?:)?//[^"')]+)""")  # in a style sheet
_LOADED_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "modulepreload", "manifest"}


class _Page(HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []  # the address, and whether it is loaded with the page
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src", "data"):
            if name in given and (name != "data" or tag == "object"):
                relations = set(given.get("rel", "").split())
                loaded = (tag, name) in _LOADED or (tag == "link" and bool(relations & _LOADED_RELATIONS))
                self.links.append((given[name], loaded))


def problems(site: Path) -> list[str]:
    """Return what is wrong with the links of a site, a line each; addresses outside are only checked for syntax."""

    @cache
    def page(path: Path) -> _Page:
        return _Page(path.read_text(encoding="utf-8"))

    found = []
    for path in sorted(site.rglob("*.html")):
        for address, loaded in dict.fromkeys(page(path).links):
            where = f"{path.relative_to(site)}: {address}"
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if loaded:
                    found.append(f"{where} is loaded from outside")
                elif parts.scheme not in ("https", "http", "mailto") or not (parts.netloc or parts.path):
                    found.append(f"{where} is not a valid address")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{where} leads to no file")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).anchors:
                found.append(f"{where} leads to no anchor")
    for path in sorted(site.rglob("*.css")):
        for address in _OUTSIDE.findall(path.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(site)}: {address} is loaded from outside")
    return found

"""Documents as HTML."""

from __future__ import annotations

from mvgrl.reports.document import Document
from mvgrl.reports.templates import render


def as_html(document: Document) -> str:
    """Return the document as one HTML file that loads nothing else.

    >>> from mvgrl.reports.document import Section
    >>> page = as_html(Document("A < B", (Section("One", ("Text.",)),)))
    >>> "<h1>A &lt; B</h1>" in page, '<h2 id="part-1">One</h2>' in page
    (True, True)
    """
    return render("page.html.jinja", document=document)

"""The documentation site: built strictly, complete, with working links, and without anything from outside.

The examples are not run here; tests/test_examples.py runs them.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from tools.browser import PROGRAM, Browser
from tools.docs_site.check import problems
from tools.docs_site.diagrams import with_diagrams
from tools.docs_site.gallery import Gallery
from tools.docs_site.notebook import as_markdown
from tools.docs_site.pages import NAVIGATION, Pages, examples
from tools.docs_site.reference import API

import mvgrl
from mvgrl.cli import VERBS

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, without the outputs of the examples; a warning or a broken link is an error."""
    for needed in ("sphinx", "furo", "myst_parser", "sphinx_copybutton"):
        pytest.importorskip(needed, reason="the site needs pip install 'mvgrl[site]'")
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "tools.docs_site", "--quick", "-o", "site", "--work", "work"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "site"


def text_of(path: Path) -> str:
    """The words of a page, without markup."""
    found = re.sub(r"<(script|style).*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", found)).split())


def test_home_page_is_the_readme_with_grouped_navigation(site: Path) -> None:
    home = text_of(site / "index.html")
    assert "Learn vectors for the nodes of a graph, or for whole graphs, without labels." in home
    assert "Contributing: a tour of the code" in home
    places = [home.index(f"{group} ") for group in NAVIGATION]
    assert places == sorted(places)


def test_every_page_of_docs_is_there(site: Path) -> None:
    for path in (ROOT / "docs").glob("*.md"):
        title = path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        assert f"<h1>{html.escape(title, quote=False)}" in (site / f"{path.stem}.html").read_text(encoding="utf-8")


def test_the_api_reference_describes_every_parameter(site: Path) -> None:
    page = text_of(site / "api" / "embedders.html")
    for kind in (mvgrl.NodeEmbedder, mvgrl.GraphEmbedder):
        for one in fields(kind):
            assert re.search(rf"\b{one.name} \(", page), one.name
    assert page.count("Random seed; None draws a different one each time.") == 2
    settings = text_of(site / "api" / "training.html")
    for part in (mvgrl.Settings, mvgrl.Output):
        for one in fields(part):
            assert one.metadata["spec"].help in settings


def test_the_api_reference_has_every_public_name(site: Path) -> None:
    pages = "".join((site / "api" / f"{page}.html").read_text(encoding="utf-8") for page in API)
    for name in set(mvgrl.__all__) - {"__version__"}:
        assert f'id="mvgrl.{name}"' in pages
    for part in (mvgrl.datasets, mvgrl.evaluation, mvgrl.views):
        for name in part.__all__:
            assert f'id="{part.__name__}.{name}"' in pages
    assert ":func:" not in pages
    assert ":meth:" not in pages


def test_the_page_of_the_command_line_has_every_verb_with_its_flags(site: Path) -> None:
    page = (site / "command_line.html").read_text(encoding="utf-8")
    parts = {verb: page.split(f'id="mvgrl-{verb}"', 1)[1].split("<section", 1)[0] for verb in VERBS}
    assert all("--help" in part or "--json" in part for part in parts.values())
    assert "--resume" in parts["train"]
    assert "--resume" not in parts["map"]
    assert "docs_site" not in page


def test_the_gallery_has_every_example_with_its_source(site: Path) -> None:
    listed = (site / "examples" / "index.html").read_text(encoding="utf-8")
    assert len(examples()) >= 5
    for path in examples():
        assert f'href="{path.stem}.html"' in listed
        page = text_of(site / "examples" / f"{path.stem}.html")
        line = "import NodeEmbedder" if path.stem in ("classify_nodes", "messy_table", "wordnet") else "import"
        assert line in page
        assert f"Download {path.name}" in page
    assert "it needs the files of WordNet" in text_of(site / "examples" / "wordnet.html")
    assert "p189" in text_of(site / "examples" / "messy_table.html")  # printed by the stored notebook


def test_nothing_is_loaded_from_outside(site: Path) -> None:
    """The build itself has followed every link."""
    for path in site.rglob("*.html"):
        assert not re.search(r"<(script|img|iframe|link)[^>]+(src|href)=\"(https?:)?//", path.read_text("utf-8"))
    assert (site / "search.html").exists()


@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium to open the pages with; apt-get install chromium")
def test_pages_fit_a_phone_and_the_search_works_without_a_server(site: Path) -> None:
    with Browser() as browser:
        browser.size(390, 844, mobile=True)
        for name in ("index", "command_line", "api/embedders"):
            browser.open(site / f"{name}.html")
            assert browser.run("document.documentElement.scrollWidth") == 390, name
            assert browser.logged == []
            assert all(address.startswith(("file:", "data:")) for address in browser.requested)
        browser.open(f"{(site / 'search.html').as_uri()}?q=NodeEmbedder")
        browser.wait(
            "[...document.querySelectorAll('#search-results a')].some(one => one.href.includes('api/embedders'))"
        )


def test_a_diagram_is_a_picture() -> None:
    pytest.importorskip("mermaidx", reason="diagrams need pip install 'mvgrl[docs]'")
    page = with_diagrams("# A\n\n```mermaid\nflowchart LR\n  a --> b[vectors]\n```\n\nB\n")
    assert page.startswith('# A\n\n```{raw} html\n<div class="diagram"><svg id="diagram-0"')
    assert page.endswith("</svg></div>\n```\n\nB\n")
    assert "vectors" in page
    assert "flowchart LR" not in page


def test_what_is_wrong_with_links_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"></a><a href="#gone"></a><a href="b.html"></a><a href="b.html#x"></a>'
        '<a href="c.html"></a><a href="https://example.org/"></a><a href="https://"></a><a href="javascript:1"></a>'
        '<script src="https://example.org/a.js"></script><link rel="stylesheet" href="//example.org/a.css">'
        '<link rel="canonical" href="https://example.org/a.html"><img src="data:image/png;base64,AA==">'
    )
    (tmp_path / "b.html").write_text('<a name="y"></a>')
    (tmp_path / "fonts.css").write_text("@import url('https://example.org/font.css'); a { background: url(b.html) }")
    assert problems(tmp_path) == [
        "a.html: #gone leads to no anchor",
        "a.html: b.html#x leads to no anchor",
        "a.html: c.html leads to no file",
        "a.html: https:// is not a valid address",
        "a.html: javascript:1 is not a valid address",
        "a.html: https://example.org/a.js is loaded from outside",
        "a.html: //example.org/a.css is loaded from outside",
        "fonts.css: https://example.org/font.css is loaded from outside",
    ]


def test_links_of_the_repository_become_links_of_the_site(tmp_path: Path) -> None:
    pages = Pages(tmp_path)
    text = "[a](../README.md#speed) [b](scale.md) [c](#here) [d](https://example.org) [e](../recipes/graph/mutag.toml)"
    code = "\n```sh\nmvgrl [x](nowhere.md)\n```\n"
    assert pages.with_links(text + code, "docs/method.md", "method") == (
        "[a](index.md#speed) [b](scale.md) [c](#here) [d](https://example.org) [e](files/recipes/graph/mutag.toml)"
        + code
    )
    assert (tmp_path / "files/recipes/graph/mutag.toml").exists()
    assert pages.with_links("[a](cora.py)", "examples/x.py", "examples/x") == "[a](cora.md)"
    with pytest.raises(FileNotFoundError, match=r"docs/method.md links to gone.md, which does not exist"):
        pages.with_links("[a](gone.md)", "docs/method.md", "method")


def test_an_example_runs_once_until_it_changes(tmp_path: Path) -> None:
    script = tmp_path / "small.py"
    code = "from pathlib import Path\nPath('map.png').write_bytes(b'')\nprint('found', 3)\n"
    pages = Pages(tmp_path / "source")
    gallery = Gallery(tmp_path / "ran")
    made = []
    for text in ('"""Count: things."""\n', '"""Count: things."""\n', '"""Count: more things."""\n'):
        script.write_text(text + code)
        page = gallery._script(script, pages)
        assert page.startswith("# Count\n")
        assert ":class: output\n\nfound 3\n```" in page
        assert "![map.png](../files/examples/small-map.png)" in page
        made.append([path.stat().st_mtime_ns for path in (tmp_path / "ran" / "small").glob("*/printed.txt")])
    assert len(made[0]) == 1
    assert made[0] == made[1] != made[2]
    script.write_text('"""Fail."""\nraise SystemExit("no such luck")\n')
    with pytest.raises(RuntimeError, match="no such luck"):
        gallery._script(script, pages)


def test_a_notebook_shows_text_tables_and_pictures(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "stream", "text": ["one\n"]},
        {"output_type": "stream", "text": ["two\n"]},
        {"output_type": "execute_result", "data": {"text/html": ["<table></table>"], "text/plain": ["plain"]}},
        {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": ["<Image>"]}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": ["x = 1"], "outputs": outputs},
    ]
    page = as_markdown({"cells": cells}, "[the file](a.ipynb)", tmp_path, "note")
    assert page.startswith("# Title\n\n[the file](a.ipynb)\n\n```python\nx = 1\n```\n\n```{code-block} text\n")
    assert ":class: output\n\none\ntwo\n```\n" in page
    assert "<table></table>" in page
    assert "plain" not in page
    assert (tmp_path / "files" / "examples" / "note-1.png").read_bytes() == b"\0\0\0"

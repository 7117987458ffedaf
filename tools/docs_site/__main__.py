"""Build the documentation site, strictly: any warning, any broken link, and anything loaded from outside is an error.

python -m tools.docs_site
python -m tools.docs_site --quick -o elsewhere
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from .check import problems
from .gallery import Gallery
from .pages import ROOT, Pages
from .reference import api_pages, command_line, module_sources


def main(arguments: Sequence[str] | None = None) -> int:
    """Assemble the pages, build the site and check its links; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs_site", description="Build the documentation site.")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "site", help="the folder of the site, replaced")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "docs", help="a folder for what is kept between")
    parser.add_argument("--quick", action="store_true", help="do not run the examples, nor draw the diagrams")
    parser.add_argument("--wordnet", type=Path, help="a folder with WordNet's files, to run its example too")
    chosen = parser.parse_args(arguments)

    source = chosen.work / "source"
    shutil.rmtree(source, ignore_errors=True)
    gallery = Gallery(chosen.work / "ran", execute=not chosen.quick, wordnet=chosen.wordnet)
    pages = Pages(source, draw=not chosen.quick)
    pages.add_repository()
    gallery.add_to(pages)
    pages.add("command_line", command_line())
    for name, text in api_pages().items():
        pages.add(name, text)
    pages.add_navigation()
    shutil.rmtree(chosen.output, ignore_errors=True)
    if code := _sphinx(source, chosen.output):
        return code
    found = problems(chosen.output)
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    if not found:
        print(f"wrote {chosen.output / 'index.html'} ({len(list(chosen.output.rglob('*.html')))} pages)")
    return 1 if found else 0


def _sphinx(source: Path, output: Path) -> int:
    from sphinx.cmd.build import build_main

    sys.path.insert(0, str(module_sources()))
    doctrees = source.parent / "doctrees"
    shutil.rmtree(doctrees, ignore_errors=True)
    configuration = str(Path(__file__).parent)
    options = ["--fail-on-warning", "--quiet", "-c", configuration, "-d", str(doctrees)]
    if (extra := source / "extra").exists():
        options += ["-D", f"html_extra_path={extra}"]
    return int(build_main([*options, str(source), str(output)]))


if __name__ == "__main__":
    sys.exit(main())

"""The Markdown of the repository as pages of the site, with links that lead to pages and copied files."""

from __future__ import annotations

import os.path
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from .diagrams import with_diagrams

ROOT = Path(__file__).resolve().parents[2]

# The groups of the navigation. Every page has to be in one of them: a page that is in none is a warning.
NAVIGATION = {
    "Use it": ("python", "inputs", "using_vectors", "explorer", "compare", "scale", "cluster"),
    "Examples": ("examples/index", "cora"),
    "Method": ("method", "architecture"),
    "Results": ("reproducibility", "ablations", "arena", "recipes", "search_records"),
    "Reference": ("command_line", "api/index", "changelog", "security"),
}

_FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r'(?P<before>\]\(|src=")(?P<target>[^)"#\s]*)(?P<anchor>#[^)"\s]*)?(?P<after>[)"])')


def page_names() -> dict[str, str]:
    """Return the page of every file and folder of the repository that has one."""
    names = {"README.md": "index", "CHANGELOG.md": "changelog", "SECURITY.md": "security", "recipes": "recipes"}
    names["results/search/README.md"] = "search_records"
    names |= {f"docs/{path.name}": path.stem for path in (ROOT / "docs").glob("*.md")}
    return names | {f"examples/{path.name}": f"examples/{path.stem}" for path in examples()}


def examples() -> list[Path]:
    """Return the scripts and notebooks of the gallery."""
    return sorted(path for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".ipynb"))


class Pages:
    """A folder of Markdown that Sphinx builds the site from."""

    def __init__(self, folder: Path, *, draw: bool = True) -> None:
        self.folder, self.draw = folder, draw
        self.of = page_names()

    def add(self, page: str, text: str) -> None:
        """Write a page."""
        path = self.folder / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def copy(self, path: Path, name: str) -> str:
        """Copy a file that pages show or link to; return its name."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        return name

    def add_repository(self) -> None:
        """Add the Markdown files of the repository, and the recipes."""
        for name, page in self.of.items():
            if name.endswith(".md"):
                text = self.with_links((ROOT / name).read_text(encoding="utf-8"), name, page)
                self.add(page, with_diagrams(text) if self.draw else text.replace("```mermaid\n", "```text\n"))
        self.add("recipes", _recipes())

    def with_links(self, text: str, source: str, page: str) -> str:
        """Return the text with each relative link of a file of the repository as one from a page of the site."""

        def link(match: re.Match[str]) -> str:
            target, anchor = match["target"], match["anchor"] or ""
            if not target or re.match(r"[a-z]+:", target):
                return match[0]
            name = os.path.normpath(PurePosixPath(source).parent / target)
            if name in self.of:
                name = f"{self.of[name]}.md"
            elif (ROOT / name).is_file():
                self.copy(ROOT / name, name := f"files/{name}")
            else:
                raise FileNotFoundError(f"{source} links to {target}, which does not exist")
            return f"{match['before']}{os.path.relpath(name, PurePosixPath(page).parent)}{anchor}{match['after']}"

        parts = _FENCED.split(text)
        return "".join(part if i % 2 else _LINK.sub(link, part) for i, part in enumerate(parts))

    def add_navigation(self, groups: Mapping[str, tuple[str, ...]] = NAVIGATION) -> None:
        """Add the groups of pages to the home page, which is README.md."""
        trees = [
            f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
            for caption, pages in groups.items()
        ]
        home = self.folder / "index.md"
        home.write_text("\n".join([home.read_text(encoding="utf-8"), *trees]), encoding="utf-8")


def _recipes() -> str:
    """All recipes on one page."""
    lines = ["# Recipes", "", "How our numbers in the tables of the paper are obtained: a file per dataset and task."]
    for path in sorted((ROOT / "recipes").rglob("*.toml")):
        lines += ["", f"## {path.relative_to(ROOT)}", "", "```toml", path.read_text(encoding="utf-8").rstrip(), "```"]
    return "\n".join([*lines, ""])

"""The gallery: every example with its source, what it prints and its pictures; and the explorer of Cora.

What an example leaves behind is kept, and it only runs again when it or the package has changed.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .notebook import as_markdown, executed, output_block
from .pages import ROOT, Pages, examples

NOT_RUN = "Not run in this build."
NO_WORDNET = (
    "Not run in this build: it needs the files of WordNet and about ten minutes. "
    "`python -m tools.docs_site --wordnet FOLDER` runs it; "
    "[the time, memory and accuracy of one run](../files/results/benchmarks/wordnet.json) are recorded."
)


class Gallery:
    """The examples, run or not, as pages."""

    def __init__(self, folder: Path, *, execute: bool = True, wordnet: Path | None = None) -> None:
        self.folder, self.execute = folder, execute
        self.arguments = {"wordnet": [str(wordnet.resolve())] if wordnet else None}

    def add_to(self, pages: Pages) -> None:
        """Add a page per example, their list, and the page with the explorer."""
        lines = []
        for path in examples():
            text = self._notebook(path, pages) if path.suffix == ".ipynb" else self._script(path, pages)
            pages.add(f"examples/{path.stem}", text)
            lines.append(_listed(text, f"{path.stem}.md"))
        tree = "\n".join(path.stem for path in examples())
        pages.add(
            "examples/index",
            "# Gallery\n\nComplete programs; what they print was printed while this site was built.\n\n"
            + "\n".join(lines)
            + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n",
        )
        pages.add("cora", self._explorer(pages))

    def _script(self, path: Path, pages: Pages) -> str:
        source = path.read_text(encoding="utf-8")
        about = ast.get_docstring(tree := ast.parse(source)) or path.stem
        code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
        pages.copy(path, f"files/examples/{path.name}")
        parts = [f"# {_short(about)}", about, f"[Download {path.name}](../files/examples/{path.name})"]
        parts += [f"```python\n{code}\n```", "## Output", self._output(path, pages)]
        return "\n\n".join([*parts, ""])

    def _output(self, path: Path, pages: Pages) -> str:
        """Return what a script prints, and its pictures, as Markdown."""
        arguments = self.arguments.get(path.stem, [])
        if arguments is None:
            pages.copy(ROOT / "results/benchmarks/wordnet.json", "files/results/benchmarks/wordnet.json")
            return NO_WORDNET
        if not self.execute:
            return NOT_RUN
        kept = self._kept(path.stem, path.read_bytes(), lambda folder: _run([str(path), *arguments], folder))
        parts = [_printed(kept)]
        for picture in sorted(kept.glob("*.png")):
            pages.copy(picture, f"files/examples/{path.stem}-{picture.name}")
            parts.append(f"![{picture.name}](../files/examples/{path.stem}-{picture.name})")
        return "\n\n".join(parts)

    def _notebook(self, path: Path, pages: Pages) -> str:
        """Return a notebook, run again or as it is in the repository, as Markdown."""
        if self.execute:

            def run(folder: Path) -> None:
                (folder / "ran.ipynb").write_text(executed(path, folder, _environment()), encoding="utf-8")

            path_ran = self._kept(path.stem, path.read_bytes(), run) / "ran.ipynb"
        else:
            path_ran = path
        notebook: dict[str, Any] = json.loads(path_ran.read_text(encoding="utf-8"))
        pages.copy(path, f"files/examples/{path.name}")
        return as_markdown(notebook, f"[Download {path.name}](../files/examples/{path.name})", pages.folder, path.stem)

    def _explorer(self, pages: Pages) -> str:
        """Return the page with the explorer of Cora, as ``mvgrl demo`` writes it."""
        head = "---\nhide-toc: true\n---\n\n# Explore Cora\n\n"
        if not self.execute:
            return f"{head}{NOT_RUN}\n"
        kept = self._kept("demo", b"", lambda folder: _run(["-m", "mvgrl", "demo", "-o", "mvgrl-demo"], folder))
        pages.copy(kept / "mvgrl-demo" / "explorer.html", "extra/explorer-cora.html")
        frame = '<iframe class="explorer" src="explorer-cora.html" title="The explorer on Cora"></iframe>'
        return (
            f"{head}The 2,708 papers of Cora, placed by their vectors. Click a paper for its neighbours, a topic to "
            "show only it; [the page on the explorer](explorer.md) describes the rest. It is also "
            '<a href="explorer-cora.html">a page of its own</a>.\n\n'
            f"```{{raw}} html\n{frame}\n```\n\nIt is written by `mvgrl demo`, which prints:\n\n{_printed(kept)}\n"
        )

    def _kept(self, name: str, content: bytes, run: Callable[[Path], None]) -> Path:
        """Return the folder that a run has filled, the kept one if neither the content nor the package has changed."""
        folder = self.folder / name / sha256(content + _package()).hexdigest()[:16]
        if not folder.exists():
            shutil.rmtree(folder.parent, ignore_errors=True)
            folder.parent.mkdir(parents=True)
            print(f"running {name}", file=sys.stderr, flush=True)
            with TemporaryDirectory(dir=self.folder) as temporary:
                run(Path(temporary))
                shutil.copytree(temporary, folder.with_suffix(".part"))
            folder.with_suffix(".part").rename(folder)
        return folder


def _run(arguments: list[str], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    (folder / "printed.txt").write_text(done.stdout, encoding="utf-8")


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}


def _package() -> bytes:
    """Return a digest of the package: a change of it may change what any example prints."""
    digest = sha256()
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix in (".py", ".toml", ".css", ".jinja", ".js"):
            digest.update(path.read_bytes())
    return digest.digest()


def _printed(folder: Path) -> str:
    return output_block((folder / "printed.txt").read_text(encoding="utf-8"))


def _short(about: str) -> str:
    """Return the beginning of a docstring as a title.

    >>> _short("Embed Cora's 2,708 papers without labels, then measure. More.")
    "Embed Cora's 2,708 papers without labels"
    """
    return re.split(r"[:.]|, ", about, maxsplit=1)[0]


def _listed(page: str, link: str) -> str:
    """Return a page as an entry of a list: its title, and what its first sentence says beyond it.

    >>> _listed("# Count things\\n\\nCount things, then stop. More.", "count.md")
    '- **[Count things](count.md)**, then stop.'
    """
    title, text = (" ".join(part.split()) for part in page.split("\n\n", 2)[:2])
    title = title.removeprefix("# ")
    sentence = re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
    rest = sentence.removeprefix(title) if sentence.startswith(title) else f"<br>{sentence}"
    return f"- **[{title}]({link})**{rest}"

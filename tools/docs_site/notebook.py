"""Run a notebook, and show it as Markdown."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


def executed(path: Path, folder: Path, environment: Mapping[str, str]) -> str:
    """Return a notebook with the outputs of a run in a folder; an exception in a cell is one here."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory(prefix="kernel-") as sockets:  # the kernel warns of TCP, which others could listen to
        private = Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/at"})
        client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}, config=private)
        client.execute(env=dict(environment))
    return str(nbformat.writes(notebook))


def as_markdown(notebook: Mapping[str, Any], link: str, folder: Path, name: str) -> str:
    """Return a notebook as a page, with a link below its introduction; pictures are written to a folder."""
    parts: list[str] = []
    for number, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts += [source, *([link] if number == 0 else [])]
        elif cell["cell_type"] == "code":
            parts += [f"```python\n{source}\n```", *_outputs(cell["outputs"], folder, f"{name}-{number}.png")]
    return "\n\n".join([*parts, ""])


def _outputs(outputs: list[Mapping[str, Any]], folder: Path, picture: str) -> Iterator[str]:
    """Yield what a cell shows: its printed text as one block, then tables and pictures."""
    printed = "".join("".join(one["text"]) for one in outputs if one["output_type"] == "stream")
    if printed:
        yield output_block(printed)
    for one in outputs:
        data = {kind: "".join(value) for kind, value in one.get("data", {}).items()}
        if "image/png" in data:
            path = folder / "files" / "examples" / picture
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(data["image/png"]))
            yield f"![A picture that the notebook draws](../files/examples/{picture})"
        elif "text/html" in data:
            yield f'```{{raw}} html\n<div class="output-table">{data["text/html"]}</div>\n```'
        elif "text/plain" in data:
            yield output_block(data["text/plain"])


def output_block(text: str) -> str:
    """Return what a program has printed as a block of its own kind."""
    return f"```{{code-block}} text\n:class: output\n\n{text.rstrip()}\n```"

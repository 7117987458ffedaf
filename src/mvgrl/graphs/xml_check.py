"""A first look at a GraphML or GEXF file, before a graph is built from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.parsers import expat

from mvgrl.errors import InputError

_DEEPEST = 100
_NEEDED = {"node": ("id",), "edge": ("source", "target")}


def check_xml(path: Path) -> None:
    """Check that a file declares no entities, is not nested deeply, and names all of its nodes.

    Entities can expand to gigabytes or refer to other files, and these formats need none. A node without an id would be
    called "None".
    """
    parser = expat.ParserCreate()
    depth = 0

    def place() -> str:
        return f"{path}, line {parser.CurrentLineNumber}"

    def doctype(*_: Any) -> None:
        raise InputError(f"{place()}: there is a DOCTYPE, which the format does not need; remove it")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise InputError(f"{place()}: elements are nested more than {_DEEPEST} deep; write the file again")
        element = name.rpartition(":")[2]
        for needed in _NEEDED.get(element, ()):
            if needed not in attributes:
                article = "an" if element == "edge" else "a"
                raise InputError(f"{place()}: {article} {element} has no attribute {needed!r}; add it")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    with path.open("rb") as file:
        parser.ParseFile(file)

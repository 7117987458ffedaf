"""How the embedders are shown: the parameters in their documentation, and a fitted one in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field
from html import escape
from typing import Any

from mvgrl.definitions import Spec
from mvgrl.settings import BY_SAMPLER, BY_TASK, PRESETS, default_text, kinds

_LONGEST = 300  # characters of a value


def parameters_section(fields: Iterable[Field[Any]], others: Mapping[str, tuple[str, str]], task: str) -> str:
    """Return the section "Parameters" of an embedder's docstring, from the definitions of the settings.

    ``others`` has the type and the description of the parameters that are not settings.
    """
    lines = ["    Parameters", "    ----------"]
    for f in fields:
        spec: Spec | None = f.metadata.get("spec")
        kind, text = others[f.name] if spec is None else (_type(f.name, spec), spec.help + _meaning_of_none(f, task))
        default = "" if f.default is MISSING else f", default={f.default!r}"
        lines += [f"    {f.name} : {kind}{default}", f"        {text}"]
    return "\n".join(lines)


def _type(name: str, spec: Spec) -> str:
    if name == "views":
        return "sequence of str or View"
    if name in kinds():
        return f"str or {kinds()[name].base.__name__}"
    return spec.kind.__name__


def _meaning_of_none(setting: Field[Any], task: str) -> str:
    if setting.default is not None:
        return ""
    name = setting.name
    if name in BY_SAMPLER["given"] or name in ("beside", "similar"):  # these depend on the graph
        return f" None means {default_text(name, None)}."
    return f" None means {(BY_TASK[task] | PRESETS['default'][task])[name]}."


def as_html(title: str, sections: Mapping[str, Mapping[str, object]]) -> str:
    """Return a small table for notebooks: a title, and pairs of names and values under headings.

    >>> as_html("A", {"Notes": {"": "<b>"}}).count("&lt;b&gt;")
    1
    """
    rows = []
    for heading, pairs in sections.items():
        if pairs:
            rows.append(f'<tr><th colspan="2" style="text-align:left">{escape(heading)}</th></tr>')
        for name, value in pairs.items():
            text = str(value)
            text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
            cell = '<td style="text-align:left">{}</td>'
            rows.append(f"<tr>{cell.format(escape(name))}{cell.format(escape(text))}</tr>")
    return f"<div><b>{escape(title)}</b><table>{''.join(rows)}</table></div>"

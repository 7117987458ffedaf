"""How Sphinx builds the site; ``python -m tools.docs_site`` assembles its pages and calls it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import fields, is_dataclass
from typing import Any

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

import mvgrl
from mvgrl.display import parameters_section

project = "mvgrl"
version = release = mvgrl.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
]
exclude_patterns = ["files/**", "extra/**"]

# Markdown, as the source host reads it.
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4
smartquotes = False  # two hyphens begin a flag
highlight_language = "text"

# Docstrings.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# The site needs no network: the theme brings its own scripts and uses the fonts of the system.
html_theme = "furo"
html_title = f"mvgrl {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
pygments_style = "default"
pygments_dark_style = "github-dark"
_LIGHT = {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad", "color-brand-visited": "#0b5cad"}
_DARK = {"color-brand-primary": "#7db8f0", "color-brand-content": "#7db8f0", "color-brand-visited": "#7db8f0"}
html_theme_options = {"light_css_variables": _LIGHT, "dark_css_variables": _DARK, "top_of_page_buttons": []}


_AS_LISTS: Any = Config(napoleon_use_param=False, napoleon_custom_sections=[("Attributes", "params_style")])


def with_sections(app: Any, what: Any, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add the settings, or the fields with their comments, to the docstring of a class, and read its sections."""
    if what in ("property", "attribute"):  # a colon in their first line would be taken for the end of a type
        return
    if thing in (mvgrl.Settings, mvgrl.Output):
        section = parameters_section(fields(thing), {}, "node")
        lines[1:1] = ["", *(line.removeprefix("    ") for line in section.splitlines()), ""]
    elif what == "class" and (is_dataclass(thing) or hasattr(thing, "_fields")):
        lines += attributes_section(thing)
    read = NumpyDocstring(lines, _AS_LISTS, app, what, name, thing, options)
    lines[:] = str(read).replace("*) -- ", "*) – ").splitlines()


def attributes_section(kind: type) -> list[str]:
    """Return the section "Attributes" of a class from its fields and the comments beside them."""
    source = textwrap.dedent(inspect.getsource(kind))
    found = ast.parse(source).body[0]
    assert isinstance(found, ast.ClassDef)
    lines = ["", "Attributes", "----------"]
    for field in (one for one in found.body if isinstance(one, ast.AnnAssign)):
        _, _, comment = source.splitlines()[field.lineno - 1].partition("  # ")
        comment = re.sub(r"^type: ignore\S*\s*(# )?", "", comment)
        about = f"{comment[:1].upper()}{comment[1:]}." if comment else ""
        lines += [f"{ast.unparse(field.target)} : {ast.unparse(field.annotation)}", f"    {about}"]
    return lines if len(lines) > 3 else []


def without_others(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Omit the methods that scikit-learn adds to every estimator, and fields that only say which they are."""
    foreign = str(getattr(thing, "__module__", "")).startswith("sklearn.")
    return True if foreign or str(thing.__doc__).startswith("Alias for field number") else None


def with_defaults(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """Replace defaults that a factory creates, so that the signature can be parsed."""
    return (signature.replace("<factory>", "..."), returned) if signature else None


def setup(app: Any) -> None:
    """Register what is done to docstrings."""
    app.connect("autodoc-skip-member", without_others)
    app.connect("autodoc-process-docstring", with_sections)
    app.connect("autodoc-process-signature", with_defaults)

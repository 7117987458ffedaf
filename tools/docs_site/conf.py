"""How Sphinx builds the site; ``python -m tools.docs_site`` assembles its pages and calls it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import mvgrl
from mvgrl.display import parameters_section

project = "mvgrl"
version = release = mvgrl.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["files/**", "extra/**"]

# Markdown, as the source host reads it.
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4
smartquotes = False  # two hyphens begin a flag

# Docstrings.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
add_module_names = False
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


def with_parameters(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add the settings to the docstrings of the two classes that hold them."""
    if thing in (mvgrl.Settings, mvgrl.Output) and what == "class":
        section = parameters_section(fields(thing), {}, "node")
        lines[1:1] = ["", *(line.removeprefix("    ") for line in section.splitlines()), ""]


def without_others(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Omit the methods that scikit-learn adds to every estimator."""
    return True if str(getattr(thing, "__module__", "")).startswith("sklearn.") else None


def setup(app: Any) -> None:
    """Register what is done to docstrings."""
    app.connect("autodoc-skip-member", without_others)
    app.connect("autodoc-process-docstring", with_parameters, priority=400)  # before napoleon reads the sections

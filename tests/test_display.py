"""How the embedders and the package present themselves: documentation, repr, HTML and completion."""

from __future__ import annotations

import pydoc
import subprocess
import sys
from dataclasses import fields

import networkx as nx
import pytest
from sklearn import config_context

import mvgrl
from mvgrl import GraphEmbedder, NodeEmbedder

both = pytest.mark.parametrize("kind", [NodeEmbedder, GraphEmbedder])


@both
def test_every_parameter_is_described(kind: type) -> None:
    text = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    section = text[text.index("Parameters") : text.index("Attributes")].splitlines()
    section = [line.removeprefix(" |").strip() for line in section]
    for f in fields(kind):
        (place,) = [i for i, line in enumerate(section) if line.startswith(f"{f.name} : ")]
        assert f"default={f.default!r}" in section[place]
        description = section[place + 1]
        assert len(description) > 10
        assert description.endswith(".")
        if f.default is None:
            assert "None means " in description
    for attribute in ("embedding_", "ids_", "choices_", "notes_", "history_"):
        assert f"{attribute} : " in text


def test_descriptions_have_the_values_of_the_task() -> None:
    assert "Number of encoder layers. None means 1." in NodeEmbedder.__doc__
    assert "Number of encoder layers. None means 2." in GraphEmbedder.__doc__


def test_descriptions_say_what_depends_on_the_graph() -> None:
    assert "None means node propagated, or propagated+position for few or unrelated" in NodeEmbedder.__doc__
    assert "None means 10 for nodes with many features that are related to the edges" in NodeEmbedder.__doc__


def test_repr_shows_only_changed_parameters() -> None:
    assert repr(NodeEmbedder(dim=16, verbose=1)) == "NodeEmbedder(dim=16, verbose=1)"


def test_html_shows_changed_parameters_choices_and_shape() -> None:
    embedder = NodeEmbedder(dim=4, hidden=8, epochs=2, device="cpu")
    before = embedder._repr_html_()
    assert "not fitted" in before
    assert "hidden" in before
    assert "degree_cap" not in before  # it has its default
    graph = nx.karate_club_graph()
    with pytest.warns(mvgrl.errors.GraphWarning, match="club"):
        after = embedder.fit(graph)._repr_mimebundle_()["text/html"]
    assert "not fitted" not in after
    assert "34 × 4" in after
    assert "34 nodes, 78 edges" in after
    assert "ppr exact (34 nodes)" in after
    assert "attributes (not a number on every node): club" in after
    assert len(after) < 5000
    with config_context(display="text"):
        assert embedder._repr_mimebundle_() == {"text/plain": repr(embedder)}


def test_html_escapes_names() -> None:
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, "x", "<script>")
    embedder = NodeEmbedder(dim=2, hidden=4, epochs=1, device="cpu")
    with pytest.warns(mvgrl.errors.GraphWarning):
        embedder.fit(graph)
    assert "&lt;script&gt;" in embedder._repr_html_()
    assert "<script>" not in embedder._repr_html_()


def test_completion_lists_the_public_names_without_importing_them() -> None:
    code = "import mvgrl, sys; print(*dir(mvgrl)); print('torch' in sys.modules, 'numpy' in sys.modules)"
    names, imported = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert set(mvgrl.__all__) <= set(names.split())
    assert {"NodeEmbedder", "GraphEmbedder", "load", "fit", "Graph", "datasets", "errors"} <= set(names.split())
    assert "TYPE_CHECKING" not in names
    assert imported == "False False"
    assert all(getattr(mvgrl, name) is not None for name in dir(mvgrl))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mvgrl.nothing

"""The controls: propagated features and the untrained encoder."""

from __future__ import annotations

import numpy as np

from mvgrl.evaluation import propagated, untrained
from mvgrl.graphs import Graph
from mvgrl.history import History
from mvgrl.settings import Output, Settings, literal
from mvgrl.training import Trained, fit
from mvgrl.views import PPR, Adjacency

PATH = Graph.from_edges([0, 1], [1, 2], features=np.array([[1.0, 0], [0, 1], [2, 2]]))
PLAIN = literal(dict(hidden=4, normalise="none"))


def test_propagated_features_are_the_views_times_the_features() -> None:
    expected = (Adjacency()(PATH).toarray() + PPR()(PATH)) @ PATH.features
    np.testing.assert_allclose(propagated(PATH, PLAIN, device="cpu"), expected, rtol=1e-6)


def test_propagated_features_have_unit_length_if_the_vectors_do() -> None:
    free = propagated(PATH, PLAIN, device="cpu")
    unit = propagated(PATH, PLAIN, output=Output(unit_length=True), device="cpu")
    np.testing.assert_allclose(unit, free / np.linalg.norm(free, axis=1, keepdims=True), rtol=1e-6)


def test_propagated_features_of_graphs_are_summed_over_nodes() -> None:
    settings = literal(dict(task="graph", normalise="none"))
    both = propagated(Graph.join([PATH, PATH]), settings, device="cpu")
    expected = propagated(PATH, PLAIN, device="cpu").sum(0)
    np.testing.assert_allclose(both, [expected, expected], rtol=1e-6)


def test_the_untrained_encoder_equals_the_start_of_training() -> None:
    trained = fit(PATH, PLAIN, seed=5, device="cpu")
    start = Trained(trained.inputs.model(5), trained.feature_encoder, History(), trained.inputs)
    paper = Output(preset="paper")
    expected = start.vectors(output=paper)
    np.testing.assert_array_equal(untrained(PATH, PLAIN, output=paper, seed=5, device="cpu"), expected)
    assert not np.allclose(trained.vectors(output=paper), expected)
    np.testing.assert_array_equal(untrained(PATH, PLAIN, seed=5, device="cpu"), start.vectors())
    graphs = Graph.join([PATH, PATH])
    assert untrained(graphs, Settings(task="graph", hidden=4), output=paper, device="cpu").shape == (2, 4)

"""The expected duration of a comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mvgrl.experiments.contest import contest, own_dataset
from mvgrl.experiments.duration import Expected, as_text, expected
from mvgrl.experiments.ledger import Run
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph


def plan(nodes, methods, **options):
    ends = np.arange(nodes)
    named = NamedGraph(Graph.from_edges(ends, (ends + 1) % nodes), ends)
    return contest(own_dataset(named, ends % 2, name="ring.csv"), methods, device="cpu", **options)


def todo(made):
    return [[(one, made.trainings(one))] for one in made.contenders]


def test_larger_graphs_and_more_trainings_take_longer():
    small, large, more = plan(400, ["default"]), plan(4000, ["default"]), plan(400, ["default"], seeds=5)
    seconds = [expected(one, todo(one)).left for one in (small, large, more)]
    assert seconds[0] < seconds[1]
    assert seconds[0] < seconds[2]


def test_earlier_runs_on_the_graph_are_used():
    made = plan(400, ["netmf"], splits=1)
    run = Run("compare", "ring.csv", "any", "netmf", 0, {"random_10": 50.0}, 0, 500.0, "cpu", "other")
    assert expected(made, todo(made), [run]).left > 500
    assert expected(made, todo(made), [replace(run, dataset="other.csv")]).left < 500


def test_what_was_measured_corrects_what_is_left():
    ahead = Expected([10.0, 30.0])
    ahead.finished(20.0)
    assert ahead.left == pytest.approx(60.0)
    assert as_text(ahead.left) == "about 60 s"

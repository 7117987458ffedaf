from __future__ import annotations

import re

import pytest

from mvgrl.errors import SettingsError
from mvgrl.settings import Settings
from mvgrl.views import PPR


def test_what_is_left_open_is_filled_in_by_task() -> None:
    node, graph = Settings(task="node"), Settings(task="graph")
    assert (node.readout, node.discriminator, node.negatives, node.batch_size) == (
        "sigmoid-mean",
        "bilinear",
        "features",
        1,
    )
    assert (graph.readout, graph.discriminator, graph.negatives, graph.batch_size) == ("sum", "dot", "graphs", 64)
    assert Settings(task="graph", readout="mean").readout == "mean"


def test_settings_are_values() -> None:
    assert Settings() == Settings(views=["adjacency", {"name": "ppr", "alpha": 0.2}])
    assert len({Settings(), Settings(), Settings(hidden=8)}) == 2
    with pytest.raises(AttributeError):
        Settings().hidden = 3  # type: ignore[misc]


def test_the_id_tells_settings_apart_and_survives_a_file() -> None:
    settings = Settings(task="graph", views=("adjacency", PPR(top_k=8)), bound="dv", dropout=0.5)
    again = Settings.from_dict(settings.to_dict())
    assert again == settings
    assert again.id == settings.id
    others = [Settings(), Settings(hidden=256), Settings(views=("adjacency", PPR(alpha=0.1))), settings]
    assert len({other.id for other in others}) == 4


def test_a_setting_that_came_later_leaves_the_ids_of_before() -> None:
    assert Settings().id == "799d9356159b"
    for later in (
        Settings(frozen_encoder=True),
        Settings(unit_length=True),
        Settings(codes="layers"),
        Settings(join="concatenate"),
    ):
        assert later.id != Settings().id
        assert Settings.from_dict(later.to_dict()) == later


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(task="nodes"), "did you mean 'node'?"),
        (dict(readout="diffpool2"), "did you mean 'diffpool-2'?"),
        (dict(bound="jds"), "did you mean 'jsd'?"),
        (dict(mode="local"), "Choose one of 'local-global'"),
        (dict(sampler="walks"), "did you mean 'walk'?"),
        (dict(norm="batchnorm"), "did you mean 'batch'?"),
        (dict(encoder="share"), "did you mean 'shared'?"),
        (dict(discriminator="biliner"), "did you mean 'bilinear'?"),
        (dict(negatives="feature"), "did you mean 'features'?"),
        (dict(views=("adjacency", "pprr")), "'ppr'"),
        (dict(features="degrees"), "'degree'"),
        (dict(hidden=0), "at least 1"),
        (dict(hidden=2.5), "whole number"),
        (dict(epochs=-1), "at least 0"),
        (dict(learning_rate=0.0), "above 0"),
        (dict(temperature=float("nan")), "above 0"),
        (dict(noise=-1.0), "a number, not a negative one"),
        (dict(l2="much"), "l2 is 'much'; it must be a number"),
        (dict(learning_rate=True), "above 0"),
        (dict(draw_two_views="yes"), "true or false"),
        (dict(codes="layer"), "did you mean 'layers'?"),
        (dict(head_shortcut=True), "discriminator 'bilinear' stands in their place; use 'dot'"),
        (dict(head_shortcut="yes", discriminator="dot"), "head_shortcut is 'yes'; it must be true or false"),
        (dict(frozen_encoder=1), "frozen_encoder is 1; it must be true or false"),
        (dict(views=("adjacency", "ppr:top_k")), "'top_k' where parameter=value belongs"),
        (dict(dropout=1.0), "below 1"),
        (dict(views=("adjacency",)), "give two or more"),
        (dict(views=()), "give two or more"),
        (dict(views=("ppr", "ppr")), "given twice"),
        (dict(mode="global"), "use 'local-global', 'multi-scale' or 'ensemble'"),
        (dict(mode="hybrid"), "a node task has one graph"),
        (dict(mode="multi-scale"), "use 'diffpool-2'"),
        (dict(negatives="graphs"), "its permuted 'features'"),
        (dict(task="graph", negatives="features"), "the other 'graphs' of the batch"),
        (dict(task="graph", batch_size=1), "use 2 or more"),
        (dict(batch_size=4), "sampler 'full' gives one sample"),
        (dict(draw_two_views=True), "use encoder 'shared', at least three views"),
        (dict(draw_two_views=True, encoder="shared"), "at least three views"),
    ],
)
def test_nonsense_is_refused_with_a_way_out(settings: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        Settings(**settings)


def test_an_unknown_key_suggests_the_nearest() -> None:
    with pytest.raises(SettingsError, match="unknown setting 'learning-rate'; did you mean 'learning_rate'"):
        Settings.from_dict({"learning-rate": 0.1})

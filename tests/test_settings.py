"""Settings are defined once and checked; flags, files, parameters and docstrings follow from the definitions."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest
from torch import Tensor

import mvgrl
from mvgrl import Graph, fit
from mvgrl.cli.configuration import read_config, write_config
from mvgrl.cli.options import Chosen, Written
from mvgrl.definitions import spec_of
from mvgrl.errors import SettingsError
from mvgrl.experiments.recipes import Recipe
from mvgrl.mutual_information import Bound
from mvgrl.settings import Output, OutputFields, Settings, TrainingFields, kinds, known_names, literal
from mvgrl.views import PPR


def test_open_settings_are_filled_in_by_task() -> None:
    def chosen(settings: Settings) -> tuple[str, ...]:
        names = ("readout", "discriminator", "negatives", "batch_size", "layers", "epochs")
        return tuple(str(getattr(settings, name)) for name in names)

    assert chosen(Settings(task="node")) == ("sigmoid-mean", "bilinear", "features", "1", "1", "2000")
    assert chosen(Settings(task="graph")) == ("sum", "dot", "graphs", "64", "2", "20")
    assert str(Settings(task="graph", readout="mean").readout) == "mean"


def test_settings_are_values() -> None:
    assert Settings() == Settings(views=["adjacency", {"name": "ppr", "alpha": 0.2}])
    assert len({Settings(), Settings(), Settings(hidden=8)}) == 2
    with pytest.raises(AttributeError, match="hidden"):
        Settings().hidden = 3
    with pytest.raises(AttributeError, match="join"):
        Output().join = "concatenate"
    assert "hidden=8" in repr(Settings(hidden=8))


def test_id_distinguishes_settings_and_survives_a_round_trip() -> None:
    settings = Settings(
        task="graph", views=("adjacency", PPR(top_k=8)), bound="nt-xent:temperature=0.2", dropout=0.5, sampler="walk"
    )
    again = Settings.from_dict(settings.to_dict())
    assert again == settings
    assert again.id == settings.id
    others = [Settings(), Settings(hidden=256), Settings(views=("adjacency", PPR(alpha=0.1))), settings]
    others += [replace(settings, bound="nt-xent"), replace(settings, bound="nce"), replace(settings, sampler="nodes")]
    assert len({other.id for other in others}) == len(others)


def test_ids_of_recorded_runs_do_not_change() -> None:
    assert literal({}).id == "799d9356159b"
    assert literal({"bound": "nt-xent:temperature=0.2"}).content["temperature"] == 0.2
    assert literal({"bound": "nt-xent", "temperature": 0.2}) == literal({"bound": "nt-xent:temperature=0.2"})
    for later in (literal({"frozen_encoder": True}), literal({"task": "graph", "head_shortcut": True})):
        assert later.id != Settings(task=later.task, normalise="row", sampler="full").id
        assert Settings.from_dict(later.to_dict()) == later
    paper = Output(preset="paper")
    assert paper.content == paper.for_task("node").content == paper.for_task("graph").content == {}
    assert replace(paper, codes="layers", unit_length=True).content == {"codes": "layers", "unit_length": True}
    outputs = (paper, Output(), Output(dim=64), Output(dim=0), Output(beside="none"), Output(join="sum"))
    assert len({Recipe("cora", "best", Settings(), output).id for output in outputs}) == len(outputs)


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
        (dict(normalise="rows"), "did you mean 'row'?"),
        (dict(hidden=0), "hidden is 0; it must be an integer, at least 1"),
        (dict(hidden=2.5), "hidden is 2.5; it must be an integer"),
        (dict(sample_size=1), "at least 2"),
        (dict(epochs=-1), "at least 0"),
        (dict(learning_rate=0.0), "above 0"),
        (dict(learning_rate=True), "above 0"),
        (dict(bound="nt-xent:temperature=nan"), "nt-xent: temperature is nan; it must be a number above 0"),
        (dict(bound="nt-xent:temprature=1"), "did you mean 'temperature'?"),
        (dict(bound=3), "bound is 3 (int); give a name such as 'jsd'"),
        (dict(sampler="walk:length=0"), "walk: length is 0; it must be an integer, at least 1"),
        (dict(noise=-1.0), "a number, at least 0"),
        (dict(l2="much"), "l2 is 'much'; it must be a number"),
        (dict(draw_two_views="yes"), "true or false"),
        (dict(head_shortcut=True), "discriminator 'bilinear' replaces them; use 'dot'"),
        (dict(head_shortcut="yes", discriminator="dot"), "head_shortcut is 'yes'; it must be true or false"),
        (dict(frozen_encoder=1), "frozen_encoder is 1; it must be true or false"),
        (dict(views=("adjacency", "ppr:top_k")), "'top_k' where parameter=value is expected"),
        (dict(dropout=1.0), "below 1"),
        (dict(views=("adjacency",)), "give two or more"),
        (dict(views=()), "give two or more"),
        (dict(views=("ppr", "ppr")), "given twice"),
        (dict(mode="global"), "use 'local-global', 'multi-scale' or 'ensemble'"),
        (dict(mode="hybrid"), "a node task has one graph"),
        (dict(mode="multi-scale"), "use 'diffpool-2'"),
        (dict(negatives="graphs"), "permuted 'features'"),
        (dict(task="graph", negatives="features"), "the other 'graphs' of the batch"),
        (dict(task="graph", batch_size=1), "use 2 or more"),
        (dict(batch_size=4, sampler="full"), "sampler 'full' gives one sample"),
        (dict(draw_two_views=True), "use encoder 'shared', at least three views"),
        (dict(draw_two_views=True, encoder="shared"), "at least three views"),
    ],
)
def test_invalid_settings_are_rejected_with_a_remedy(settings: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        Settings(**settings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(codes="layer"), "did you mean 'layers'?"),
        (dict(join="concat"), "did you mean 'concatenate'?"),
        (dict(unit_length=1), "unit_length is 1; it must be true or false"),
    ],
)
def test_invalid_output_options_are_rejected(options: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        Output(**options)


def test_unknown_key_suggests_the_closest_one() -> None:
    with pytest.raises(SettingsError, match="unknown setting 'learning-rate'; did you mean 'learning_rate'"):
        Settings.from_dict({"learning-rate": 0.1})


# Components are values


@pytest.mark.parametrize("setting", [name for name in kinds() if name not in ("views", "negatives")])
def test_component_can_be_given_as_name_mapping_or_object(setting: str) -> None:
    for name, kind in kinds()[setting].registry.items():
        more = {"readout": "diffpool-2"} if name == "multi-scale" else {}
        task = "graph" if name in ("global", "hybrid") else "node"
        variants = [Settings(task=task, **more, **{setting: value}) for value in (name, {"name": name}, kind())]
        assert len(set(variants)) == 1
        assert str(getattr(variants[0], setting)) == name


def test_component_parameters_survive_a_round_trip() -> None:
    settings = Settings(bound="nt-xent:temperature=0.2", sampler="walk:length=5", views="adjacency", mode="ensemble")
    assert (settings.bound.temperature, settings.sampler.length) == (0.2, 5)
    written = settings.to_dict()
    assert (written["bound"], written["sampler"]) == ("nt-xent:temperature=0.2", "walk:length=5")
    assert Settings.from_dict(written) == settings


def test_custom_functions_work_but_cannot_be_saved() -> None:
    def own_function(*arguments: object) -> object:
        return arguments

    for setting in ("mode", "bound", "sampler"):
        settings = Settings(**{setting: own_function})
        assert getattr(settings, setting)(1, 2) == (1, 2)
        assert settings.id != Settings().id
        with pytest.raises(
            SettingsError, match=f"{setting} has a custom component, .*own_function, which cannot be saved"
        ):
            settings.check_saveable()
    Settings(bound="nt-xent:temperature=0.1").check_saveable()


def test_custom_view_cannot_be_saved() -> None:
    @dataclass(frozen=True)
    class Mine(PPR):
        pass

    settings = Settings(views=("adjacency", Mine()))
    assert settings.id != Settings().id
    with pytest.raises(SettingsError, match=r"views has a custom component, .*Mine, which cannot be saved"):
        settings.check_saveable()


def test_custom_classes_need_no_name() -> None:
    @dataclass(frozen=True)
    class Hinge(Bound):
        margin: float = 1.0

        def __call__(self, scores: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
            negatives = ~positives if negatives is None else negatives
            return (self.margin - scores[positives]).relu().mean() + (self.margin + scores[negatives]).relu().mean()

    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    settings = [Settings(hidden=4, epochs=2, bound=Hinge(margin)) for margin in (1.0, 2.0)]
    assert len({one.id for one in settings}) == 2
    losses = [fit(graph, one, device="cpu").history.losses for one in settings]
    assert losses[0] != losses[1]
    with pytest.raises(SettingsError, match=r"bound has a custom component, .*Hinge:margin=2.0"):
        settings[1].check_saveable()


# Defined once


def test_flags_files_parameters_and_docstrings_follow_the_definitions() -> None:
    training, output = [f.name for f in fields(TrainingFields)], [f.name for f in fields(OutputFields)]
    assert [f.name for f in fields(Chosen)] == ["config", "temperature", "task", *training, *output]
    assert [f.name for f in fields(Written)] == output
    written = write_config(literal({}), Output().for_task("node"), 0, "cpu")
    assert [line.split(" = ")[0] for line in written.splitlines()] == ["task", *training, *output, "seed", "device"]
    for embedder in (mvgrl.NodeEmbedder, mvgrl.GraphEmbedder):
        parameters = inspect.signature(embedder).parameters
        assert list(parameters) == [*training, *output, "method", "random_state", "device", "callbacks", "verbose"]
        for f in (*fields(TrainingFields), *fields(OutputFields)):
            assert parameters[f.name].default == f.default
            described = (
                rf"    {f.name} : .+, default={re.escape(repr(f.default))}\n        {re.escape(spec_of(f).help)}"
            )
            assert re.search(described, embedder.__doc__), f.name


def test_help_texts_name_every_choice() -> None:
    texts = {f.name: spec_of(f).help for part in (Settings, Output) for f in fields(part)}
    for name, choices in known_names().items():
        words = set(re.findall(r"[a-z][a-z0-9]*(?:[-+][a-z0-9]+)*", texts[name]))
        assert set(choices) <= words, name


NEW = '    warmth: int = integer(3, "How warm.", least=2, later=True)\n'


def test_new_setting_needs_only_its_definition(tmp_path: Path) -> None:
    package = tmp_path / "mvgrl"
    shutil.copytree(Path(mvgrl.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    settings = package / "settings.py"
    settings.write_text(settings.read_text().replace("    # initial features\n", NEW + "    # initial features\n", 1))
    code = """
import inspect, sys
from pathlib import Path
import mvgrl
from mvgrl.cli import main
from mvgrl.settings import Settings, literal
assert mvgrl.__file__.startswith(sys.argv[1])
assert inspect.signature(mvgrl.NodeEmbedder).parameters["warmth"].default == 3
assert "warmth : int, default=3" in mvgrl.NodeEmbedder.__doc__
assert mvgrl.NodeEmbedder(warmth=4)._settings().warmth == 4
assert literal({}).id == "799d9356159b" != literal({"warmth": 4}).id
Path("edges.csv").write_text("source,target\\na,b\\nb,c\\n")
assert main(["train", "edges.csv", "--print-config", "--warmth", "5"]) == 0
assert main(["train", "edges.csv", "-o", "model", "--warmth", "1"]) == 2
Path("run.toml").write_text("warmth = 1")
assert main(["train", "edges.csv", "-o", "model", "--config", "run.toml"]) == 2
assert main(["embed", "--help"]) == 0
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "NUMBA_CACHE_DIR": str(tmp_path / "numba")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "warmth = 5" in done.stdout
    assert "--warmth" in done.stdout
    assert done.stderr.count("warmth is 1; it must be an integer, at least 2") == 2


def test_printed_configuration_can_be_read_back(tmp_path: Path) -> None:
    settings = literal({"views": ["adjacency", "heat:t=3:top_k=9"], "bound": "nt-xent:temperature=0.2"})
    output = Output(join="sum", dim=64).for_task("node")
    (tmp_path / "run.toml").write_text(write_config(settings, output, 7, "cpu"))
    values = read_config(tmp_path / "run.toml")
    assert (values.pop("seed"), values.pop("device")) == (7, "cpu")
    written = {name: value for name, value in values.items() if name in Output.__dataclass_fields__}
    assert Output.from_dict(written) == output
    training = {name: value for name, value in values.items() if name in Settings.__dataclass_fields__}
    assert Settings.from_dict(training) == settings

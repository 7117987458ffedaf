"""Settings in a file: printed files can be read back, flags override them, and errors name the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mvgrl import Output, Settings
from mvgrl.cli.configuration import read_config
from mvgrl.errors import InputError, SettingsError


def settings_of(folder):
    return json.loads(Path(folder, "config.json").read_text())["settings"]


def test_printed_configuration_gives_the_same_run(run, graph):
    flags = "--hidden 4 --epochs 3 --views adjacency,heat:t=3 --dropout 0.1 --device cpu --seed 5"
    Path("run.toml").write_text(run(f"train {graph} --print-config {flags}").out)
    run(f"train {graph} -o flags {flags}")
    run(f"train {graph} -o file --config run.toml")
    assert settings_of("flags") == settings_of("file")
    assert Path("flags/model.safetensors").read_bytes() == Path("file/model.safetensors").read_bytes()
    assert run(f"train {graph} --print-config --config run.toml").out == Path("run.toml").read_text()


def test_every_line_of_a_printed_configuration_has_help(run, graph):
    lines = run(f"train {graph} --print-config").out.splitlines()
    assert len(lines) == len(Settings.__dataclass_fields__) + len(Output.__dataclass_fields__) + 2
    assert all("  # " in line for line in lines)


def test_flags_override_the_file_and_the_rest_is_chosen(run, graph):
    Path("run.toml").write_text('hidden = 4\nepochs = 3\nseed = 9\nviews = "adjacency, heat:t=2"\npreset = "paper"\n')
    result = run(f"embed {graph} -o v.csv --config run.toml --json").json
    assert (result["dim"], result["epochs"], result["seed"]) == (4, 3, 9)
    result = run(f"embed {graph} -o v.csv --config run.toml --hidden 8 --seed 1 --json").json
    assert (result["dim"], result["epochs"], result["seed"]) == (8, 3, 1)
    result = run(f"embed {graph} -o v.csv --config run.toml --preset default --dim 3 --json").json
    assert (result["dim"], result["epochs"], result["seed"]) == (3, 3, 9)
    run(f"train {graph} -o model --config run.toml --views adjacency,ppr")
    settings = settings_of("model")
    assert [view["name"] for view in settings["views"]] == ["adjacency", "ppr"]
    assert (settings["epochs"], settings["normalise"]) == (3, "standard")


def test_views_in_a_file_may_be_text_a_list_or_tables(folder):
    for text in (
        '"adjacency,ppr:alpha=0.5"',
        '["adjacency", "ppr:alpha=0.5"]',
        '["adjacency", {name="ppr", alpha=0.5}]',
    ):
        Path("run.toml").write_text(f"views = {text}\n")
        assert Settings.from_dict(read_config(Path("run.toml"))).views[1].alpha == 0.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hiden = 4", ["'hiden'", "did you mean 'hidden'"]),
        ("hidden = 4\nepochs = ", ["line 2"]),
        ("hidden = 4\nhidden = 5", ["line 2"]),
        ("[training]\nhidden = 4", ["[training]", "heading"]),
        ("hidden = 'four'", ["hidden is 'four'", "an integer"]),
        ("hidden = 4.5", ["hidden is 4.5", "an integer"]),
        ("views = 3", ["views is 3", "list"]),
        ("views = ['adjacency', 'pr']", ["'pr'", "did you mean 'ppr'"]),
        ("seed = -1", ["seed is -1"]),
        ("seed = true", ["seed is True"]),
        ("device = 3", ["device is 3"]),
        ("sampler = 'wlak'", ["'wlak'", "did you mean 'walk'"]),
        ("mode = 'multi-scale'", ["'multi-scale'", "'diffpool-2'"]),
        (f"views = {'[' * 5000}{']' * 5000}", ["nested more than 32 levels"]),
        (f"views = {'{a=' * 5000}1{'}' * 5000}", ["nested more than 32 levels"]),
        (f"{'a.' * 5000}a = 1", ["nested more than 32 levels"]),
        (f"hidden = {'9' * 5000}", ["not valid TOML"]),
        (f"hidden = {'9' * 400}", ["hidden is 999", "…"]),
        (f"{'a' * 5000} = 1", ["unknown setting", "…"]),
        ("views = [[1]]", ["[1]"]),
        ("task = ['node']", ["task ['node']"]),
    ],
)
def test_error_in_a_file_names_the_file(refused, graph, text, words):
    Path("run.toml").write_text(text + "\n")
    refused(f"train {graph} -o model --config run.toml", "run.toml", *words)
    refused(f"embed {graph} -o v.csv --config run.toml", "run.toml", *words)


def test_error_in_a_flag_does_not_name_the_file(refused, graph):
    Path("run.toml").write_text("hidden = 4\n")
    assert "run.toml" not in refused(f"train {graph} -o model --config run.toml --sampler wlak", "'wlak'")
    Path("run.toml").write_text('mode = "multi-scale"\n')  # invalid alone, but a flag may correct it
    assert "run.toml" in refused(f"train {graph} -o model --config run.toml --readout mean", "'diffpool-2'")


def test_flag_can_correct_a_file(run, graph):
    Path("run.toml").write_text('mode = "multi-scale"\nhidden = 4\nepochs = 2\n')
    assert run(f"embed {graph} -o v.csv --config run.toml --readout diffpool-2 --json").json["epochs"] == 2


def test_unreadable_files_are_rejected(folder):
    Path("latin.toml").write_bytes("views = 'ä'".encode("latin-1"))
    for name, words in ((".", "TOML file"), ("nowhere.toml", "--print-config"), ("latin.toml", "UTF-8")):
        with pytest.raises(InputError, match=words) as caught:
            read_config(Path(name))
        assert name in str(caught.value)


def test_configuration_printed_by_0_1_can_be_read(run, graph):
    Path("run.toml").write_text('bound = "nt-xent"\ntemperature = 0.2\nnormalise = "row"\nhidden = 4\nepochs = 2\n')
    run(f"train {graph} -o model --config run.toml")
    assert settings_of("model")["bound"] == "nt-xent:temperature=0.2"


def test_former_temperature_flag_works_and_names_its_replacement(run, graph):
    shown = run(f"train {graph} -o model --bound nt-xent --temperature 0.2 --hidden 4 --epochs 2")
    assert settings_of("model")["bound"] == "nt-xent:temperature=0.2"
    assert "--temperature is now part of --bound: --bound nt-xent:temperature=0.2" in shown.err


def test_no_file_means_no_settings():
    assert read_config(None) == {}


def test_unknown_key_is_a_settings_error(folder):
    Path("run.toml").write_text("learning-rate = 0.1\n")
    with pytest.raises(SettingsError, match="did you mean 'learning_rate'"):
        read_config(Path("run.toml"))

"""Help appears immediately, starts with examples, and every example is a valid command line."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from typing import get_type_hints

import pytest
from cyclopts import CycloptsError

import mvgrl
from mvgrl.cli import VERBS, make_app, module_of
from mvgrl.cli.evaluate import PROTOCOLS
from mvgrl.cli.options import Chosen, given
from mvgrl.contrast import MODES
from mvgrl.definitions import spec_of
from mvgrl.encoders import ENCODERS, NORMS
from mvgrl.graphs.features import KINDS, NORMALISATIONS
from mvgrl.heads import DISCRIMINATORS
from mvgrl.mutual_information import BOUNDS
from mvgrl.readouts import READOUTS
from mvgrl.reports.colours import KINDS as COLOURS
from mvgrl.reports.projection import METHODS
from mvgrl.sampling import NEGATIVES, SAMPLERS
from mvgrl.settings import CODES, JOINS, TASKS, Output, Settings
from mvgrl.views import VIEWS

HEAVY = "torch sklearn scipy pyarrow numpy numba networkx matplotlib pandas torch_geometric"


def examples(text):
    return re.findall(r"^ *(mvgrl [^\n]*)$", text.split("```")[1], flags=re.MULTILINE)


def parse(line):
    """The function that a command line would run; it is not called."""
    words = shlex.split(line.split(" > ")[0])
    assert words[0] == "mvgrl"
    command, _, _ = make_app().parse_args(words[1:], exit_on_error=False, print_error=False)
    return command


def test_help_imports_no_slow_packages():
    code = f"""
import sys
from mvgrl.cli import VERBS, main
for words in ([], ["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)):
    assert main(words) == 0, words
    slow = set("{HEAVY}".split()) & set(sys.modules)
    assert not slow, (words, slow)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"mvgrl {verb}" in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_examples_precede_the_flags_and_are_valid(verb, run):
    shown = run(f"{verb} --help").out
    command = module_of(verb).run
    lines = examples(command.__doc__)
    assert len(lines) >= 2
    for line in lines:
        assert line.startswith(f"mvgrl {verb}")
        assert parse(line) is command
        assert 0 < shown.index(line) < shown.index("╭")  # the first panel of flags
    assert len({line.split("-o")[0] for line in lines}) == len(lines)


def test_top_level_examples_are_valid(run):
    lines = examples(make_app().help)
    assert [parse(line).__module__ for line in lines] == ["mvgrl.cli.demo", "mvgrl.cli.embed", "mvgrl.cli.evaluate"]
    assert all(line in run("--help").out for line in lines)


def test_unknown_flag_in_an_example_would_be_noticed():
    with pytest.raises(CycloptsError):
        parse("mvgrl embed edges.csv -o vectors.parquet --epoch 40")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_common_flags(verb, run):
    shown = run(f"{verb} --help").out
    assert all(flag in shown for flag in ("--json", "--quiet", "-q", "--verbose", "-v"))


def test_version_flag_prints_the_version(run):
    assert run("--version").out.strip() == mvgrl.__version__


def test_omitted_flags_leave_settings_open():
    assert given(Chosen()) == {}


def help_of(setting):
    return next(spec_of(f).help for part in (Settings, Output) for f in fields(part) if f.name == setting)


def parameter_help(verb, name):
    hints = get_type_hints(import_module(f"mvgrl.cli.{verb}").run, include_extras=True)
    return hints[name].__metadata__[0].help


@pytest.mark.parametrize(
    ("text", "known", "besides"),
    [
        (help_of("task"), TASKS, "one graph a vector per node many graphs"),
        (help_of("views"), VIEWS, "two more of such as t top_k"),
        (help_of("sampler"), (*SAMPLERS, "auto"), "nodes used in a training step"),
        (help_of("negatives"), NEGATIVES, "negatives for a node graph task"),
        (help_of("encoder"), ENCODERS, "one encoder per view for all views"),
        (help_of("readout"), READOUTS, "pooling of node codes per graph"),
        (help_of("discriminator"), DISCRIMINATORS, "score of two codes after projection heads without them"),
        (help_of("mode"), MODES, "contrast"),
        (help_of("bound"), BOUNDS, "bound on mutual information temperature"),
        (help_of("features"), KINDS, "initial features"),
        (help_of("normalise"), (*NORMALISATIONS, "auto"), "scaling of given features"),
        (help_of("norm"), NORMS, "normalisation layer"),
        (help_of("codes"), CODES, "codes after the heads before them of all layers"),
        (help_of("join"), JOINS, "how the views are joined"),
        (parameter_help("evaluate", "protocol"), PROTOCOLS, ""),
        (parameter_help("map", "method"), METHODS, "neighbours stay fast"),
        (parameter_help("explore", "method"), METHODS, "neighbours stay fast"),
        (parameter_help("map", "colours"), COLOURS, "a colour per label for numbers"),
    ],
)
def test_help_names_exactly_the_choices(text, known, besides):
    named = set(re.findall(r"[a-z][a-z0-9_]*(?:[-+][a-z0-9]+)*", text.lower()))
    assert named - ({"or", *besides.split()} - set(known)) == set(known)

"""Errors in the shell name parameters as they are typed there."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--learning-rate -1", "--learning-rate is -1"),
        ("--batch-size 0", "--batch-size is 0"),
        ("--hidden 0", "--hidden is 0"),
        ("--id-column name", "--id-column (name) does not apply"),
    ],
)
def test_flags_are_named_as_flags(refused, graph, flags, words):
    Path("matrix.gml").write_text("graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]")
    refused(f"embed {'matrix.gml' if 'column' in flags else graph} -o v.csv {flags}", words)


def test_keys_of_a_config_file_are_named_as_keys(refused, graph):
    Path("run.toml").write_text("learning_rate = -1\n")
    refused(f"embed {graph} -o v.csv --config run.toml", "run.toml: learning_rate is -1")


def test_hints_are_close(refused, graph):
    message = refused(f"embed {graph} -o v.csv --views adjacency,katz", "unknown view 'katz'; choose one of")
    assert "did you mean" not in message
    refused(f"embed {graph} -o v.csv --views adjacency,pp", "did you mean 'ppr'?")

"""JSON and TOML of unknown origin: every mistake is a ValueError, found quickly."""

from __future__ import annotations

import pytest

from mvgrl.parsing import LONGEST_TOML, parse_json, parse_toml


@pytest.mark.parametrize("depth", [40, 5_000, 200_000])
def test_deep_nesting_is_a_value_error(depth):
    for parse, text in (
        (parse_json, "[" * depth + "]" * depth),
        (parse_json, '{"a":' * depth + "1" + "}" * depth),
        (parse_toml, "a = " + "[" * depth + "]" * depth),
        (parse_toml, "a." * depth + "b = 1"),
    ):
        with pytest.raises(ValueError, match="nested"):
            parse(text)


def test_text_that_is_too_long_for_settings_is_refused_before_it_is_parsed():
    with pytest.raises(ValueError, match="too long"):
        parse_toml("#" * (LONGEST_TOML + 1))

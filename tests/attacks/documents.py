"""Damage JSON, TOML and XML: other types, missing and added keys, deep nesting, entities."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from tests.attacks.bytes_and_text import NUMBERS, WORDS, encoded, replace_token

NESTED = "nested-here"  # replaced by lists or objects in each other, deeper than json.dumps can write


def odd_value(rng: random.Random) -> Any:
    plain = (None, True, False, [], {}, "", [[]], {"name": "x"}, [None], 1.5, -0.0, NESTED, {"": 0}, ["ppr", "ppr"])
    floats = (float("nan"), float("inf"), -float("inf"), 1e308, 5e-324)
    return rng.choice((*plain, *floats, *NUMBERS, *rng.sample(WORDS, 6), 10**30, [1] * 2000))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """All pairs of a list or dict and a key of it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


def change_value(rng: random.Random, value: Any) -> Any:
    places = _places(value)
    if not places or rng.random() < 0.03:
        return odd_value(rng)
    inside, key = rng.choice(places)
    change = rng.choice(("replace", "replace", "drop", "add", "copy"))
    if change == "drop":
        del inside[key]
    elif change == "add" and isinstance(inside, dict):
        inside[rng.choice(WORDS)] = odd_value(rng)
    elif change == "copy":
        other, name = rng.choice(places)
        inside[key] = json.loads(json.dumps(other[name])) if name in other or isinstance(other, list) else None
    else:
        inside[key] = odd_value(rng)
    return value


def json_text(rng: random.Random, value: Any) -> bytes:
    depth = rng.choice((50, 900, 5000, 100_000))
    deep = rng.choice(("[" * depth + "]" * depth, '{"a":' * depth + "0" + "}" * depth, "[" * depth))
    return json.dumps(value).replace(f'"{NESTED}"', deep).encode()


def change_json(rng: random.Random, data: bytes) -> bytes:
    return json_text(rng, change_value(rng, json.loads(data)))


def change_json_line(rng: random.Random, data: bytes) -> bytes:
    lines = data.splitlines() or [b"{}"]
    one = rng.randrange(len(lines))
    lines[one] = change_json(rng, lines[one])
    return b"\n".join(lines) + b"\n"


def change_toml(rng: random.Random, data: bytes) -> bytes:
    odd = (
        *(
            "1979-05-27",
            "1979-05-27T07:32:00Z",
            "07:32:00",
            "inf",
            "nan",
            "0x10",
            "''",
            "{a = 1}",
            "true",
            "-1",
            "1e400",
        ),
        *("[" * 5000, "[" * 500 + "]" * 500, "{a=" * 800 + "1" + "}" * 800, "[{}]", "[[]]", "9" * 5000, "'''a\nb'''"),
        *("['ppr:alpha=nan', 'heat:t=-1']", "['ppr:top_k=99999999999999999999']", "{name = 'ppr', alpha = []}"),
    )
    values = (*odd, *map(json.dumps, WORDS), *map(str, NUMBERS))
    lines = data.decode("utf-8", "replace").splitlines()
    one = rng.randrange(len(lines) or 1)
    key = lines[one].partition("=")[0].strip() if lines else "a"
    change = rng.choice(("value", "value", "value", "key", "heading", "dotted"))
    if change == "value":
        lines[one] = f"{key} = {rng.choice(values)}"
    elif change == "key":
        lines.insert(one, f"{rng.choice((key, 'hiden', 'é', json.dumps(rng.choice(WORDS))))} = {rng.choice(values)}")
    elif change == "heading":
        lines.insert(one, rng.choice(("[best]", "[[best]]", "[a.b.c]", f"[{'a.' * 300}a]", "[views]")))
    else:
        lines.insert(one, f"{'a.' * rng.choice((1, 50, 300))}b = 1")
    return encoded("\n".join(lines))


def change_xml(rng: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    bomb = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    doctypes = (
        f'<!DOCTYPE g [<!ENTITY e0 "ha">{bomb}]>',
        '<!DOCTYPE g [<!ENTITY e11 SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE g SYSTEM "http://127.0.0.1:9/x.dtd">',
        '<!DOCTYPE g [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
    )
    change = rng.choice(("doctype", "attribute", "value", "nest", "tag", "namespace"))
    if change == "doctype":
        head, _, rest = text.partition("<graphml")
        return encoded(f"{head}{rng.choice(doctypes)}<graphml{rest}".replace(">cat<", ">&e11;<"))
    if change == "nest":
        depth = rng.choice((2, 100, 20_000))
        return encoded(text.replace("<node", f"{'<graph>' * depth}{'</graph>' * depth}<node", 1))
    attributes = list(re.finditer(r'\s[\w.:]+="([^"]*)"', text))
    if not attributes:
        return replace_token(rng, data)
    one = rng.choice(attributes)
    if change == "attribute":
        return encoded(text[: one.start()] + text[one.end() :])
    if change == "tag":
        return encoded(
            text.replace(rng.choice(("<node", "<edge", "<key", "<data")), rng.choice(("<x", "<graph", "<port")))
        )
    if change == "namespace":
        return encoded(text.replace("http://graphml.graphdrawing.org/xmlns", "", 1))
    value = rng.choice((*WORDS, "long", "boolean", "yfiles", "directed", "n0", "d0", "double", "all"))
    return encoded(text[: one.start(1)] + re.sub(r'[<>&"]', "", value) + text[one.end(1) :])

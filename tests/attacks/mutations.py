"""Damage a file by its format: its bytes, its text, or what is inside the container."""

from __future__ import annotations

import random
from pathlib import PurePath

from tests.attacks.arrays import (
    change_array,
    change_member,
    change_pickle,
    change_zip,
    declare_array,
    object_array,
    payload,
    rename_global,
)
from tests.attacks.bytes_and_text import BYTES, TEXT, Mutation, flip_bits
from tests.attacks.documents import change_json, change_json_line, change_toml, change_xml
from tests.attacks.tensors_and_tables import change_header, change_metadata, change_table, change_tensors

INSIDE: dict[str, tuple[Mutation, ...]] = {
    "json": (change_json, change_json, payload),
    "jsonl": (change_json_line,),
    "toml": (change_toml,),
    "xml": (change_xml,),
    "npy": (change_array, declare_array, object_array, payload),
    "npz": (change_member, change_member, change_member, change_zip, payload),
    "pickle": (change_pickle, change_pickle, rename_global, payload),
    "safetensors": (change_tensors, change_tensors, change_header, change_metadata, payload),
    "parquet": (change_table, change_table, payload),
}


def kind_of(name: str) -> str:
    suffix = name.rpartition(".")[2]
    kinds = {"parquet": "parquet", "npz": "npz", "npy": "npy", "json": "json", "jsonl": "jsonl", "toml": "toml"}
    kinds |= {"safetensors": "safetensors", "checkpoint": "safetensors", "graphml": "xml", "gexf": "xml"}
    if name.startswith("ind.") and suffix != "index":
        return "pickle"
    return kinds.get(suffix, "text")


def mutate(rng: random.Random, name: str, data: bytes, pool: list[bytes]) -> tuple[str, bytes]:
    """Damage the content of a file, by its name; return what was done and the new content."""
    kind = kind_of(PurePath(name).name)
    inside = INSIDE.get(kind, ())
    choices: list[tuple[Mutation, ...]] = [BYTES]
    choices += [TEXT] * 3 if kind in ("text", "json", "jsonl", "toml", "xml") else []
    choices += [inside] * 4 if inside else []
    if rng.random() < 0.03 and pool:
        other = rng.choice(pool)
        start, end = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
        return f"{kind}: splice", data[:start] + other[end:]
    mutation = rng.choice(rng.choice(choices))
    try:
        return f"{kind}: {mutation.__name__}", mutation(rng, data)
    except Exception:  # an earlier mutation may have damaged the container
        return f"{kind}: flip_bits", flip_bits(rng, data)

"""Damage files as bytes or as text, whatever they contain."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable

Mutation = Callable[[random.Random, bytes], bytes]

NUMBERS = (
    0,
    -1,
    1,
    2,
    127,
    255,
    2**15,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
)
WORDS = (
    *map(str, NUMBERS),
    *("nan", "NaN", "inf", "-Infinity", "1e308", "-1e309", "1e-320", "0x10", "1_000", "٣", "+5", "007", "-0", "1.5"),
    *("", " ", "None", "null", "true", "a\0", "\0", "\ud800", "\u202e", "\ufeff", "é", "e\u0301", "=1+1", "@SUM(A1)"),
    *("<script>alert(1)</script>", "'; --", '"', "'", "\\", "\r", "\n", "\x1b[31m", "../../etc/passwd", "%s%n", "{0}"),
    *("A" * 5000, "9" * 400, "9" * 5000, "[" * 3000, "(" * 3000, "é" * 2000),
)
_TOKEN = re.compile(rb"[A-Za-z0-9_.+-]+")


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 16, 64, 256)))


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.choice((0, 1, rng.randrange(len(data) + 1), max(0, len(data) - 1)))]


def delete_chunk(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def repeat_chunk(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 50)) + data[end:]


def shuffle_chunks(rng: random.Random, data: bytes) -> bytes:
    size = max(1, len(data) // 8)
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    rng.shuffle(chunks)
    return b"".join(chunks)


def write_number(rng: random.Random, data: bytes) -> bytes:
    """Overwrite bytes with a special number, as an integer or a float of either byte order."""
    kind = rng.choice("bhiqBHIQfd")
    number: float = rng.choice(NUMBERS)
    if kind in "fd":
        number = rng.choice((float("nan"), float("inf"), 1e308 if kind == "d" else 3e38, -0.0))
        written = struct.pack(rng.choice("<>") + kind, number)
    else:
        size = struct.calcsize(kind)
        written = (int(number) % 2 ** (8 * size)).to_bytes(size, rng.choice(("little", "big")))
    start = rng.randrange(len(data) + 1)
    return data[:start] + written + data[start + len(written) :]


def insert_noise(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    noise = rng.choice((rng.randbytes(8), b"\0" * 16, b"\xff" * 8, b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf0\x9f"))
    return data[:start] + noise + data[start:]


def replace_token(rng: random.Random, data: bytes) -> bytes:
    """Replace one word or number of a text with a special one."""
    found = list(_TOKEN.finditer(data))
    if not found:
        return data + encoded(rng.choice(WORDS))
    one = rng.choice(found)
    return data[: one.start()] + encoded(rng.choice(WORDS)) + data[one.end() :]


def move_lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    one = rng.randrange(len(lines))
    change = rng.choice(("drop", "repeat", "shuffle", "swap", "empty", "join"))
    if change == "drop":
        del lines[one]
    elif change == "repeat":
        lines.insert(one, lines[rng.randrange(len(lines))])
    elif change == "shuffle":
        rng.shuffle(lines)
    elif change == "swap":
        lines[one] = lines[one][::-1]
    elif change == "empty":
        lines.insert(one, rng.choice((b"\n", b"\r\n", b",,,\n", b'"\n', b"\t\n")))
    else:
        lines[one] = lines[one].rstrip()
    return b"".join(lines)


def change_newlines(rng: random.Random, data: bytes) -> bytes:
    return rng.choice(
        (data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + data, data.replace(b",", b";"))
    )


def reencode(rng: random.Random, data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-32", "latin-1", "utf-7")), "replace")


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


BYTES: tuple[Mutation, ...] = (
    *(flip_bits, truncate, delete_chunk, repeat_chunk, shuffle_chunks, write_number, insert_noise),
)
TEXT: tuple[Mutation, ...] = (replace_token, replace_token, replace_token, move_lines, change_newlines, reencode)

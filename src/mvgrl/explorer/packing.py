"""A JSON header and arrays in one block of bytes, as the page's script reads them."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

_KINDS = {"u1": "|u1", "u2": "<u2", "u4": "<u4", "f4": "<f4", "f8": "<f8"}


class Packer:
    """Collect arrays, each of which the header refers to by its number.

    >>> packer = Packer()
    >>> packer.add(np.array([1, 2], np.uint8)), packer.text(["a", "bé"])
    (0, (1, 2))
    >>> block = packer.packed({"title": "T"})
    >>> unpacked(block)[1][1].tobytes().decode()
    'abé'
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []

    def add(self, array: np.ndarray) -> int:
        """Add an array of unsigned integers or floats."""
        kind = f"{array.dtype.kind}{array.dtype.itemsize}"
        self.arrays.append(np.ascontiguousarray(array, _KINDS[kind]))
        return len(self.arrays) - 1

    def codes(self, numbers: np.ndarray, most: int) -> int:
        """Add numbers from 0 to ``most`` in as few bytes as they need."""
        return self.add(numbers.astype(smallest(most)))

    def text(self, values: Any) -> tuple[int, int]:
        """Add texts: their bytes, and how many bytes each one has."""
        encoded = [str(value).encode("utf-8", "replace") for value in values]
        lengths = np.fromiter(map(len, encoded), np.uint32, len(encoded))
        return self.add(np.frombuffer(b"".join(encoded), np.uint8)), self.add(lengths)

    def packed(self, header: dict[str, Any]) -> bytes:
        """Return everything: the length of the header, the header, and the arrays, each at a multiple of 8 bytes."""
        places, end = [], 0
        for array in self.arrays:
            places.append([end, array.size, f"{array.dtype.kind}{array.dtype.itemsize}"])
            end = _up(end + array.nbytes)
        text = json.dumps({**header, "arrays": places}, ensure_ascii=True, allow_nan=False).encode()
        parts = [struct.pack("<I", len(text)), text, bytes(_up(4 + len(text)) - 4 - len(text))]
        for array in self.arrays:
            parts += [array.tobytes(), bytes(_up(array.nbytes) - array.nbytes)]
        return b"".join(parts)


def smallest(most: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned type that holds 0 to ``most``.

    >>> smallest(255).__name__, smallest(256).__name__
    ('uint8', 'uint16')
    """
    return np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.uint32


def unpacked(block: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the header and the arrays of a block."""
    (length,) = struct.unpack_from("<I", block)
    header = json.loads(block[4 : 4 + length])
    start = _up(4 + length)
    arrays = [np.frombuffer(block, _KINDS[kind], count, start + place) for place, count, kind in header["arrays"]]
    return header, arrays


def _up(size: int) -> int:
    return -(-size // 8) * 8

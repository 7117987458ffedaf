"""A hash table from ids to numbers, in compiled code: exact, and small enough to know when it outgrows its memory."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pyarrow as pa

from mvgrl.runtime import compiled

_EMPTY, _ELSEWHERE = -1, -2
_FULL = 0.6  # share of the slots in use, at most
_FIRST = 2**16  # entries that fit at the start


class MapTooLargeError(Exception):
    """The ids take more memory than they may; divide them into more shares."""


class IdMap:
    """Numbers for ids, integers or text; with several ``shares``, for those whose hash belongs to ``share`` only.

    What the map takes is at most ``limit`` bytes; beyond that, :class:`MapTooLargeError` is raised.

    >>> ids = IdMap(text=True)
    >>> ids.add(pa.array(["ann", "bob", "ann"], pa.large_string()), first=10).tolist()
    [10, 11, 10]
    >>> ids.find(pa.array(["bob", "cy"], pa.large_string())).tolist()
    [11, -1]
    """

    def __init__(
        self,
        *,
        text: bool,
        share: int = 0,
        shares: int = 1,
        expected: int = 0,
        limit: int | None = None,
        seed: int = 0,
    ) -> None:
        self.text, self.limit, self.count, self._used = text, limit, 0, 0
        room = max(_FIRST, expected)
        if limit is not None and 8 * (self._slots_for(room) + 2 * room) > limit:
            raise MapTooLargeError
        # The seed keeps a file from containing ids that are chosen to collide; all shares need the same.
        self._how = np.array([share, shares, seed & (2**62 - 1)], np.int64)
        self._slots = np.full(self._slots_for(room), _EMPTY, np.int64)
        self._values = np.empty(room, np.int64)
        self._keys = np.zeros(room + 1, np.int64)  # integers, or where texts start
        self._bytes = np.empty(16 * room if text else 0, np.uint8)

    @staticmethod
    def random_seed() -> int:
        """Return a seed for the hashes of all shares."""
        return secrets.randbits(62)

    @property
    def size(self) -> int:
        """The bytes of the map."""
        return sum(part.nbytes for part in (self._slots, self._values, self._keys, self._bytes))

    def add(self, ids: Any, first: int) -> np.ndarray:
        """Give the number ``first + i`` to the id in row i, unless it has one; return the number of every row.

        A row whose id belongs to another share has −2.
        """
        starts, data = _parts(ids)
        self._reserve(len(ids), len(data))
        found = np.empty(len(ids), np.int64)
        if self.text:
            self.count, self._used = _add_texts(
                self._slots, self._values, self._keys, self._bytes, self.count, self._used, starts, data, first,
                self._how, found
            )  # fmt: skip
        else:
            self.count = _add_integers(
                self._slots, self._values, self._keys, self.count, starts, first, self._how, found
            )
        return found

    def find(self, ids: Any) -> np.ndarray:
        """Return the number of every id: −1 if it has none, −2 if it belongs to another share."""
        starts, data = _parts(ids)
        found = np.empty(len(ids), np.int64)
        if self.text:
            _find_texts(self._slots, self._values, self._keys, self._bytes, starts, data, self._how, found)
        else:
            _find_integers(self._slots, self._values, self._keys, starts, self._how, found)
        return found

    def _slots_for(self, entries: int) -> int:
        return int(entries / _FULL) + 1

    def _reserve(self, entries: int, size: int) -> None:
        """Make room for more entries and bytes."""
        entries, size = self.count + entries, self._used + size
        if self._slots_for(entries) > len(self._slots):
            room = max(entries, 3 * self.count // 2)
            self._check(8 * (self._slots_for(room) + 2 * room))
            self._values, self._keys = _grown(self._values, room), _grown(self._keys, room + 1)
            self._slots = np.full(self._slots_for(room), _EMPTY, np.int64)
            if self.text:
                _rehash_texts(self._slots, self._keys, self._bytes, self.count, self._how)
            else:
                _rehash_integers(self._slots, self._keys, self.count, self._how)
        if self.text and size > len(self._bytes):
            room = max(size, 3 * self._used // 2)
            self._check(room)
            self._bytes = _grown(self._bytes, room)

    def _check(self, more: int) -> None:
        if self.limit is not None and self.size + more > self.limit:
            raise MapTooLargeError


def hash_texts(texts: Any) -> np.ndarray:
    """Return a 64-bit hash of each text of an Arrow array.

    >>> len(set(hash_texts(pa.array(["ann", "bob", "ann"], pa.large_string())).tolist()))
    2
    """
    starts, data = _parts(texts)
    found = np.empty(len(texts), np.uint64)
    _hash_texts(starts, data, found)
    return found


def _grown(array: np.ndarray, size: int) -> np.ndarray:
    larger = np.empty(max(size, len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


def _parts(ids: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return integers, or where texts start and end, and their bytes."""
    if isinstance(ids, np.ndarray):
        return ids, np.empty(0, np.uint8)
    if pa.types.is_int64(ids.type):
        return ids.to_numpy(), np.empty(0, np.uint8)
    _, offsets, data = ids.buffers()
    starts = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return starts - starts[0], content[starts[0] : starts[-1]]


@compiled()
def _mix(x: np.uint64) -> np.uint64:  # pragma: no cover
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled()
def _hash_text(data: np.ndarray, start: int, stop: int, seed: np.uint64) -> np.uint64:  # pragma: no cover
    value, word = _mix(seed ^ np.uint64(stop - start)), np.uint64(0)
    for place in range(start, stop):
        word = (word << np.uint64(8)) | np.uint64(data[place])
        if (place - start) & 7 == 7:
            value, word = _mix(value ^ word) + seed, np.uint64(0)
    return _mix(value ^ word)


@compiled()
def _hash_texts(starts, data, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    for row in range(len(found)):
        found[row] = _hash_text(data, starts[row], starts[row + 1], np.uint64(0x9E3779B97F4A7C15))


@compiled()
def _same(one: np.ndarray, a: int, other: np.ndarray, b: int, length: int) -> bool:  # pragma: no cover
    for i in range(length):  # noqa: SIM110 (compiled)
        if one[a + i] != other[b + i]:
            return False
    return True


@compiled()
def _slot_of(value: np.uint64, slots: int) -> np.int64:  # pragma: no cover
    return np.int64((value >> np.uint64(8)) % np.uint64(slots))


@compiled()
def _elsewhere(value: np.uint64, how: np.ndarray) -> bool:  # pragma: no cover
    return how[1] > 1 and np.int64((_mix(value) >> np.uint64(1)) % np.uint64(how[1])) != how[0]


@compiled()
def _seek_text(slots, keys, texts, starts, data, row, value):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Return the slot of a text, or the empty one where it belongs."""
    slot, length = _slot_of(value, len(slots)), starts[row + 1] - starts[row]
    while slots[slot] >= 0:
        entry = slots[slot]
        if keys[entry + 1] - keys[entry] == length and _same(texts, keys[entry], data, starts[row], length):
            break
        slot = slot + 1 if slot + 1 < len(slots) else 0
    return slot


@compiled()
def _add_texts(slots, values, keys, texts, count, used, starts, data, first, how, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    for row in range(len(found)):
        value = _hash_text(data, starts[row], starts[row + 1], np.uint64(how[2]))
        if _elsewhere(value, how):
            found[row] = -2
            continue
        slot = _seek_text(slots, keys, texts, starts, data, row, value)
        if slots[slot] < 0:
            slots[slot], values[count], keys[count] = count, first + row, used
            for place in range(starts[row], starts[row + 1]):
                texts[used] = data[place]
                used += 1
            count += 1
            keys[count] = used
        found[row] = values[slots[slot]]
    return count, used


@compiled()
def _find_texts(slots, values, keys, texts, starts, data, how, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    for row in range(len(found)):
        value = _hash_text(data, starts[row], starts[row + 1], np.uint64(how[2]))
        if _elsewhere(value, how):
            found[row] = -2
            continue
        entry = slots[_seek_text(slots, keys, texts, starts, data, row, value)]
        found[row] = values[entry] if entry >= 0 else -1


@compiled()
def _rehash_texts(slots, keys, texts, count, how):  # type: ignore[no-untyped-def]  # pragma: no cover
    for entry in range(count):
        slot = _slot_of(_hash_text(texts, keys[entry], keys[entry + 1], np.uint64(how[2])), len(slots))
        while slots[slot] >= 0:
            slot = slot + 1 if slot + 1 < len(slots) else 0
        slots[slot] = entry


@compiled()
def _seek_integer(slots, keys, key, value):  # type: ignore[no-untyped-def]  # pragma: no cover
    slot = _slot_of(value, len(slots))
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = slot + 1 if slot + 1 < len(slots) else 0
    return slot


@compiled()
def _add_integers(slots, values, keys, count, ids, first, how, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    for row in range(len(found)):
        value = _mix(np.uint64(ids[row]) ^ np.uint64(how[2]))
        if _elsewhere(value, how):
            found[row] = -2
            continue
        slot = _seek_integer(slots, keys, ids[row], value)
        if slots[slot] < 0:
            slots[slot], values[count], keys[count] = count, first + row, ids[row]
            count += 1
        found[row] = values[slots[slot]]
    return count


@compiled()
def _find_integers(slots, values, keys, ids, how, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    for row in range(len(found)):
        value = _mix(np.uint64(ids[row]) ^ np.uint64(how[2]))
        if _elsewhere(value, how):
            found[row] = -2
            continue
        entry = slots[_seek_integer(slots, keys, ids[row], value)]
        found[row] = values[entry] if entry >= 0 else -1


@compiled()
def _rehash_integers(slots, keys, count, how):  # type: ignore[no-untyped-def]  # pragma: no cover
    for entry in range(count):
        slot = _slot_of(_mix(np.uint64(keys[entry]) ^ np.uint64(how[2])), len(slots))
        while slots[slot] >= 0:
            slot = slot + 1 if slot + 1 < len(slots) else 0
        slots[slot] = entry

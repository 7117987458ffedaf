"""Damage NumPy, SciPy and zip files, and craft pickles that would run code."""

from __future__ import annotations

import io
import os
import pickle
import random
import re
import struct
import warnings
import zipfile
import zlib
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.attacks.bytes_and_text import NUMBERS
from tests.attacks.seeds import planetoid_pickle

MARKER = "PWNED"  # a file that a payload would create in the working folder


def odd_array(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """Change the values, the type or the shape of an array."""
    change = rng.choice(("value", "value", "value", "type", "shape", "length", "order"))
    if change == "value" and array.size and array.dtype.kind in "iufb":
        flat = array.copy().ravel()
        if array.dtype.kind in "iu":
            info = np.iinfo(array.dtype)
            special = (0, -1, 1, 10**8, info.min, info.max, len(flat), rng.choice(NUMBERS))
            flat[rng.randrange(len(flat))] = min(max(rng.choice(special), info.min), info.max)
        else:
            flat[rng.randrange(len(flat))] = rng.choice((np.nan, np.inf, -1, 3e38, 0, 1e-40))
        return flat.reshape(array.shape)
    if change == "type":
        kinds = ("f2", "f4", "f8", "i1", "i4", "u8", "c16", "?", "U3", "S3", "M8[s]", ">f4", ">i8", "i8,f4", "V4", "g")
        return np.zeros(array.shape, rng.choice(kinds)) if rng.random() < 0.5 else array.astype(rng.choice(kinds[:8]))
    if change == "shape":
        return rng.choice((array[None], array.ravel(), array.reshape(-1, 1), array[..., None, None], array.ravel()[:0]))
    if change == "length":
        return rng.choice((array[:-1], array[1:], np.concatenate([array, array]), array[:1])) if array.ndim else array
    return array[::-1] if array.ndim else np.array([array, array])


def npy_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def change_array(rng: random.Random, data: bytes) -> bytes:
    return npy_bytes(odd_array(rng, np.load(io.BytesIO(data))))


def declare_array(rng: random.Random, data: bytes) -> bytes:
    """Write another header: a huge or wrong shape, an odd type, or text that is not a header."""
    shapes = (
        "(2147483648, 4)",
        "(4611686018427387904, 8)",
        "(-1, 2)",
        "(0, 2)",
        "()",
        "(1e9,)",
        "True",
        "(4,)",
        "(4, 2,)",
    )
    types = (
        "'<f4'",
        "'|O'",
        "'<f16'",
        "'|V0'",
        "[('a', '<f4')]",
        "'|S9999999999'",
        "'<U3'",
        "__import__('os')",
        "'<i8'",
    )
    odd = rng.choice(("", "(" * 200, "{" * 9000, "9" * 5000))
    order = rng.choice(("False", "True", "1", "None"))
    header = f"{{'descr': {rng.choice(types)}, 'fortran_order': {order}, 'shape': {rng.choice(shapes)}, }}{odd}\n"
    version = rng.choice((b"\1\0", b"\2\0", b"\3\0", b"\x09\0"))
    size = struct.pack("<H" if version == b"\1\0" else "<I", len(header))
    return b"\x93NUMPY" + version + size + header.encode() + data[-64:]


def zip_members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert all(one.file_size < 2**20 for one in file.infolist()), "an earlier mutation made a bomb"
        return {name: file.read(name) for name in file.namelist()}


def zip_bytes(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, content in members:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of duplicate names
                made.writestr(zipfile.ZipInfo(name), content, compression)
    return file.getvalue()


def change_member(rng: random.Random, data: bytes) -> bytes:
    """Rewrite one array of an .npz file: its values, its header, or as a pickle."""
    members = zip_members(data)
    name = rng.choice(list(members))
    change = rng.choice((change_array, change_array, change_array, declare_array, object_array))
    members[name] = change(rng, members[name])
    return zip_bytes(list(members.items()))


@cache
def bomb(megabytes: int) -> bytes:
    """A deflated stream of zeros after a NumPy header: a thousand times smaller than what it unpacks to."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({megabytes * 2**17},), }}\n".encode()
    head = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header
    start = squeeze.compress(head) + squeeze.flush(zlib.Z_FULL_FLUSH)
    chunk = squeeze.compress(bytes(2**20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return start + chunk * megabytes + squeeze.flush()


def zip_bomb(name: str, megabytes: int, *, declared: int | None = None) -> bytes:
    """An archive with one member that unpacks to this many megabytes, whatever size it declares."""
    packed, size = bomb(megabytes), declared if declared is not None else megabytes * 2**20 + 90
    word = name.encode()
    common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, 0, len(packed), size, len(word), 0)
    local = b"PK\3\4" + common + word + packed
    central = b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + word
    return local + central + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)


def change_zip(rng: random.Random, data: bytes) -> bytes:
    """Change the archive itself: names, compression, sizes, or a bomb."""
    members = list(zip_members(data).items())
    change = rng.choice(("drop", "rename", "repeat", "compress", "sizes", "extra", "bomb"))
    one = rng.randrange(len(members))
    name, content = members[one]
    if change == "drop":
        del members[one]
    elif change == "rename":
        members[one] = (
            rng.choice(("../x.npy", "/x.npy", "data", "", "é.npy", "dense.npy", "key.npy", "A" * 500)),
            content,
        )
    elif change == "repeat":
        members.append((name, npy_bytes(np.zeros(3))))
    elif change == "extra":
        members.append(("extra.npy", rng.choice((content, b"", pickle.dumps(Payload("os.system"))))))
    elif change == "bomb" and rng.random() < 0.1:
        return zip_bomb(name, 1500, declared=rng.choice((None, 64, 2**32 - 2)))
    made = zip_bytes(members, rng.choice((*[zipfile.ZIP_DEFLATED] * 8, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)))
    if change == "sizes":
        at = made.rfind(b"PK\1\2") + rng.choice((10, 20, 24, 28, 30, 42))
        return made[:at] + struct.pack("<I", rng.choice((0, 1, 2**31, 2**32 - 1))) + made[at + 4 :]
    return made


class Payload:
    """Pickled as a call that would create the marker file."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __reduce__(self) -> tuple[Any, ...]:
        write = f"open({MARKER!r}, 'w').close()"
        calls = {"os.system": (os.system, (f"touch {MARKER}",)), "exec": (exec, (write,)), "eval": (eval, (write,))}
        return {**calls, "mkdir": (os.mkdir, (MARKER,)), "open": (open, (MARKER, "w"))}[self.how]


HOW = ("os.system", "exec", "eval", "mkdir", "open")


def object_array(rng: random.Random, data: bytes) -> bytes:
    return npy_bytes(np.array([Payload(rng.choice(HOW)), None], dtype=object))


def payload(rng: random.Random, data: bytes) -> bytes:
    """A pickle that runs code, bare, as a NumPy object array, or in a zip file as torch.save writes it."""
    pickled = pickle.dumps(Payload(rng.choice(HOW)), protocol=rng.choice((0, 2, 4)))
    shape = rng.choice(("bare", "before", "array", "torch"))
    if shape == "torch":
        return zip_bytes([("archive/data.pkl", pickled), ("archive/version", b"3\n")])
    return {"bare": pickled, "before": pickled[:-1] + b"0" + data, "array": object_array(rng, data)}[shape]


def rename_global(rng: random.Random, data: bytes) -> bytes:
    """Replace a name that the pickle refers to with a function that runs code."""
    names = (b"cos\nsystem\n", b"cbuiltins\neval\n", b"cnumpy\nload\n", b"c__builtin__\nlist\n", b"cnumpy\ndtype\n",
             b"cscipy.sparse.csr\ncsr_matrix\n", b"ccollections\ndefaultdict\n", b"cnumpy\nndarray\n")  # fmt: skip
    found = list(re.finditer(rb"c[\w.]+\n\w+\n", data))
    if not found:
        return rng.choice(names) + b"(" + data
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(names) + data[one.end() :]


def change_pickle(rng: random.Random, data: bytes) -> bytes:
    """Pickle other content: wrong types, changed arrays, or deep and self-referring lists."""
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = []
    for _ in range(rng.choice((10, 500))):
        deep = [deep]
    tables = [np.eye(8, 3, dtype=np.int32), np.ones((4, 3)), np.zeros((8, 0)), np.array(["a"]), np.full((8, 3), np.nan)]
    table = rng.choice(tables)
    matrix = sp.csr_matrix(np.eye(rng.choice((4, 8)), rng.choice((5, 3))), dtype=np.float32)
    setattr(matrix, part := rng.choice(("data", "indices", "indptr")), odd_array(rng, getattr(matrix, part)))
    graphs = ({}, {0: []}, {0: 5}, {0: [1], "a": [2]}, {0: [2**70]}, {-1: [3]}, {0: [10**9]}, {0.5: [1]}, {0: "abc"})
    return planetoid_pickle(rng.choice((table, matrix, matrix, *rng.sample(graphs, 3), loop, deep, None, 10**4000)))

"""NumPy and SciPy files: every format is read, and a damaged, hostile or too large file is rejected before use."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl.graphs.read import read
from mvgrl.tables import budget
from mvgrl.tables.arrays import read_array, read_npy
from mvgrl.tables.embeddings import read_embeddings

MATRIX = np.array([[0, 2.0, 0, 0], [2.0, 0, 1.0, 0], [0, 1.0, 0, 0], [0, 0, 0, 0]])


def header(shape, descr="<f8", version=(1, 0), order=False):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": order, "shape": shape})
    return buffer.getvalue()


def write_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)


def save_parts(path, kind, **parts):
    """Write a sparse matrix as SciPy does, with any arrays."""
    np.savez(
        path, format=kind.encode("ascii"), _is_array=True, **{name: np.asarray(part) for name, part in parts.items()}
    )


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("type_", ["array", "matrix"])
@pytest.mark.parametrize("compressed", [True, False])
def test_every_format_that_scipy_writes_is_read(tmp_path, kind, type_, compressed):
    path = tmp_path / "m.npz"
    sp.save_npz(path, getattr(sp, f"{kind}_{type_}")(MATRIX), compressed=compressed)
    found = read_array(path)
    assert isinstance(found, sp.csr_array)
    assert found.toarray().tolist() == MATRIX.tolist()
    assert read(path).graph.adjacency.toarray().tolist() == MATRIX.tolist()


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "<f2", ">f4", ">f8", "<i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_type_and_order_are_read(tmp_path, dtype, order):
    given = np.array(np.arange(6).reshape(2, 3), dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", given)
    np.savez_compressed(tmp_path / "x.npz", x=given)
    for found in (read_npy(tmp_path / "x.npy"), read_array(tmp_path / "x.npy"), read_array(tmp_path / "x.npz")):
        assert found.tolist() == given.tolist()
        assert found.dtype == given.dtype.newbyteorder("=")


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "dia", "coo"])
def test_half_precision_matrix_is_read(tmp_path, kind):
    matrix = getattr(sp, f"{kind}_array")(MATRIX)
    matrix.data = matrix.data.astype(np.float16)
    sp.save_npz(tmp_path / "m.npz", matrix)
    assert read_array(tmp_path / "m.npz").toarray().tolist() == MATRIX.tolist()


BAD_PARTS = [
    ("csr", {"indptr": [0, 100_000_000, 2], "indices": [0, 1], "data": [1.0, 1.0]}, "indptr has 100000000"),
    ("csr", {"indptr": [0, 1], "indices": [0, 1], "data": [1.0, 1.0]}, "indptr has 2 entries instead of 3"),
    ("csr", {"indptr": [1, 1, 2], "indices": [0, 1], "data": [1.0, 1.0]}, "start at 0"),
    ("csr", {"indptr": [0, 2, 1], "indices": [0, 1], "data": [1.0, 1.0]}, "decreases"),
    ("csr", {"indptr": [0, -5, 2], "indices": [0, 1], "data": [1.0, 1.0]}, "indptr has -5"),
    ("csr", {"indptr": np.array([0, 2**64 - 1, 2], np.uint64), "indices": [0, 1], "data": [1.0, 1.0]}, "indptr"),
    ("csr", {"indptr": [0, 1, 2], "indices": [0, 2], "data": [1.0, 1.0]}, "indices has 2, outside 0 to 1"),
    ("csr", {"indptr": [0, 1, 2], "indices": [-1, 0], "data": [1.0, 1.0]}, "indices has -1"),
    ("csr", {"indptr": [0, 1, 2], "indices": [0, 1], "data": [1.0]}, "indices has 2 entries instead of 1"),
    ("csr", {"indptr": [0.0, 1.0, 2.0], "indices": [0, 1], "data": [1.0, 1.0]}, "float64 values, not integers"),
    ("csr", {"indptr": [0, 1, 2], "indices": [[0], [1]], "data": [1.0, 1.0]}, "2 dimensions"),
    ("csr", {"indptr": [0, 1, 2], "indices": [0, 1], "data": [[1.0], [1.0]]}, "2 dimensions"),
    ("csr", {"indptr": [0, 1, 2], "indices": [0, 1], "data": ["a", "b"]}, "<U1"),
    ("csr", {"indptr": [0, 1, 2], "indices": [0, 1], "data": [1j, 1j]}, "complex128"),
    ("csr", {"indptr": [0, 1, 2], "data": [1.0, 1.0]}, "no array 'indices'"),
    ("csc", {"indptr": [0, 100_000_000, 2], "indices": [0, 1], "data": [1.0, 1.0]}, "indptr has 100000000"),
    ("csc", {"indptr": [0, 1, 2], "indices": [0, 9], "data": [1.0, 1.0]}, "indices has 9"),
    ("bsr", {"indptr": [0, 10**8], "indices": [0], "data": [[[1.0, 0], [0, 1]]]}, "indptr has 100000000"),
    ("bsr", {"indptr": [0, 1], "indices": [7], "data": [[[1.0, 0], [0, 1]]]}, "indices has 7"),
    ("bsr", {"indptr": [0, 1], "indices": [0], "data": [[[1.0, 0, 0]]]}, "blocks"),
    ("bsr", {"indptr": [0, 1], "indices": [0], "data": np.zeros((1, 0, 0))}, "blocks"),
    ("coo", {"row": [0, 5], "col": [0, 1], "data": [1.0, 1.0]}, "row has 5"),
    ("coo", {"row": [0, 1], "col": [-1, 1], "data": [1.0, 1.0]}, "col has -1"),
    ("coo", {"row": [0], "col": [0, 1], "data": [1.0, 1.0]}, "row has 1 entries"),
    ("coo", {"coords": [[0, 5], [0, 1]], "data": [1.0, 1.0]}, "row has 5"),
    ("coo", {"coords": [0, 5], "data": [1.0, 1.0]}, "coords"),
    ("dia", {"offsets": [0, 1], "data": [[1.0, 1.0]]}, "offsets has 2 entries"),
    ("dia", {"offsets": [0, 0], "data": [[1.0, 1.0], [1.0, 1.0]]}, "twice"),
    ("dia", {"offsets": [0], "data": [1.0, 1.0]}, "dimensions"),
    ("lil", {"rows": [0], "data": [1.0, 1.0]}, "unknown format 'lil'"),
    ("x" * 5000, {"data": [1.0]}, "unknown format"),
]


@pytest.mark.parametrize(("kind", "parts", "words"), BAD_PARTS)
def test_inconsistent_matrix_is_rejected_as_graph_and_as_features(tmp_path, input_error, kind, parts, words):
    bad, good = tmp_path / "bad.npz", tmp_path / "good.npz"
    save_parts(bad, kind, shape=[2, 2], **parts)
    sp.save_npz(good, sp.csr_array([[0, 1.0], [1.0, 0]]))
    message = input_error(lambda: read(bad), bad, words, "write it again")
    assert input_error(lambda: read(good, nodes=bad), bad, words) == message
    assert len(message) < 500


@pytest.mark.parametrize("shape", [[2], [2, 2, 2], [2.0, 2.0], [-1, 2], [[2, 2]], [2**63 - 1, 2**63 - 1], ["2", "2"]])
def test_matrix_with_an_impossible_shape_is_rejected(tmp_path, input_error, shape):
    path = tmp_path / "m.npz"
    save_parts(path, "coo", shape=shape, row=[0], col=[1], data=[1.0])
    input_error(lambda: read_array(path), path)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia", "bsr"])
def test_small_matrix_with_a_huge_shape_is_rejected(tmp_path, input_error, kind):
    path = tmp_path / "m.npz"
    parts = {"coo": {"row": [0], "col": [0]}, "dia": {"offsets": [0]}}.get(kind, {"indptr": [0, 1], "indices": [0]})
    data = {"dia": [[1.0]], "bsr": [[[1.0]]]}.get(kind, [1.0])
    save_parts(path, kind, shape=[10**10, 10**10], data=data, **parts)
    input_error(lambda: read_array(path), path, "would unpack from", "GB")


def test_file_that_unpacks_to_gigabytes_is_rejected_before_it_is_unpacked(tmp_path, input_error, monkeypatch):
    path = tmp_path / "bomb.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w", force_zip64=True) as out,
    ):
        out.write(header((3 * 2**27,)))
        for _ in range(48):
            out.write(bytes(2**23))
    monkeypatch.setattr(budget, "ALWAYS_ALLOWED", 2**22)
    monkeypatch.setattr(np, "empty", None)
    input_error(lambda: read_array(path), path, "to 384.0 MB")


def test_declared_sizes_are_compared_with_the_memory_of_the_machine(tmp_path, input_error, monkeypatch):
    np.save(tmp_path / "x.npy", np.ones((1000, 100)))
    monkeypatch.setattr(budget, "machine_memory", lambda: 2**19)
    input_error(lambda: read_npy(tmp_path / "x.npy"), "x.npy", "0.8 MB", "0.5 MB of memory")


def test_very_compressible_matrix_of_moderate_size_is_read(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros((4000, 1000), np.uint8))
    assert read_array(tmp_path / "x.npz").shape == (4000, 1000)
    assert (tmp_path / "x.npz").stat().st_size * budget.HIGHEST_RATIO < 4_000_000


@pytest.mark.parametrize(
    "content",
    [
        header((2**40,)) + bytes(80),
        header((3, 4)) + bytes(8),
        header((2**70, 2**70)),
        header((-1, 2)) + bytes(16),
        header((1,) * 100) + bytes(8),
        header((0, 2**62)),
        header((2, 2), "|O") + bytes(32),
        header((2, 2), "<U5") + bytes(80),
        header((2, 2), "<c16") + bytes(64),
        header((2, 2), "<M8[s]") + bytes(32),
        header((2, 2), [("a", "<f8")]) + bytes(32),
        header((2, 2), "|V8") + bytes(32),
        header((2, 2))[:20],
        header((2, 2)).replace(b"'shape'", b"'shapf'") + bytes(32),
        b"\x93NUMPY\x09\x00" + header((2, 2))[8:] + bytes(32),
        b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"(" * 9000,
        b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"-" * 8999 + b"1",
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
    ],
)  # fmt: skip
def test_file_with_a_lying_header_is_rejected(tmp_path, input_error, content):
    plain, packed = tmp_path / "x.npy", tmp_path / "x.npz"
    plain.write_bytes(content)
    input_error(lambda: read_embeddings(plain), plain)
    write_zip(packed, [("x.npy", content)])
    input_error(lambda: read(packed), packed)


def test_archive_with_odd_members_is_rejected(tmp_path, input_error):
    path, array = tmp_path / "x.npz", header((2, 2)) + bytes(32)
    with pytest.warns(UserWarning, match="Duplicate"):
        write_zip(path, [("x.npy", array), ("x.npy", array)])
    input_error(lambda: read_array(path), path, "same name")
    write_zip(path, [("x.npy", array), ("x", array)])
    input_error(lambda: read_array(path), path, "same name")
    write_zip(path, [("x.npy", array + b"more")])
    input_error(lambda: read_array(path), path, "needs 32 bytes, but there are 36")
    write_zip(path, [("x.npy", array)], zipfile.ZIP_LZMA)
    input_error(lambda: read_array(path), path, "compressed")
    write_zip(path, [(f"{i}" * 500, array) for i in range(20)])
    assert len(input_error(lambda: read_array(path), path, "keep one")) < 500
    write_zip(path, [("x.npy", array)])
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    input_error(lambda: read_array(path), path, "damaged")


def test_archive_whose_directory_declares_too_little_is_rejected(tmp_path, input_error):
    path = tmp_path / "x.npz"
    write_zip(path, [("x.npy", header((512, 1024)) + bytes(2**22))])
    content = path.read_bytes()
    size = (2**22 + len(header((512, 1024)))).to_bytes(4, "little")
    assert content.count(size) == 2  # before the member and in the directory
    path.write_bytes(content.replace(size, (256).to_bytes(4, "little")))
    input_error(lambda: read_array(path), path, "damaged")

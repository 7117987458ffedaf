"""Hostile Planetoid pickles: nothing is called, and no memory is taken for what is not in the file."""

from __future__ import annotations

import pickle
import struct
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl.graphs.planetoid_pickle import read_pickle, to_array, to_matrix, to_neighbours

ARRAY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
DTYPE = b"cnumpy\ndtype\nU\x02%s\x89\x88\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"


def dumps(thing, protocol=3):
    """Pickle with the module names of the published files."""
    text = pickle.dumps(thing, protocol).replace(b"numpy._core.", b"numpy.core.")
    return text.replace(b"scipy.sparse._csr\n", b"scipy.sparse.csr\n")


def stored_array(shape, content, dtype=b"f8"):
    return b"\x80\x02" + ARRAY + b"(K\x01" + shape + DTYPE % dtype + b"\x89U" + bytes([len(content)]) + content + b"tb."


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_as_python_reads_them(dtype, order):
    given = np.array(np.arange(6).reshape(2, 3), dtype=dtype, order=order)
    found = to_array(read_pickle(dumps(given)))
    assert found.tolist() == given.tolist()
    assert found.dtype == given.dtype.newbyteorder("=")


def test_matrices_and_neighbours_are_read():
    given = sp.csr_matrix(np.array([[0, 1.5], [2, 0]]))
    assert to_matrix(read_pickle(dumps(given))).toarray().tolist() == [[0, 1.5], [2, 0]]
    for protocol in range(5):
        assert to_neighbours(read_pickle(pickle.dumps({0: [1, 2], 1: []}, protocol)), 100) == {0: [1, 2], 1: []}


@pytest.mark.parametrize(
    "content",
    [
        stored_array(b"J\xff\xff\xff\x7f\x85", bytes(8)),
        stored_array(b"J\xff\xff\xff\xff\x85", bytes(8)),
        stored_array(b"K\x01\x85", bytes(8), b"O8"),
        stored_array(b"K\x01\x85", bytes(8), b"V8"),
        stored_array(b"K\x01\x85", bytes(8), b"M8"),
        stored_array(b"K\x01", bytes(8)),
        b"\x80\x02cnumpy\nndarray\nJ\xff\xff\xff\x7f\x85R.",
        b"\x80\x02]q\x00cnumpy.core.multiarray\n_reconstruct\n.",
        dumps(np.array([{}], dtype=object)),
        b"(lp0\n.",
    ],
)
def test_arrays_that_do_not_match_their_content_are_rejected(content):
    with pytest.raises(ValueError, match=r"arra|call|name|number|object"):
        to_array(read_pickle(content))


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02Nr\xff\xff\xff\x7f.",  # a memo of two billion entries
        b"\x80\x02T\xff\xff\xff\x7fabc.",  # a text of two gigabytes
        b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"abc.",
        b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"N.",
        b"\x80\x02\x8b\xff\xff\xff\x7f\x01.",
        b"\x80\x02" + b"(" * 100_000 + b"N" + b"t" * 100_000 + b".",
        b"\x80\x02}" + b"(" * 100_000 + b"t" * 100_000 + b"Ns.",  # a nested tuple as key: its hash recurses in C
        b"\x80\x02]q\x00" + b"h\x00a" * 1000 + b".",  # a list that contains itself
        b"I" + b"9" * 100_000 + b"\n.",
        b"\x80\x02cbuiltins\neval\nU\x01a\x85R.",
        b"\x80\x02cos\nsystem\nU\x01a\x85R.",
        b"\x80\x02\x82\x01.", b"P1\n.", b"\x80\x02N2222.", b"N0.", b"0.", b"t.", b".", b"", b"\x80\x09N.",
        b"(i__main__\nX\n.",
    ],
)  # fmt: skip
def test_bombs_are_harmless(content):
    tracemalloc.start()
    try:
        found = read_pickle(content)
    except Exception as error:
        assert isinstance(error, (ValueError, LookupError)), error  # noqa: PT017
    else:
        with pytest.raises(ValueError, match=r"contains|integers|arra"):
            to_neighbours(found, len(content))
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()


def test_one_list_that_stands_for_many_is_rejected():
    shared = list(range(10_000))
    content = pickle.dumps(dict.fromkeys(range(10_000), shared), 2)
    assert len(content) < 200_000
    with pytest.raises(ValueError, match="more edges than bytes"):
        to_neighbours(read_pickle(content), len(content))
    nested: list = [1]
    for _ in range(40):  # as a tree, it has a trillion leaves
        nested = [nested, nested]
    content = pickle.dumps({0: nested}, 2)
    with pytest.raises(ValueError, match="not integers"):
        to_neighbours(read_pickle(content), len(content))


@pytest.mark.parametrize("neighbours", [{0: [2**40]}, {0: [-1]}, {0: [True]}, {"0": [1]}, {0: (1,)}, {0: ["1"]}, [1]])
def test_neighbours_that_are_not_node_numbers_are_rejected(neighbours):
    with pytest.raises(ValueError, match=r"integers|range|contains"):
        to_neighbours(read_pickle(pickle.dumps(neighbours, 2)), 1000)


@pytest.mark.parametrize("key", [-1, 2**31, 2**61 - 1, 1.5, None, (1,)])
def test_keys_that_are_not_node_numbers_are_rejected(key):
    with pytest.raises(ValueError, match="key"):
        read_pickle(pickle.dumps({key: [1]}, 2))

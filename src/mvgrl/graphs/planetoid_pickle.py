"""Read the pickles of Planetoid files without Python's unpickler.

The datasets are published as Python 2 pickles. A pickle can call any function while it is loaded, and even one that
only names harmless types can exhaust the memory or crash NumPy. This reader calls nothing: it builds lists, dicts,
numbers and text, and records the few objects of NumPy and SciPy that the files contain as names with their state.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.tables.sparse import csr_from_arrays

_ARRAY, _DTYPE, _MATRIX = "numpy.core.multiarray._reconstruct", "numpy.dtype", "scipy.sparse.csr.csr_matrix"
_DICT = "collections.defaultdict"
_KNOWN = {_ARRAY, _DTYPE, _MATRIX, _DICT, "numpy.ndarray", "__builtin__.list"}
_NUMBERS = {
    f"{kind}{size}" for kind, sizes in {"b": "1", "i": "1248", "u": "1248", "f": "48"}.items() for size in sizes
}
_LARGEST_KEY = 2**31
_MARK = object()


@dataclass(eq=False)
class Stored:
    """An object in a pickle: the name of its type, the arguments of its constructor, its state and its items."""

    name: str
    arguments: Any = None
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


def read_pickle(data: bytes) -> Any:
    """Return what a pickle contains, or raise ``ValueError`` if a Planetoid file would not contain it.

    >>> read_pickle(b"(dp0\\nI0\\n(lp1\\nI1\\nas.")
    {0: [1]}
    """
    machine = _Machine()
    for operation, argument, _ in pickletools.genops(data):
        if argument is not None or operation.name in _CONSTANTS:
            machine.take(operation.name, argument)
        else:
            machine.run(operation.name)
    if len(machine.stack) != 1:
        raise ValueError("it does not end with one object")
    return machine.stack[0]


def to_array(stored: Any) -> np.ndarray:
    """Return a stored array of numbers."""
    if not isinstance(stored, Stored) or stored.name != _ARRAY or not isinstance(stored.state, tuple):
        raise ValueError(f"it contains {describe(stored)}, not an array")
    *_, shape, dtype, fortran_order, content = (None, *stored.state) if len(stored.state) >= 4 else (None,) * 5
    content = content.encode("latin1") if isinstance(content, str) else content
    if not isinstance(shape, tuple) or any(type(length) is not int or length < 0 for length in shape):
        raise ValueError("an array has no shape")
    wanted = _to_dtype(dtype)
    if not isinstance(content, bytes) or len(content) != math.prod(shape) * wanted.itemsize:
        raise ValueError("the shape of an array does not match its content")
    array = np.frombuffer(content, wanted).reshape(shape, order="F" if fortran_order else "C")
    return array.astype(wanted.newbyteorder("="))


def to_matrix(stored: Any) -> sp.csr_array:
    """Return a stored sparse matrix."""
    if not isinstance(stored, Stored) or stored.name != _MATRIX or not isinstance(stored.state, dict):
        raise ValueError(f"it contains {describe(stored)}, not a table")
    arrays = {name: to_array(stored.state.get(name)) for name in ("data", "indices", "indptr")}
    return csr_from_arrays("csr", stored.state.get("_shape"), arrays)


def to_neighbours(stored: Any, most: int) -> dict[int, list[int]]:
    """Return a stored dict of integers to lists of integers, with a limit on their total number."""
    found = stored.items if isinstance(stored, Stored) and stored.name == _DICT else stored
    if not isinstance(found, dict):
        raise ValueError(f"it contains {describe(stored)}")
    if sum(len(ends) for ends in found.values() if type(ends) is list) > most:  # one list may stand for many
        raise ValueError("it has more edges than bytes")
    for node, ends in found.items():
        if type(node) is not int or type(ends) is not list or any(type(end) is not int for end in ends):
            raise ValueError("its nodes are not integers")
        if any(not 0 <= end < _LARGEST_KEY for end in ends):
            raise ValueError("the number of a node is out of range")
    return found


def describe(stored: Any) -> str:
    """Describe an object for an error message."""
    return f"a {stored.name.rpartition('.')[2] if isinstance(stored, Stored) else type(stored).__name__}"


def _to_dtype(stored: Any) -> np.dtype[Any]:
    if isinstance(stored, Stored) and stored.name == _DTYPE and isinstance(stored.arguments, tuple):
        code = stored.arguments[0] if stored.arguments else None
        order = stored.state[1] if isinstance(stored.state, tuple) and len(stored.state) > 1 else "|"
        if isinstance(code, str) and code in _NUMBERS and order in ("<", ">", "|", "="):
            return np.dtype(f"{order}{code}")
    raise ValueError("an array does not hold numbers")


class _Machine:
    """The stack and the memo of a pickle, with the operations that Planetoid files need."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def take(self, name: str, argument: Any) -> None:
        """Do an operation that has an argument in the pickle."""
        if name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name] if argument is None else argument)
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[argument] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif name == "GLOBAL":
            self._push_name(*argument.split(" ", 1))
        elif name not in ("PROTO", "FRAME"):
            raise ValueError(f"it has the operation {name}, which no Planetoid file needs")

    def run(self, name: str) -> None:
        """Do an operation that works on the stack alone."""
        if name not in _OPERATIONS:
            raise ValueError(f"it has the operation {name}, which no Planetoid file needs")
        _OPERATIONS[name](self)

    def pop(self, count: int) -> tuple[Any, ...]:
        """Take objects from the top of the stack; the first of them is the lowest."""
        taken = self.stack[len(self.stack) - count :]
        if len(taken) != count or any(item is _MARK for item in taken):
            raise ValueError("it takes more from its stack than there is")
        del self.stack[len(self.stack) - count :]
        return tuple(taken)

    def pop_to_mark(self) -> list[Any]:
        """Take all objects above the last mark, and the mark."""
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise ValueError("a mark is missing")
        taken = self.stack[place + 1 :]
        del self.stack[place:]
        return taken

    def extend(self, values: list[Any]) -> None:
        """Append values to the list on the top of the stack."""
        if type(self.stack[-1]) is not list:
            raise ValueError("it appends to something that is not a list")
        self.stack[-1].extend(values)

    def update(self, values: list[Any]) -> None:
        """Set items, keys and values in turn, of the dict on the top of the stack."""
        target = self.stack[-1].items if isinstance(self.stack[-1], Stored) else self.stack[-1]
        if type(target) is not dict or len(values) % 2:
            raise ValueError("it sets items of something that is not a dict")
        for key, value in zip(values[::2], values[1::2], strict=True):
            # Large integers can be chosen to collide in a dict, and the hash of nested tuples to overflow the C stack.
            if type(key) is not str and not (type(key) is int and 0 <= key < _LARGEST_KEY):
                raise ValueError("a key is neither text nor the number of a node")
            target[key] = value

    def reduce(self) -> None:
        """Record a call."""
        called, arguments = self.pop(2)
        if not isinstance(called, Stored) or called.arguments is not None or not isinstance(arguments, tuple):
            raise ValueError("it calls something that is not a function")
        self.stack.append(Stored(called.name, arguments))

    def build(self) -> None:
        """Record the state of an object."""
        target, state = self.pop(2)
        if not isinstance(target, Stored) or target.arguments is None:
            raise ValueError("it sets the state of something without a state")
        target.state = state
        self.stack.append(target)

    def _push_name(self, module: Any, name: Any) -> None:
        full = f"{module}.{name}"
        if full not in _KNOWN:
            raise ValueError(f"it refers to {full[:100]}, which no Planetoid file needs")
        self.stack.append(Stored(full))

    def push_named(self) -> None:
        """Push the object whose module and name are on the stack."""
        self._push_name(*self.pop(2))


_CONSTANTS: dict[str, Any] = {
    "NONE": None, "NEWTRUE": True, "NEWFALSE": False,
    **dict.fromkeys((
        "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
        "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES",
    )),
}  # fmt: skip
_OPERATIONS: dict[str, Callable[[_Machine], Any]] = {
    "MARK": lambda machine: machine.stack.append(_MARK),
    "MEMOIZE": lambda machine: machine.memo.__setitem__(len(machine.memo), machine.stack[-1]),
    "EMPTY_LIST": lambda machine: machine.stack.append([]),
    "EMPTY_DICT": lambda machine: machine.stack.append({}),
    "EMPTY_TUPLE": lambda machine: machine.stack.append(()),
    "LIST": lambda machine: machine.stack.append(machine.pop_to_mark()),
    "DICT": lambda machine: _new_dict(machine, machine.pop_to_mark()),
    "TUPLE": lambda machine: machine.stack.append(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine: machine.stack.append(machine.pop(1)),
    "TUPLE2": lambda machine: machine.stack.append(machine.pop(2)),
    "TUPLE3": lambda machine: machine.stack.append(machine.pop(3)),
    "APPEND": lambda machine: machine.extend(list(machine.pop(1))),
    "APPENDS": lambda machine: machine.extend(machine.pop_to_mark()),
    "SETITEM": lambda machine: machine.update(list(machine.pop(2))),
    "SETITEMS": lambda machine: machine.update(machine.pop_to_mark()),
    "STACK_GLOBAL": _Machine.push_named,
    "REDUCE": _Machine.reduce,
    "NEWOBJ": _Machine.reduce,
    "BUILD": _Machine.build,
    "STOP": lambda machine: None,
}


def _new_dict(machine: _Machine, values: list[Any]) -> None:
    machine.stack.append({})
    machine.update(values)

"""Tensor files (safetensors) of unknown origin: names, shapes and types are checked before a tensor is read."""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mvgrl.errors import shown

_LONGEST_HEADER = 2**25  # bytes; the header holds the names and shapes, and the losses of a checkpoint
_TYPES = {  # as safetensors names them
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "U16": torch.uint16,
    "U32": torch.uint32,
    "U64": torch.uint64,
    "F16": torch.float16,
    "F32": torch.float32,
    "F64": torch.float64,
}


class Layout(NamedTuple):
    """The shape and type of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype | None  # None for a type that no file of this package has

    @classmethod
    def of(cls, tensor: Tensor) -> Layout:
        """The layout of a tensor, which may be on torch's meta device.

        >>> Layout.of(torch.zeros(2, 3))
        Layout(shape=(2, 3), dtype=torch.float32)
        """
        return cls(tuple(tensor.shape), tensor.dtype)


@dataclass
class TensorFile:
    """An open file: the layout of its tensors, and text that came with them."""

    layouts: dict[str, Layout]
    metadata: dict[str, str]
    _file: Any

    @property
    def entries(self) -> int:
        """The number of entries of all tensors."""
        return sum(math.prod(layout.shape) for layout in self.layouts.values())

    def read(self, prefix: str = "") -> dict[str, Tensor]:
        """Read the tensors whose names start with a prefix, under their names without it."""
        names = [name for name in self.layouts if name.startswith(prefix)]
        return {name[len(prefix) :]: self._file.get_tensor(name) for name in names}


@contextmanager
def open_tensors(path: Path) -> Iterator[TensorFile]:
    """Open a safetensors file; a file that is damaged or something else is a ``ValueError``."""
    from safetensors import SafetensorError, safe_open

    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        if int.from_bytes(file.read(8), "little") > _LONGEST_HEADER:
            raise ValueError(f"its header is longer than {_LONGEST_HEADER:,} bytes")
    try:
        with safe_open(path, framework="pt") as opened:
            slices = {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118 (not a dict)
            layouts = {
                name: Layout(tuple(one.get_shape()), _TYPES.get(str(one.get_dtype()))) for name, one in slices.items()
            }
            yield TensorFile(layouts, opened.metadata() or {}, opened)
    except SafetensorError as error:
        raise ValueError(shown(str(error), 200)) from None


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file through Python, since the package's writer hides the reason when the disk refuses."""
    from safetensors.torch import save

    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, metadata))


def check_layouts(found: Mapping[str, Layout], expected: Mapping[str, Layout]) -> None:
    """Reject tensors that are missing or unknown, or that have another shape or type than expected.

    >>> check_layouts({"a": Layout((2,), torch.float32)}, {"a": Layout((3,), torch.float32)})
    Traceback (most recent call last):
    ...
    ValueError: tensor 'a' is 2 torch.float32, but 3 torch.float32 is needed
    """
    for name in expected:
        if name not in found:
            raise ValueError(f"there is no tensor {name!r}")
    for name, layout in found.items():
        if name not in expected:
            raise ValueError(f"unknown tensor {shown(name)}")
        if layout != expected[name]:
            raise ValueError(f"tensor {name!r} is {_text(layout)}, but {_text(expected[name])} is needed")


def check_values(tensors: Mapping[str, Tensor]) -> None:
    """Reject tensors with values that are not finite, and variances and counts below zero."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"tensor {name!r} has values that are not finite")
        if name.endswith(("running_var", "num_batches_tracked", "exp_avg_sq")) and bool((tensor < 0).any()):
            raise ValueError(f"tensor {name!r} has values below zero")


def _text(layout: Layout) -> str:
    return f"{'×'.join(map(str, layout.shape)) or 'a single'} {layout.dtype or 'of an unknown type'}"

"""Checks of the leading directions stored in a file."""

from __future__ import annotations

import torch
from torch import Tensor


def check_basis(name: str, basis: Tensor, rows: int) -> None:
    """Reject a basis that is not a table of finite numbers with this number of rows."""
    if basis.ndim != 2 or len(basis) != rows or not basis.shape[1] or basis.dtype != torch.float32:
        raise ValueError(f"vector/{name} has shape {tuple(basis.shape)}, not {rows} rows of single-precision numbers")
    if not basis.isfinite().all():
        raise ValueError(f"vector/{name} has values that are not finite")

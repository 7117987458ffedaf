"""Prefetching in compiled code: the processor fetches an entry of an array into its cache while it does other work."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic


def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Fetch ``array[index]`` into the cache; the array has one dimension, and the index must be valid."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, index_kind = signature.args
        struct = context.make_array(kind)(context, builder, arguments[0])
        place = context.cast(builder, arguments[1], index_kind, types.intp)
        pointer = cgutils.get_item_pointer(context, builder, kind, struct, [place], wraparound=False)
        number = ir.IntType(32)
        address = builder.bitcast(pointer, cgutils.voidptr_t)
        form = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], form)
        builder.call(function, [address, number(1), number(3), number(1)])  # to be written, keep it, data
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = intrinsic(_prefetch)

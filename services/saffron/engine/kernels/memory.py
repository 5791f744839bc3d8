"""memcpy inside kernels: Numba's own loops over bytes copy one at a time."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.cgutils import raw_memcpy
from numba.extending import intrinsic


@intrinsic  # type: ignore[misc]
def copy_bytes(typingctx: Any, target: Any, at: Any, source: Any, begin: Any, count: Any) -> Any:
    """target[at : at + count] = source[begin : begin + count], for uint8 arrays that do not overlap."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        into = builder.gep(context.make_array(target)(context, builder, args[0]).data, [args[1]])
        out_of = builder.gep(context.make_array(source)(context, builder, args[2]).data, [args[3]])
        raw_memcpy(builder, into, out_of, args[4], context.get_constant(types.intp, 1), align=1)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.int64), code

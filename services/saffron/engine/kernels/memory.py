"""Memory as kernels use it where Numba's own functions are slow: copied, read as another type, of a known size."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from saffron.engine.kernels.numba_types import float64, int64, types


@intrinsic
def copy_bytes(typing_context, target, at, source, begin, count):
    """target[at : at + count] = source[begin : begin + count], for uint8 arrays that do not overlap.

    Numba's own loops over bytes copy one at a time.
    """

    def lowered(context, builder, signature, arguments):
        into = builder.gep(make_array(target)(context, builder, arguments[0]).data, [arguments[1]])
        out_of = builder.gep(make_array(source)(context, builder, arguments[2]).data, [arguments[3]])
        cgutils.raw_memcpy(builder, into, out_of, arguments[4], context.get_constant(types.intp, 1), align=1)
        return context.get_dummy_value()

    return types.void(target, int64, source, int64, int64), lowered


def real_at(constants: Any, place: int) -> float:
    """The float64 whose bits stand at a place of an array of int64."""
    return float(constants[place : place + 1].view(np.float64)[0])


@infer_global(real_at)
class _RealAt(ConcreteTemplate):
    cases = [float64(int64[::1], int64)]  # noqa: RUF012


@lower_builtin(real_at, int64[::1], int64)
def _real_at(context, builder, signature, arguments):
    constants = make_array(signature.args[0])(context, builder, arguments[0])
    place = builder.gep(constants.data, [arguments[1]])
    return builder.load(builder.bitcast(place, ir.DoubleType().as_pointer()))


@intrinsic(prefer_literal=True)
def sized(typing_context, array, axis, size):
    """The array with a size along an axis that machine code is made for."""

    def lowered(context, builder, signature, arguments):
        """The LLVM value of the array with a constant as its size along the axis.

        The strides are those of a C-contiguous array of that shape. Nothing checks that the array has the size.
        """
        kind = signature.args[0]
        known = make_array(kind)(context, builder, arguments[0])
        shape = cgutils.unpack_tuple(builder, known.shape)
        shape[axis.literal_value] = cgutils.intp_t(size.literal_value)
        strides = [known.itemsize]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        known.shape, known.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
        return known._getvalue()

    return array(array, axis, size), lowered

"""How kernels get `Shape` and `Work`: by one address each, not array by array.

Numba passes an array as seven numbers, and every function compiled into a kernel would take each of them for each
array: most of the compiler's work. Instead all arrays of a tuple stand in a table: int64 [4 n], for each array its
address and three sizes. Kernels read in it what they use of it. Plain Python takes the tuples themselves.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_builtin, lower_getattr_generic, models, register_model, type_callable
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray

from saffron.engine.uncertain.table import Shape, Work, arrays_of

_WORDS = 4  # of each array in a table

_KINDS = {kind: [(as_dtype(array.dtype), array.ndim) for array in arrays_of(kind).values()] for kind in (Shape, Work)}
"""dtype and axes of each array."""


class Table:
    """The table of a tuple of arrays; who calls a kernel with it keeps the tuple. `compiled` False: no table."""

    def __init__(self, *, compiled: bool) -> None:
        self._compiled = compiled
        self._last: tuple[NDArray[Any], ...] = ()
        self._numbers = np.zeros(0, np.int64)

    def of(self, arrays: Shape | Work) -> Any:
        """What kernels take for `arrays`; valid until the next call."""
        if not self._compiled:
            return arrays
        given: tuple[NDArray[Any], ...] = tuple(arrays)
        if not self._last:
            self._numbers = np.zeros(_WORDS * len(arrays), np.int64)
            self._last = (self._numbers,) * len(arrays)
        for number, (array, last) in enumerate(zip(given, self._last, strict=True)):
            if array is not last:
                kind = _KINDS[type(arrays)][number]
                assert (array.dtype, array.ndim) == kind  # a kernel could not tell
                assert array.flags.c_contiguous
                at = _WORDS * number
                self._numbers[at] = array.ctypes.data
                self._numbers[at + 1 : at + 1 + array.ndim] = array.shape
        self._last = given
        return self._numbers


def shape_in(table: Any) -> Any:
    """The `Shape` that a kernel was called with."""
    return table


def work_in(table: Any) -> Any:
    """The `Work` that a kernel was called with."""
    return table


class _Reference(types.Type):
    """A table, as kernels have it: the address of its first number."""

    def __init__(self, kind: type[Shape | Work]) -> None:
        super().__init__(name=f"Reference({kind.__name__})")
        self.arrays = arrays_of(kind)


@register_model(_Reference)
class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _Reference) -> None:
        super().__init__(manager, kind, cgutils.intp_t.as_pointer())


@infer_getattr
class _Arrays(AttributeTemplate):
    key = _Reference

    def generic_resolve(self, kind: _Reference, name: str) -> types.Array | None:
        return kind.arrays.get(name)


@lower_getattr_generic(_Reference)
def _array(context, builder, kind, table, name):
    """The array called `name`: nothing is loaded of it but what is used."""
    array_type = kind.arrays[name]
    first = _WORDS * list(kind.arrays).index(name)

    def number(place: int) -> Any:
        loaded = builder.load(builder.gep(table, [cgutils.intp_t(first + place)]))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))  # a kernel does not change the table
        return loaded

    array = make_array(array_type)(context, builder)
    shape = [number(1 + axis) for axis in range(array_type.ndim)]
    size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    strides = [cgutils.intp_t(size)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(number(0), array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
    return array._getvalue()


SHAPE, WORK = _Reference(Shape), _Reference(Work)


def _read_as(read: Callable[[Any], Any], reference: _Reference) -> None:
    @type_callable(read)
    def _typed(context):
        return lambda table: reference

    @lower_builtin(read, types.Array)
    def _lowered(context, builder, signature, arguments):
        return make_array(signature.args[0])(context, builder, arguments[0]).data


_read_as(shape_in, SHAPE)
_read_as(work_in, WORK)

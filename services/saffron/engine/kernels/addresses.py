"""Tables of array addresses, by which kernels receive named tuples of arrays as one argument each.

Numba passes an array as seven numbers. Each function of a kernel would take seven for each array, which would be most
of the compiler's work. Instead a table holds all arrays of a tuple: int64 [5 n], an address and four sizes for each
array. A kernel reads the entries that it uses. Plain Python takes the tuples themselves.

A table pays where arrays outlive a call: to enter an array takes 2 us. Where most arrays are new in each call, Numba is
handed the tuples (`events.decoding.scan`). Arrays that differ from query to query (columns, pools of runs) are
positional arguments of kernels whose text is made for the query (`kernel_source.kernel_head`).
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, get_args, get_type_hints

import numpy as np
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_builtin, lower_getattr_generic, models, register_model, type_callable
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype, from_dtype
from numpy.typing import NDArray

from saffron.engine.kernels.numba_types import types

_WORDS = 5  # of each array in a table


class Reference(types.Type):
    """A table, as kernels have it: the address of its first number. `arrays`: by name, in the order of the tuple."""

    def __init__(self, name: str, arrays: Mapping[str, types.Array]) -> None:
        super().__init__(name=f"Reference({name})")
        self.arrays = dict(arrays)


def arrays_of(kind: type[Any], axes: Mapping[int, str]) -> dict[str, types.Array]:
    """The arrays of a named tuple as kernels have them; `axes`: names of those that have 2 or more, by how many."""
    many = {name: number for number, names in axes.items() for name in names.split()}
    hints = get_type_hints(kind)
    assert many.keys() <= hints.keys()
    return {name: types.Array(_scalar(hint), many.get(name, 1), "C") for name, hint in hints.items()}


def _scalar(hint: Any) -> Any:
    """The item type of an array that is annotated as NDArray[...]."""
    _, dtype = get_args(hint)
    return from_dtype(np.dtype(get_args(dtype)[0]))


class AddressTable:
    """The table of addresses and sizes of a tuple of arrays. The caller of a kernel must keep the tuple alive.

    `compiled` False: kernels run as Python and take the tuple itself. `read`: names of the arrays that the kernels
    read, if not all; only these are entered.
    """

    def __init__(self, reference: Reference, *, compiled: bool = True, read: Container[str] | None = None) -> None:
        kinds = [(name, as_dtype(array.dtype), array.ndim) for name, array in reference.arrays.items()]
        self._places = [(n, *kind) for n, kind in enumerate(kinds) if read is None or kind[0] in read]
        self._compiled = compiled
        self._numbers = np.zeros(_WORDS * len(kinds), np.int64)
        self._last: tuple[NDArray[Any] | None, ...] = (None,) * len(kinds)

    def of(self, arrays: tuple[NDArray[Any], ...]) -> Any:
        """The argument by which kernels get `arrays`: the table, or the tuple itself where kernels run as Python.

        The table is one for all calls: it is valid until the next call, which enters only arrays that changed. An empty
        tuple enters nothing: a kernel that gets it must not read the table.
        """
        if not self._compiled:
            return arrays
        numbers = self._numbers
        if arrays:
            for place, name, dtype, axes in self._places:
                array = arrays[place]
                if array is not self._last[place]:
                    at, shape = _WORDS * place, array.shape
                    same = array.dtype == dtype and len(shape) == axes and array.flags.c_contiguous
                    assert same, f"{name}: a kernel could not tell"
                    numbers[at] = array.ctypes.data
                    for axis in range(axes):
                        numbers[at + 1 + axis] = shape[axis]
            self._last = tuple(arrays)
        return numbers


def reader(reference: Reference) -> Callable[[Any], Any]:
    """The function by which a kernel gets its tuple out of a table that it was called with."""

    def read(table: Any) -> Any:
        return table

    @type_callable(read)
    def _typed(context):
        return lambda table: reference

    @lower_builtin(read, types.Array)
    def _lowered(context, builder, signature, arguments):
        return make_array(signature.args[0])(context, builder, arguments[0]).data

    return read


@register_model(Reference)
class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, cgutils.intp_t.as_pointer())


@infer_getattr
class _Arrays(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> types.Array | None:
        return kind.arrays.get(name)


@lower_getattr_generic(Reference)
def _array(context, builder, kind, table, name):
    """The array called `name`, of which only used parts are loaded."""
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

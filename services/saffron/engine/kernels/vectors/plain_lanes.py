"""The functions of `lanes` for NumPy arrays, for kernels that run as plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

LANES = 8
Array = np.ndarray[Any, Any]


def lanes(array: Array, index: int) -> Array:
    """The eight elements of an array from `index` on."""
    return array[int(index) : int(index) + LANES].copy()


def put(array: Array, index: int, value: Any) -> None:
    """Write eight elements of an array from `index` on; a scalar fills them all."""
    array[int(index) : int(index) + LANES] = value


def bits(mask: Any) -> int:
    """A mask as an integer, lane 0 the lowest bit; a bool as all lanes."""
    return int(np.packbits(np.broadcast_to(mask, LANES), bitorder="little")[0])


def meets(values: Array, wanted: int) -> Array:
    """The mask of the lanes that have a set bit in common with an integer."""
    common: Array = (values & wanted) != 0
    return common


def choose(mask: Any, yes: Any, no: Array) -> Array:
    """Lane by lane `yes` where the mask is set, else `no`, which is a vector."""
    return np.where(mask, yes, no).astype(no.dtype)


def inside(offset: int, count: int) -> Array:
    """The mask of the lanes k with 0 <= offset + k < count (uint64, so an offset may be "negative")."""
    return (np.uint64(offset) + np.arange(LANES, dtype=np.uint64)) < np.uint64(count)


def flip(mask: Any) -> Any:
    """The opposite of a mask or bool."""
    return np.logical_not(mask)


def lowest(number: int) -> int:
    """The place of the lowest set bit of an integer that is not 0."""
    return (number & -number).bit_length() - 1


def count_up(start: int) -> Array:
    """uint32 lanes start, start + 1, ..."""
    return ((int(start) + np.arange(LANES)) & 0xFFFFFFFF).astype(np.uint32)


def real8(value: Array) -> Array:
    """Integer attributes as float64, NaN where null."""
    return np.where(value == -(2**63), np.nan, value.astype(np.float64))


def quotient8(a: Any, b: Any) -> Array:
    """a / b, NaN where b is 0."""
    return np.where(np.equal(b, 0.0), np.nan, np.divide(a, b))


def above8(value: Any, total: Any, number: Any) -> Array:
    """The mask of value > total / number; false where number is 0 or value is NaN."""
    above: Array = np.greater(value, quotient8(total, number))
    return above


def below8(value: Any, total: Any, number: Any) -> Array:
    """The mask of value < total / number; false where number is 0 or value is NaN."""
    below: Array = np.less(value, quotient8(total, number))
    return below


def deviation8(spread: Array, number: Array) -> Array:
    """The standard deviation sqrt(spread / (number - 1)) of eight lanes, NaN below two numbers."""
    return np.where(number < 2.0, np.nan, np.sqrt(spread / (number - 1.0)))

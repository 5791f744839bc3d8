"""Tables of arrays that kernels are called with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.addresses import AddressTable, Reference, arrays_of


class Pair(NamedTuple):
    left: NDArray[np.int64]
    right: NDArray[np.int64]


PAIR = Reference("tests.Pair", arrays_of(Pair, {}))


def test_a_table_has_the_address_and_size_of_each_array_and_follows_them() -> None:
    table = AddressTable(PAIR)
    one, other = np.zeros(2, np.int64), np.zeros(3, np.int64)
    for pair in (Pair(one, other), Pair(other, one), Pair(other, other)):
        numbers = table.of(pair)
        assert numbers[[0, 1, 5, 6]].tolist() == [
            *(pair.left.ctypes.data, len(pair.left)),
            *(pair.right.ctypes.data, len(pair.right)),
        ]


def test_what_kernels_do_not_read_is_not_entered() -> None:
    pair = Pair(np.zeros(2, np.int64), np.zeros(3, np.int64))
    numbers = AddressTable(PAIR, read={"right"}).of(pair)
    assert not numbers[:5].any()
    assert numbers[[5, 6]].tolist() == [pair.right.ctypes.data, 3]

"""SplitMix64 against its published outputs: of arrays, of single numbers, and in kernels."""

from __future__ import annotations

import numba
import numpy as np

from saffron.engine.kernels.splitmix import GOLDEN, finalised, mixed, mixed_one

OF_SEED_0 = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC, 0x1B39896A51A8749B]
"""What the generator gives first."""
STATES = [n * GOLDEN % 2**64 for n in range(len(OF_SEED_0))]


@numba.njit  # type: ignore[misc]
def compiled(word: np.uint64) -> np.uint64:
    return finalised(word + np.uint64(GOLDEN))  # type: ignore[no-any-return]


def test_it_gives_what_the_generator_gives() -> None:
    words = np.array(STATES, dtype=np.uint64)
    assert mixed(words).tolist() == OF_SEED_0
    assert [mixed_one(state) for state in STATES] == OF_SEED_0
    assert [int(compiled(word)) for word in words] == OF_SEED_0

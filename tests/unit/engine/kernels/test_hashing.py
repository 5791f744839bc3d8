"""Hashes against their published outputs: of arrays, of single numbers, and in kernels."""

from __future__ import annotations

import re
from pathlib import Path

import numba
import numpy as np

from saffron.engine import kernels
from saffron.engine.kernels.hashing import (
    GOLDEN,
    chained,
    finalised,
    hashes_of,
    mixed,
    mixed_one,
    no_bytes,
    scattered,
    unit,
    with_byte,
)

OF_SEED_0 = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC, 0x1B39896A51A8749B]
"""What the generator gives first."""
STATES = [n * GOLDEN % 2**64 for n in range(len(OF_SEED_0))]
FNV_OF_FOOBAR = 0x85944171F73967E8


@numba.njit  # type: ignore[misc]
def compiled(word: np.uint64) -> np.uint64:
    return finalised(word + np.uint64(GOLDEN))  # type: ignore[no-any-return]


@numba.njit  # type: ignore[misc]
def chain_of(words: np.ndarray) -> np.uint64:
    value = np.uint64(GOLDEN)
    for word in words:
        value = chained(value, np.uint64(word))
    return value


@numba.njit  # type: ignore[misc]
def hash_of_bytes(text: np.ndarray) -> np.uint64:
    value = no_bytes()
    for byte in text:
        value = with_byte(value, byte)
    return value  # type: ignore[no-any-return]


def test_it_gives_what_the_generator_gives() -> None:
    words = np.array(STATES, dtype=np.uint64)
    assert mixed(words).tolist() == OF_SEED_0
    assert [mixed_one(state) for state in STATES] == OF_SEED_0
    assert [int(compiled(word)) for word in words] == OF_SEED_0


def test_bytes_have_the_published_hash() -> None:
    assert int(hash_of_bytes(np.frombuffer(b"foobar", np.uint8))) == FNV_OF_FOOBAR


def test_words_have_one_hash_in_kernels_and_in_arrays() -> None:
    columns = np.random.default_rng(1).integers(-(2**63), 2**63, (3, 50))
    found = hashes_of(columns)
    assert len(set(found.tolist())) == columns.shape[1]
    assert found.tolist() == [int(chain_of(column)) for column in columns.T]


def test_scattered_words_are_those_of_murmurhash() -> None:
    assert scattered(np.array([0, 1], dtype=np.uint64)).tolist() == [0, 0xB456BCFC34C2CB2C]


def test_units_lie_in_the_half_open_interval() -> None:
    assert unit(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [0.0, 1 - 2.0**-53]


def test_constants_of_hashes_stand_in_one_place() -> None:
    package = Path(kernels.__file__).parents[2]
    homes = {Path("engine/kernels/hashing.py"), Path("runtime/log/murmur2.py")}
    files = [path for path in package.rglob("*.py") if path.relative_to(package) not in homes]
    assert len(files) > 500
    found = [
        f"{path.relative_to(package)}: {number}"
        for path in files
        for number in re.findall(r"0x[0-9A-Fa-f]{8,}\b", path.read_text("utf-8"))
        if not re.fullmatch(r"0x[78]?[0F]+", number)  # masks
    ]
    assert found == []

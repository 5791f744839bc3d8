"""The arrays that the JSON scanner works on: a schema as tables, the strings of a batch, and the cells it fills.

Named tuples of arrays, so that one compilation of the kernel serves every schema. Numba gets the tuples themselves:
most of their arrays are new in each batch, and tables of addresses would take 50 us a batch (`kernels.addresses`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.engine.kernels.hashing import folded, no_bytes, with_byte
from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64, uint8, uint64, void
from saffron.engine.kernels.slot_table import table_of
from saffron.schema.schema import NULL_INT, Kind, Schema

_T = TypeVar("_T", bound=np.generic)
Words = NDArray[np.uint64]

TYPE, TS = 0, 1
"""Fields 0 and 1 of every schema are `type` and `ts`; attribute k is field k + 2."""

MAX_UNKNOWN = 8
"""An event with more unknown attributes than this is left to the exact path."""
MAX_OBJECTS = 32
"""Likewise for objects inside the event."""
MAX_KEYS = 64
"""Likewise for the names in the objects around a value within an array."""
MAX_NESTED_NAME = 1024
"""Likewise for the bytes of a nested attribute's name."""

# Kinds of fields, as the kernel sees them; the last two are those that it asks for last.
FIELD_TYPE, FIELD_TS, FIELD_INT, FIELD_FLOAT, FIELD_NUMBER, FIELD_BOOL, FIELD_STRING, FIELD_ARRAY, FIELD_NULL = range(9)

_FIELD_KIND = {
    Kind.INT: FIELD_INT,
    Kind.LONG: FIELD_INT,
    Kind.FLOAT: FIELD_FLOAT,
    Kind.NUMBER: FIELD_NUMBER,
    Kind.BOOL: FIELD_BOOL,
    Kind.STRING: FIELD_STRING,
    Kind.ARRAY: FIELD_ARRAY,
    Kind.NULL: FIELD_NULL,
}


class Fields(NamedTuple):
    """A schema with F fields (type, ts, then the attributes) and T event types, W = ceil(F / 64) words."""

    text: NDArray[np.uint8]  # [bytes] the names, UTF-8, end to end
    bounds: NDArray[np.int64]  # [F + 1] where each name begins in `text`
    slots: NDArray[np.int32]  # hash table over the names (`slot_table`): fields
    kind: NDArray[np.uint8]  # [F] FIELD_*
    row: NDArray[np.int32]  # [F] its row in the array of its kind in `Cells`; strings: row of `codes`
    allowed: NDArray[np.uint64]  # [T + 1, W] fields that a type has; the last row is for unknown types
    required: NDArray[np.uint64]  # [T + 1, W] fields that must be there and not null
    spread: NDArray[np.uint8]  # [T + 1] 1: ts of such an event may be an interval
    usual: NDArray[np.uint64]  # [T + 1, W] fields that the schema knows a type to have; the last row has none


class Strings(NamedTuple):
    """The distinct strings of a batch, by column (a row of `Cells.codes`); E entries at most before it must grow."""

    slots: NDArray[np.int32]  # hash table over (column, bytes) (`slot_table`): entries
    hash: NDArray[np.uint64]  # [E]
    column: NDArray[np.int32]  # [E]
    code: NDArray[np.int32]  # [E] number of the string within its column, by first appearance
    bounds: NDArray[np.int64]  # [E + 1] where each entry begins in `text`
    text: NDArray[np.uint8]  # [bytes]
    counts: NDArray[np.int32]  # [columns] entries of each column
    size: NDArray[np.int64]  # [1] entries in use


class Cells(NamedTuple):
    """The decoded values of a batch of n events. Rows are columns of the block; nulls are the kinds' sentinels."""

    ts: NDArray[np.int64]  # [n]
    latest: NDArray[np.int64]  # [n] hi of an interval, else NULL_INT; [0] under a schema that has none
    ints: NDArray[np.int64]  # [., n]
    floats: NDArray[np.float64]  # [., n]
    numbers: NDArray[np.complex128]  # [., n]
    bools: NDArray[np.int8]  # [., n]
    codes: NDArray[np.int32]  # [1 + ., n], row 0 is the event type
    exact: NDArray[np.uint8]  # [n] 1: the scanner is not sure, the exact path decides
    unknown: NDArray[np.int32]  # [n] attributes that the schema does not know
    fresh: NDArray[np.uint8]  # [n] 1: the event has more than an inferred schema knows its type to have


class Scratch(NamedTuple):
    """The kernel's scratch arrays for the event at hand. The kernel allocates nothing, so its caller keeps them."""

    seen: NDArray[np.uint64]  # [W] bits of the fields that were there
    filled: NDArray[np.uint64]  # [W] bits of the fields that were there and not null
    unknown: NDArray[np.uint64]  # [MAX_UNKNOWN] hashes of the names that the schema does not have
    objects: NDArray[np.uint64]  # [MAX_OBJECTS] hashes of the names of objects
    path: NDArray[np.uint8]  # [MAX_NESTED_NAME] the names of the objects around, each with its dot
    ends: NDArray[np.int64]  # [MAX_DEPTH] length of `path` at each level
    states: NDArray[np.uint64]  # [MAX_DEPTH] running hash of `path` at each level
    inside: NDArray[np.uint8]  # [MAX_DEPTH] within an array: the opening signs around
    first_key: NDArray[np.int64]  # [MAX_DEPTH] where the names of each of these begin in `keys`
    keys: NDArray[np.uint64]  # [MAX_KEYS] hashes of the names in the objects around
    # [F + 1] the field that followed each field last time (F: the first one): one source has its names in one order
    follower: NDArray[np.int32]


def fields_of(schema: Schema) -> Fields:
    """The tables of a schema."""
    names = ["type", "ts", *schema.kinds]
    text, bounds = _pack(names)
    kinds = [FIELD_TYPE, FIELD_TS] + [_FIELD_KIND[kind] for kind in schema.kinds.values()]
    rows = [0, 0]
    rows += [place for _, place in places_of(schema).values()]
    allowed, required, usual = _rules(schema, names)
    unknown = bool(schema.times) and not schema.given
    spread = [schema.distribution(name) is not None for name in schema.types]
    return Fields(
        text=text,
        bounds=bounds,
        slots=table_of(_hashes(text, bounds), 2 * len(names)),
        kind=np.array(kinds, dtype=np.uint8),
        row=np.array(rows, dtype=np.int32),
        allowed=allowed,
        required=required,
        spread=np.array([*spread, unknown], dtype=np.uint8),
        usual=usual,
    )


def places_of(schema: Schema) -> dict[str, tuple[Kind, int]]:
    """The place of each attribute: the kind of its column, and its row in the array of that kind in `Cells`."""
    places: dict[str, tuple[Kind, int]] = {}
    used: Counter[Kind] = Counter({Kind.STRING: 1})  # row 0 of the codes is the type
    for name, kind in schema.kinds.items():
        held = Kind.STRING if kind.has_texts else kind.column
        places[name] = kind.column, used[held]
        used[held] += 1
    return places


def cells_for(schema: Schema, n: int) -> Cells:
    """Cells of n events, all null."""
    kinds = [Kind.STRING if kind.has_texts else kind.column for kind in schema.kinds.values()]

    def nulls(kind: Kind, more: int = 0) -> NDArray[Any]:
        return np.full((kinds.count(kind) + more, n), kind.null, kind.dtype)

    return Cells(
        ts=np.zeros(n, dtype=np.int64),
        latest=np.full(n if schema.times else 0, NULL_INT, dtype=np.int64),
        ints=nulls(Kind.INT),
        floats=nulls(Kind.FLOAT),
        numbers=nulls(Kind.NUMBER),
        bools=nulls(Kind.BOOL),
        codes=nulls(Kind.STRING, more=1),
        exact=np.zeros(n, dtype=np.uint8),
        unknown=np.zeros(n, dtype=np.int32),
        fresh=np.zeros(n, dtype=np.uint8),
    )


def scratch_for(schema: Schema, fields: Fields) -> Scratch:
    """Scratch for events of a schema. Under a closed one every unknown attribute is too many for the scanner."""
    words = fields.allowed.shape[1]
    return Scratch(
        seen=np.zeros(words, dtype=np.uint64),
        filled=np.zeros(words, dtype=np.uint64),
        unknown=np.zeros(0 if schema.closed else MAX_UNKNOWN, dtype=np.uint64),
        objects=np.zeros(MAX_OBJECTS, dtype=np.uint64),
        path=np.zeros(MAX_NESTED_NAME, dtype=np.uint8),
        ends=np.zeros(MAX_DEPTH, dtype=np.int64),
        states=np.zeros(MAX_DEPTH, dtype=np.uint64),
        inside=np.zeros(MAX_DEPTH, dtype=np.uint8),
        first_key=np.zeros(MAX_DEPTH, dtype=np.int64),
        keys=np.zeros(MAX_KEYS, dtype=np.uint64),
        follower=np.zeros(len(fields.kind) + 1, dtype=np.int32),
    )


def strings_for(schema: Schema) -> Strings:
    """An empty dictionary, but for the schema's event types, whose codes are thus their numbers in the schema."""
    types = list(schema.types)
    text, bounds = _pack(types)
    entries = len(types)
    strings = Strings(
        slots=np.empty(0, dtype=np.int32),
        hash=_hashes(text, bounds),
        column=np.zeros(entries, dtype=np.int32),
        code=np.arange(entries, dtype=np.int32),
        bounds=bounds,
        text=text,
        counts=np.zeros(1 + sum(kind.has_texts for kind in schema.kinds.values()), dtype=np.int32),
        size=np.array([entries], dtype=np.int64),
    )
    strings.counts[0] = entries
    return grown(strings, 256 - entries, 4096)


def grown(strings: Strings, entries: int, length: int) -> Strings:
    """A copy with room for `entries` more strings of `length` more bytes, at least twice the old room."""
    size = int(strings.size[0])
    capacity = max(size + entries, 2 * size)
    used = int(strings.bounds[size])
    return Strings(
        slots=table_of(strings.hash[:size], capacity),
        hash=_extended(strings.hash[:size], capacity),
        column=_extended(strings.column[:size], capacity),
        code=_extended(strings.code[:size], capacity),
        bounds=_extended(strings.bounds[: size + 1], capacity + 1),
        text=_extended(strings.text[:used], max(used + length, 2 * used)),
        counts=strings.counts,
        size=strings.size,
    )


def texts(strings: Strings, columns: int) -> list[list[str]]:
    """The strings of each column, by code."""
    size = int(strings.size[0])
    bounds = strings.bounds[: size + 1].tolist()
    data = strings.text[: bounds[-1]].tobytes()
    result: list[list[str]] = [[] for _ in range(columns)]
    owner = strings.column[:size].tolist()
    if data.isascii():
        text = data.decode("ascii")
        for entry in range(size):
            result[owner[entry]].append(text[bounds[entry] : bounds[entry + 1]])
    else:
        for entry in range(size):
            result[owner[entry]].append(data[bounds[entry] : bounds[entry + 1]].decode("utf-8"))
    return result


def _hashes(text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> Words:
    """uint64 [n]: the hashes of names that stand end to end."""
    found = np.empty(len(bounds) - 1, dtype=np.uint64)
    _hash_bytes(text, bounds, found)
    return found


@kernel(void(uint8[::1], int64[::1], uint64[::1]), _nrt=False)
def _hash_bytes(text, bounds, found):  # type: ignore[no-untyped-def]
    for i in range(len(found)):
        value = no_bytes()
        for position in range(bounds[i], bounds[i + 1]):
            value = with_byte(value, text[position])
        found[i] = folded(value)


def _rules(schema: Schema, names: Sequence[str]) -> tuple[Words, Words, Words]:
    """`Fields.allowed`, `.required` and `.usual`: an inferred schema allows everything and requires nothing."""
    words = (len(names) + 63) // 64
    usual = np.zeros((len(schema.types) + 1, words), dtype=np.uint64)
    required = np.zeros_like(usual)
    index = {name: field for field, name in enumerate(names) if field > TS}
    for number, (name, attributes) in enumerate(schema.types.items()):
        _set_bits(usual[number], [TYPE, TS, *(index[attribute] for attribute in attributes)])
        _set_bits(required[number], [index[attribute] for attribute in schema.required.get(name, ())])
    return (usual if schema.given else np.full_like(usual, 2**64 - 1)), required, usual


def _set_bits(words: NDArray[np.uint64], bits: Sequence[int]) -> None:
    for bit in bits:
        words[bit // 64] |= np.uint64(1 << (bit % 64))


def _pack(names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(name) for name in encoded], out=bounds[1:])
    return np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8), bounds


def _extended(array: NDArray[_T], length: int) -> NDArray[_T]:
    result = np.zeros(length, dtype=array.dtype)
    result[: len(array)] = array
    return result

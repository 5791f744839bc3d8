"""JSON text put together from pieces: values are written once per column, then copied where they are needed.

A piece is a span of one buffer. Events, and results made of events, are sequences of pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.memory import copy_bytes
from saffron.engine.kernels.numba_types import int64, types, uint8, void
from saffron.schema.numbers import LIMIT
from saffron.schema.schema import NULL_INT, Kind

_COMMA = 44

Spans = NDArray[np.int64]
_BYTES = types.Array(uint8, 1, "C", readonly=True)


@kernel(void(_BYTES, int64, int64[:, ::1]))
def _split(text, offset, spans):  # type: ignore[no-untyped-def]
    """Spans of the elements of a JSON array of numbers, true, false and null; `offset` is added to each."""
    begin, k = 1, 0
    for i in range(1, len(text)):
        if text[i] == _COMMA or i == len(text) - 1:
            spans[0, k], spans[1, k] = begin + offset, i + offset
            k += 1
            begin = i + 1


@kernel(void(_BYTES, int64[:, ::1], int64[:, ::1], uint8[::1], int64[::1]))
def _join(text, spans, order, out, ends):  # type: ignore[no-untyped-def]
    """out: row after row of `order` (piece numbers), each row the pieces one after another; ends [rows]."""
    at = 0
    for row in range(order.shape[0]):
        for column in range(order.shape[1]):
            piece = order[row, column]
            count = spans[1, piece] - spans[0, piece]
            copy_bytes(out, at, text, spans[0, piece], count)
            at += count
        ends[row] = at


class Pieces:
    """A growing buffer of pieces, numbered from 0."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._spans: list[Spans] = []
        self._bytes = 0
        self._count = 0

    def literal(self, text: bytes) -> int:
        """The number of a new piece with this text."""
        self._spans.append(np.array([[self._bytes], [self._bytes + len(text)]], np.int64))
        return self._add(text, 1)

    def literals(self, texts: Sequence[bytes]) -> int:
        """The number of the first of new pieces with these texts."""
        ends = np.cumsum(np.fromiter((len(text) for text in texts), np.int64, len(texts))) + self._bytes
        begins = np.concatenate([[self._bytes], ends[:-1]])[: len(texts)]
        self._spans.append(np.stack([begins, ends]))
        return self._add(b"".join(texts), len(texts))

    def rows(self, text: NDArray[np.uint8]) -> NDArray[np.int64]:
        """[n] a piece for each row of `text` [n, width]."""
        begins = self._bytes + text.shape[1] * np.arange(len(text))
        self._spans.append(np.stack([begins, begins + text.shape[1]]))
        return self._add(text.tobytes(), len(text)) + np.arange(len(text))

    def numbers(self, values: NDArray[np.generic]) -> NDArray[np.int64]:
        """[n] a piece for each number, by its value, whatever array has it; NaN and, of int64, NULL_INT are null."""
        if values.dtype.kind in "fc":
            return self._by_value(values)
        return self._written(values)

    def _by_value(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """[n] a piece for each float64, or pair (`schema.numbers`): whole numbers within 64 bits as digits."""
        nearest = values.real
        inside = (nearest > -LIMIT) & (nearest < LIMIT) & (nearest == np.floor(nearest))
        found = np.empty(len(values), np.int64)
        whole = np.full(len(values), NULL_INT)
        whole[inside] = nearest[inside].astype(np.int64)
        if values.dtype == np.complex128:
            # A rest stands by the nearest float64 of a whole number: one that rounds up to 2**63 is within 64 bits.
            apart = (values.imag != 0.0) & ~np.isnan(nearest)
            whole[apart] = [int(pair.real) + int(pair.imag) for pair in values[apart].tolist()]
            inside |= apart
        found[inside] = self._written(whole[inside])
        found[~inside] = self._written(np.where(np.isinf(nearest), np.nan, nearest)[~inside])
        return found

    def _written(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """[n] a piece for each number, as orjson writes the array. NaN and, of int64, NULL_INT are null."""
        if not len(values):
            return np.zeros(0, np.int64)
        text = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
        spans = np.empty((2, len(values)), np.int64)
        _split(np.frombuffer(text, np.uint8), self._bytes, spans)
        self._spans.append(spans)
        pieces = np.arange(self._count, self._count + len(values))
        self._add(text, len(values))
        if values.dtype == np.int64:
            absent = values == NULL_INT
            if absent.any():
                pieces[absent] = self.literal(b"null")
        return pieces

    def column(self, kind: Kind, values: NDArray[np.generic], strings: Sequence[str | None]) -> NDArray[np.int64]:
        """[n] a piece for each value of an attribute; `strings` are those that codes index."""
        if kind.is_number:
            return self.numbers(values)
        if kind is Kind.BOOL:
            flags: NDArray[np.int64] = values.astype(np.int64) + (self.literals([b"null", b"false", b"true"]) + 1)
            return flags
        codes, where = np.unique(values, return_inverse=True)
        written = orjson.dumps if kind is Kind.STRING else str.encode  # an array is JSON text already
        first = self.literals([b"null" if code < 0 else written(str(strings[code])) for code in codes.tolist()])
        pieces: NDArray[np.int64] = where.astype(np.int64) + first
        return pieces

    def join(self, order: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The text of rows of pieces, one after another, and where each row ends."""
        spans = np.ascontiguousarray(np.concatenate(self._spans, axis=1))
        lengths = spans[1] - spans[0]
        out = np.empty(int(lengths[order].sum()), np.uint8)
        ends = np.empty(len(order), np.int64)
        _join(np.frombuffer(b"".join(self._texts), np.uint8), spans, np.ascontiguousarray(order), out, ends)
        return out, ends

    def _add(self, text: bytes, count: int) -> int:
        first = self._count
        self._texts.append(text)
        self._bytes += len(text)
        self._count += count
        return first


def cut(text: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[bytes]:
    """The rows of a joined text as bytes."""
    data = text.tobytes()
    stops = ends.tolist()
    return [data[begin:end] for begin, end in zip([0, *stops[:-1]], stops, strict=True)] if stops else []


def names(values: Iterable[str]) -> list[bytes]:
    """JSON strings."""
    return [orjson.dumps(value) for value in values]

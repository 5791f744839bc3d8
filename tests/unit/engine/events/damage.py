"""Payloads with some of their bytes replaced, removed or added."""

from __future__ import annotations

from hypothesis import strategies as st


def whole(number: int) -> bytes:
    """An integer as Avro writes it, and Protobuf an index: zigzag, then seven bits a byte, the lowest first."""
    left = number * 2 if number >= 0 else -number * 2 - 1
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


@st.composite
def damaged(draw: st.DrawFn, payload: bytes) -> bytes:
    """The payload after at most three damages."""
    found = bytearray(payload)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(found)))
        small = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
        found[at : at + draw(st.integers(0, 2))] = draw(small.map(whole) | st.binary(max_size=2))
    return bytes(found)

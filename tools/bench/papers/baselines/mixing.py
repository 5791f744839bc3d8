"""The hash of a match set, fed one match at a time as baselines find them (the formula of `set_hash`)."""

from __future__ import annotations

from numba import int64, uint64

from saffron.engine.kernels.jit import kernel

END = 0xFFFFFFFF  # closes a component


@kernel(uint64(uint64, int64))
def mix(value, seq):  # type: ignore[no-untyped-def]
    """The hash with one more sequence number, or END."""
    return (value ^ uint64(seq)) * uint64(1099511628211)


@kernel(uint64())
def empty():  # type: ignore[no-untyped-def]
    """The hash of a match before its first event."""
    return uint64(1469598103934665603)


@kernel(uint64(uint64))
def finished(value):  # type: ignore[no-untyped-def]
    """The final mix of a match's value, which is added to the sum."""
    value = (value ^ (value >> uint64(29))) * uint64(0xBF58476D1CE4E5B9)
    return value ^ (value >> uint64(32))


@kernel(uint64(int64[::1], int64, int64))
def of_closure_and_end(path, length, end):  # type: ignore[no-untyped-def]
    """The value of a match of SEQ(X+ a[], Y b): path[:length] has the events of a, the latest first."""
    value = empty()
    for k in range(length - 1, -1, -1):
        value = mix(value, path[k])
    return finished(mix(mix(mix(value, END), end), END))


@kernel(uint64(int64[::1], int64, int64))
def of_start_closure_and_end(path, length, end):  # type: ignore[no-untyped-def]
    """The value of a match of SEQ(X a, Y+ b[], Z c): path[:length] has the events of b, the latest first, and a."""
    value = mix(mix(empty(), path[length - 1]), END)
    for k in range(length - 2, -1, -1):
        value = mix(value, path[k])
    return finished(mix(mix(mix(value, END), end), END))

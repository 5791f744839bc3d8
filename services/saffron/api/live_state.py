"""Snapshots of `saffron.open`, read from their bytes."""

from __future__ import annotations

from saffron.errors import InputError
from saffron.runtime.replay.live import LiveState
from saffron.runtime.results.snapshots import decode


def state_of(snapshot: bytes) -> LiveState:
    """The state in the bytes of a snapshot. InputError: they are damaged, or of a service."""
    try:
        found = decode(snapshot)
    except (ValueError, KeyError) as error:
        raise InputError(f"this is no whole snapshot: {error}") from error
    if "queries" not in found.reader:
        raise InputError("this is a snapshot of a service, not of Live.snapshot")
    return LiveState(found.reader, found.state)

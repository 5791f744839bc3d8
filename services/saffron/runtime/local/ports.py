"""Ports for what listens here: chosen where no connection that goes out takes them in the meantime."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Sequence
from pathlib import Path

from saffron.errors import SaffronError

_LOWEST = 10_000
"""Below are the ports of well-known services."""
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_OUTGOING_ELSEWHERE = 32_768
"""Where no system's range for connections that go out begins lower: macOS takes 49152 and above."""
_TRIES = 1000


def own_address(host: str) -> str:
    """Where this machine reaches what listens at `host`, which may be all of its addresses."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)


def free_ports(count: int) -> Sequence[int]:
    """Ports of 127.0.0.1 that are free now, all different.

    A port that the system itself would give (bind to 0) is one of those it also gives to connections that go out: such
    a connection may have it by the time, or whenever, a service that was given it starts.
    SaffronError: hardly any is free.
    """
    chance = random.Random()  # two systems that start at once look in different places
    below = _first_outgoing()
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        for _ in range(_TRIES):
            if len(found) == count:
                return found
            one = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port := chance.randrange(_LOWEST, below)))
                found.append(port)
    raise SaffronError(
        f"hardly a port of 127.0.0.1 from {_LOWEST} to {below - 1} is free: `ss -tln` shows what has them"
    )


def _first_outgoing() -> int:
    """The lowest port that the system gives to connections that go out; at least some thousands above the lowest."""
    try:
        first = int(_OUTGOING.read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return _OUTGOING_ELSEWHERE
    return first if first > _LOWEST + 1000 else _OUTGOING_ELSEWHERE

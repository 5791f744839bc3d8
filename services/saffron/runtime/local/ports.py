"""Free ports for services, outside the range of outgoing connections, which could take them first."""

from __future__ import annotations

import contextlib
import errno
import random
import socket
from collections.abc import Sequence
from pathlib import Path

from saffron.errors import SaffronError

_LOWEST = 10_000
"""Lowest port used. Well-known services have lower ones."""
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_OUTGOING_ELSEWHERE = 32_768
"""Lowest outgoing port of systems without the file above (macOS begins at 49152)."""
_TRIES = 1000


def own_address(host: str) -> str:
    """The address at which this machine reaches a listener on `host`."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)


def free_ports(count: int) -> Sequence[int]:
    """Different free ports of 127.0.0.1. SaffronError: hardly any is free.

    A port that the system chooses (bind to 0) may be given to an outgoing connection before the service starts.
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


def is_free(port: int) -> bool:
    """True if nobody has this port of 127.0.0.1."""
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True


def _first_outgoing() -> int:
    """The lowest port of outgoing connections, at least some thousands above the lowest port used."""
    try:
        first = int(_OUTGOING.read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return _OUTGOING_ELSEWHERE
    return first if first > _LOWEST + 1000 else _OUTGOING_ELSEWHERE

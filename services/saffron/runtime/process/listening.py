"""Addresses on which services listen: their families, how URLs write them, and which the control API may have."""

from __future__ import annotations

import socket

from saffron.errors import SettingsError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def family_of(host: str, port: int) -> socket.AddressFamily:
    """The family of an address to listen on: IPv4 where a name has both, else IPv6. OSError: it is none."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    families = [one[0] for one in found]
    return socket.AF_INET if socket.AF_INET in families else families[0]


def in_url(host: str) -> str:
    """An address as it stands in a URL: one of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def require_safe(host: str, token: str) -> None:
    """SettingsError: the API would be open to the network without a token."""
    if host not in LOOPBACK and not token:
        raise SettingsError(
            f"the control API would listen on {host} for everybody: set a token (SAFFRON_TOKEN), or host 127.0.0.1"
        )

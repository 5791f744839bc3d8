"""Addresses on which the control API may listen."""

from __future__ import annotations

from saffron.errors import SettingsError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def require_safe(host: str, token: str) -> None:
    """SettingsError: the API would be open to the network without a token."""
    if host not in LOOPBACK and not token:
        raise SettingsError(
            f"the control API would listen on {host} for everybody: set a token (SAFFRON_TOKEN), or host 127.0.0.1"
        )

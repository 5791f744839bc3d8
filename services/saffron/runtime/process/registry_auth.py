"""The setting `registry_auth`: USER:PASSWORD, or USER:PASSWORD@URL,... which says for which schema registries it holds.

Who names a registry learns what is sent to it. So the API sends a USER:PASSWORD without URLs only to registries that
streams, or the settings, have already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

_PARTS = re.compile(r"(?P<credentials>.*?)(?:@\s*(?P<places>https?://.*))?", re.DOTALL | re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}


def credentials_for(url: str, registry_auth: str) -> str:
    """The USER:PASSWORD for the registry at `url`; "" if the setting does not hold for it."""
    credentials, places = _parts(registry_auth)
    if places is None:
        return credentials
    place = _place(url)
    return credentials if place is not None and place in map(_place, places.split(",")) else ""


def held_to(registry_auth: str, urls: Iterable[str]) -> str:
    """The setting held to the registries at `urls`, unless it says itself for which it holds."""
    if not registry_auth or _parts(registry_auth)[1] is not None:
        return registry_auth
    places = ",".join(url for url in urls if _place(url) is not None)
    return f"{registry_auth}@{places}" if places else ""


def _parts(registry_auth: str) -> tuple[str, str | None]:
    """The credentials, and the text of the places; None: there is none."""
    found = _PARTS.fullmatch(registry_auth)
    assert found is not None  # the pattern takes every text
    return found["credentials"], found["places"]


def _place(url: str) -> tuple[str, str, int] | None:
    """The scheme, host and port of a URL; None: it has a user, or is none."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if port is None or not parts.hostname or parts.username is not None:
        return None
    return parts.scheme, parts.hostname, port

"""Names of the running system for completion, from its API, so that Kafka's client is not loaded."""

from __future__ import annotations

import json
import urllib.request

from saffron.errors import SaffronError
from saffron.runtime.local.state import read_state
from saffron.runtime.process.config import load

_SECONDS = 1.0


def live_names(kind: str) -> list[str]:
    """The names of "queries" or "streams"; none if no system runs under the data directory, or it does not answer."""
    try:
        settings = load().settings
        state = read_state(settings.data)
        if state is None or not state.control:
            return []
        request = urllib.request.Request(f"{state.control.rstrip('/')}/api/{kind}")
        if settings.token:
            request.add_header("Authorization", f"Bearer {settings.token}")
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return [str(one["name"]) for one in json.load(answer)[kind]]
    except (SaffronError, OSError, ValueError, KeyError, TypeError):
        return []

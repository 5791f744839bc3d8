"""The check of ports named by the settings or the broker's data: another process may have them."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Iterator
from pathlib import Path

from saffron.cli.finding import Finding, error
from saffron.runtime.process.config import Settings
from saffron.runtime.process.listening import family_of


def check_ports(settings: Settings) -> Iterator[Finding]:
    """Findings on ports of a system that does not run. A running system has taken its own ports."""
    for setting in ("metrics_port", "control_port"):
        port = getattr(settings, setting)
        if not port or (obstacle := _obstacle(settings.host, port)) is None:
            continue
        place, another = f"port {port} of {settings.host}", f"set SAFFRON_{setting.upper()} to another, or to 0"
        if obstacle.errno == errno.EADDRINUSE:
            fix = f"end what has it (lsof -i :{port}), or {another}"
            yield error("ports", f"{place} is taken", f"setting {setting}", fix)
        else:
            why = f"nobody can listen on {place}: {obstacle.strerror or obstacle}"
            yield error(
                "ports", why, f"setting {setting}", f"set SAFFRON_HOST to an address of this machine, or {another}"
            )
    kept = settings.data / "broker" / "ports.json"
    for role, port in _broker_ports(kept):
        if (obstacle := _obstacle("127.0.0.1", port)) is not None and obstacle.errno == errno.EADDRINUSE:
            fix = f"end what has it (lsof -i :{port}); `saffron down` if it is a broker left over"
            yield error("ports", f"port {port} ({role} of the embedded broker) is taken", str(kept), fix)


def _broker_ports(kept: Path) -> list[tuple[str, int]]:
    try:
        return [(str(role), int(port)) for role, port in json.loads(kept.read_text("utf-8")).items()]
    except (OSError, ValueError, AttributeError, TypeError):
        return []


def _obstacle(host: str, port: int) -> OSError | None:
    """Why a service could not listen there; None if it could."""
    try:
        with socket.socket(family_of(host, port)) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((host, port))
    except OSError as error:
        return error
    return None

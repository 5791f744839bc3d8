"""The check of ports named by the settings or the broker's data: another process may have them."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

from saffron.cli.finding import Finding, error
from saffron.runtime.process.config import Settings


def check_ports(settings: Settings) -> Iterator[Finding]:
    """Findings on ports of a system that does not run. A running system has taken its own ports."""
    for setting in ("metrics_port", "control_port"):
        port = getattr(settings, setting)
        if port and _taken(settings.host, port):
            fix = f"end what has it (lsof -i :{port}), or set SAFFRON_{setting.upper()} to another, or to 0"
            yield error("ports", f"port {port} of {settings.host} is taken", f"setting {setting}", fix)
    kept = settings.data / "broker" / "ports.json"
    for role, port in _broker_ports(kept):
        if _taken("127.0.0.1", port):
            fix = f"end what has it (lsof -i :{port}); `saffron down` if it is a broker left over"
            yield error("ports", f"port {port} ({role} of the embedded broker) is taken", str(kept), fix)


def _broker_ports(kept: Path) -> list[tuple[str, int]]:
    try:
        return [(str(role), int(port)) for role, port in json.loads(kept.read_text("utf-8")).items()]
    except (OSError, ValueError, AttributeError, TypeError):
        return []


def _taken(host: str, port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError:
            return True
    return False

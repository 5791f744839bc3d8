"""Streams of other formats than JSON: what reads them is installed, and the registry of their schemas answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

from saffron.cli.checks.finding import Finding, error, ok
from saffron.cli.checks.look import Look
from saffron.errors import LogError, SettingsError
from saffron.runtime.registry import Get, over_http

_NEEDS = {"avro": "fastavro", "protobuf": "google.protobuf"}


def check_formats(
    look: Look, connect: Callable[[str, str], Get] = over_http, has: Callable[[str], object] = find_spec
) -> Iterator[Finding]:
    """`connect`: to a registry by URL and credentials; `has`: whether a package is installed."""
    for name, row in look.streams.items():
        form = str(row.get("format") or "json")
        if form not in _NEEDS:
            continue
        where = f"stream {name}"
        if not has(_NEEDS[form]):
            yield error("formats", f"{_NEEDS[form]} is not installed: {form} is read by nobody", where, _INSTALL)
        try:
            connect(str(row.get("registry")), look.settings.registry_auth)("/subjects")
            yield ok("formats", f"{form}; its registry answers", where)
        except LookupError:
            yield ok("formats", f"{form}; its registry answers", where)
        except (LogError, SettingsError) as refused:
            fix = "is it up, and SAFFRON_REGISTRY_AUTH right? saffron stream add --registry names another"
            yield error("formats", str(refused), where, fix)


_INSTALL = "pip install 'saffron[registry]'"

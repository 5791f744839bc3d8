"""The check of other formats than JSON: their packages are installed, and their registries answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok
from saffron.distribution import install
from saffron.errors import LogError, SettingsError
from saffron.runtime.streams.registry import Get, over_http

_NEEDS = {"avro": "fastavro", "protobuf": "google.protobuf"}
_INSTALL = install("registry")
_RESULTS = "results_registry (SAFFRON_RESULTS_REGISTRY) names another"

Connect = Callable[[str, str], Get]
Has = Callable[[str], object]


def check_formats(look: Look, connect: Connect = over_http, has: Has = find_spec) -> Iterator[Finding]:
    """Findings on formats of streams and of results.

    `connect`: gives a registry by URL and credentials. `has`: whether a package is installed.
    """
    asked = [
        (f"stream {one.name}", one.format, one.registry or "", _another(one.name)) for one in look.streams.values()
    ]
    asked.append(("results", look.settings.results_format, look.settings.results_registry, _RESULTS))
    for where, form, registry, another in asked:
        if form not in _NEEDS:
            continue
        if not has(_NEEDS[form]):
            yield error("formats", f"{_NEEDS[form]} is not installed: {form} cannot be used", where, _INSTALL)
        try:
            connect(registry, look.settings.registry_auth)("/subjects")
            yield ok("formats", f"{form}; its registry answers", where)
        except LookupError:
            yield ok("formats", f"{form}; its registry answers", where)
        except (LogError, SettingsError) as refused:
            yield error("formats", str(refused), where, f"is it up, and SAFFRON_REGISTRY_AUTH right? {another}")


def _another(stream: str) -> str:
    """The command that gives a stream another registry."""
    return f"saffron stream set {stream} --registry URL names another"

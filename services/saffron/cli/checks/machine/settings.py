"""The check of settings: unknown names, wrong values, and variables with misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from saffron.cli.finding import Finding, error, warning
from saffron.errors import SettingsError
from saffron.runtime.log.security.java_security import java_obstacles
from saffron.runtime.log.security.python_security import python_obstacles
from saffron.runtime.log.security.security import Security, security_of
from saffron.runtime.process.config import Loaded, load, unknown

_OURS = "SAFFRON"
_ALIKE = 0.85


def read(flags: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[Loaded | None, list[Finding]]:
    """The settings as far as they can be read, and findings on the rest."""
    findings = list(_almost(environ))
    try:
        wrong = list(unknown(environ))
    except SettingsError as refused:  # the file itself
        return None, [*findings, _refused(refused)]
    findings += [error("settings", one.what, one.where, one.fix) for one in wrong]
    left_out = {one.name for one in wrong}
    try:
        loaded = load(flags, {name: value for name, value in environ.items() if name not in left_out}, left_out)
        findings += _left_outside(security_of(loaded.settings))
    except SettingsError as refused:
        return None, [*findings, _refused(refused)]
    return loaded, findings


def _left_outside(security: Security) -> Iterator[Finding]:
    """Findings on services whose own client of Kafka cannot have the settings of the others."""
    for service, obstacles in (("model-builder", java_obstacles(security)), ("control", python_obstacles(security))):
        for why in obstacles:
            yield warning(
                "security", f"{service} would not be let in: {why}", service, f"saffron up --without {service}"
            )


def _refused(refused: SettingsError) -> Finding:
    return error("settings", str(refused), "settings", "correct the setting, or the settings file; then again")


def _almost(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Findings on variables whose names are almost ours, such as SAFRON_PREFIX, and have no effect."""
    for name in sorted(environ):
        first, _, rest = name.partition("_")
        if rest and first != _OURS and difflib.SequenceMatcher(None, first, _OURS).ratio() >= _ALIKE:
            yield warning(
                "settings", f"{name} is no variable of ours", f"variable {name}", f"did you mean {_OURS}_{rest}?"
            )

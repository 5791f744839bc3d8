"""Modules of the user's that a process imports at start: they register aggregates (`@saffron.aggregate`)."""

from __future__ import annotations

import importlib

from saffron.errors import SettingsError


def import_modules(names: str) -> None:
    """Import them; `names`: separated by commas. SettingsError where one cannot be imported, with its own error."""
    for name in filter(None, (part.strip() for part in names.split(","))):
        try:
            importlib.import_module(name)
        except Exception as error:
            hint = "it must be installed, or found by PYTHONPATH, wherever Saffron runs"
            raise SettingsError(f"aggregates: module {name!r} cannot be imported: {error!r}; {hint}") from error

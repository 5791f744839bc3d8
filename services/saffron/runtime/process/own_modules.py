"""The user's modules that a process imports at start, which register aggregates and functions."""

from __future__ import annotations

import importlib

from saffron.errors import SettingsError, one_line


def import_modules(names: str) -> None:
    """Imports modules. `names`: separated by commas. SettingsError: one cannot be imported, with the cause."""
    for name in filter(None, (part.strip() for part in names.split(","))):
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:  # a module may be a program, whose end would be ours
            hint = "it must be installed, or found by PYTHONPATH, wherever Saffron runs"
            raise SettingsError(
                f"aggregates: module {name!r} cannot be imported: {one_line(error, repr)}; {hint}"
            ) from error

"""The names of shedders. They stand apart from plans, so that a command which only names one loads no language."""

from __future__ import annotations

from saffron.carets import quoted
from saffron.records.query import SUCCESSORS

NONE, AUTO = "none", "auto"
BY_PARTIAL_MATCHES = ("pspice",)
"""Shedders of partial matches: by U = w P / tau (pSPICE, algorithm 2)."""
BY_EVENTS = ("gspice-h", "gspice-tree", "gspice-forest")
"""Shedders of events: by a hash table, a tree or a forest over features (gSPICE)."""
SHEDDERS = (NONE, AUTO, *BY_PARTIAL_MATCHES, *BY_EVENTS)
"""Names of shedders. `none`: nothing is shed for the query. `auto`: the system chooses. Others: the papers' systems."""


def refusal(name: object) -> str:
    """The error for an unknown shedder, with the known and the most similar names; "" for a known one."""
    if name in SHEDDERS:
        return ""
    from saffron.language.syntax.hints import suggestion

    written = quoted(name) if isinstance(name, str) else repr(name)
    if isinstance(name, str) and name in SUCCESSORS:
        return f"{written} is a baseline of experiments, no shedder: choose {SUCCESSORS[name]}"
    hint = suggestion(name, SHEDDERS) if isinstance(name, str) else ""
    return f"there is no shedder {written}; there are {', '.join(SHEDDERS)}. {hint}".rstrip()

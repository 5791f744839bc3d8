"""Kinds of names that a shell completes."""

from __future__ import annotations

SHELLS = ("bash", "zsh", "fish")
LIVE = ("queries", "streams")
"""Kinds whose names only the running system knows."""

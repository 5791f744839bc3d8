"""One thing that the doctor looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Finding:
    """`state`: ok, note (worth knowing), wrong. `fix` is empty where there is nothing to mend."""

    check: str
    state: str
    found: str
    fix: str = ""

    def row(self) -> dict[str, str]:
        """For `--json`."""
        return asdict(self)


def ok(check: str, found: str) -> Finding:
    return Finding(check, "ok", found)


def note(check: str, found: str, fix: str = "") -> Finding:
    return Finding(check, "note", found, fix)


def wrong(check: str, found: str, fix: str) -> Finding:
    return Finding(check, "wrong", found, fix)

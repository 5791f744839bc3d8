"""The result of one check."""

from __future__ import annotations

from dataclasses import asdict, dataclass

OK, WARNING, ERROR = "ok", "warning", "error"


@dataclass(frozen=True)
class Finding:
    """A result of a check.

    `state`: ok, warning (it works, or will not for long) or error. `what`: the fact, with its value. `where`: the file,
    setting, topic, partition, service or query. `fix`: empty where nothing is to be done.
    """

    check: str
    state: str
    what: str
    where: str = ""
    fix: str = ""

    def row(self) -> dict[str, str]:
        """The object of `--json`."""
        return asdict(self)


def ok(check: str, what: str, where: str = "") -> Finding:
    return Finding(check, OK, what, where)


def warning(check: str, what: str, where: str, fix: str) -> Finding:
    return Finding(check, WARNING, what, where, fix)


def error(check: str, what: str, where: str, fix: str) -> Finding:
    return Finding(check, ERROR, what, where, fix)

"""What one check has found."""

from __future__ import annotations

from dataclasses import asdict, dataclass

OK, WARNING, ERROR = "ok", "warning", "error"


@dataclass(frozen=True)
class Finding:
    """`state`: ok, warning (it works, or will not for long) or error. `fix` is empty where there is nothing to mend.

    `what`: is so, with the value; `where`: the file, setting, topic, partition, service or query.
    """

    check: str
    state: str
    what: str
    where: str = ""
    fix: str = ""

    def row(self) -> dict[str, str]:
        """For `--json`."""
        return asdict(self)


def ok(check: str, what: str, where: str = "") -> Finding:
    return Finding(check, OK, what, where)


def warning(check: str, what: str, where: str, fix: str) -> Finding:
    return Finding(check, WARNING, what, where, fix)


def error(check: str, what: str, where: str, fix: str) -> Finding:
    return Finding(check, ERROR, what, where, fix)

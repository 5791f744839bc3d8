"""Known vulnerabilities of what the lock files pin, as OSV knows them: `python tools/audit.py`.

Status 1: there is one that pyproject.toml does not allow, with its reason, under [tool.saffron.audit]. Status 0: there
is none, or the database cannot be asked from here, which is said.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCKS = (ROOT / "requirements.lock", ROOT / "tools" / "setup" / "uv.lock")
OSV = "https://api.osv.dev"
_SECONDS = 5.0
_ECOSYSTEM = "PyPI"
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Pin:
    """One version of one package."""

    package: str
    version: str


@dataclass(frozen=True, order=True)
class Known:
    """A vulnerability of a pinned package; `names`: all ids that it goes by, the one that was found first."""

    pin: Pin
    names: tuple[str, ...]
    fixed: tuple[str, ...]
    summary: str

    def line(self) -> str:
        """The vulnerability in one line."""
        fixed = f"fixed in {', '.join(self.fixed)}" if self.fixed else "no fixed version is known"
        also = f" ({', '.join(self.names[1:])})" if self.names[1:] else ""
        return f"{self.pin.package} {self.pin.version}: {self.names[0]}{also}, {fixed}. {self.summary}".rstrip()


class UnreachableError(Exception):
    """The database does not answer, or not as it should."""


def pins(texts: Iterable[str]) -> list[Pin]:
    """The versions that lock files pin, for any platform."""
    return sorted({Pin(name.lower(), version) for text in texts for name, version in _PIN.findall(text)})


def known(wanted: Sequence[Pin], url: str = OSV) -> list[Known]:
    """The known vulnerabilities of pinned packages, from the database. UnreachableError."""
    queries = [{"package": {"name": one.package, "ecosystem": _ECOSYSTEM}, "version": one.version} for one in wanted]
    results = _asked(f"{url}/v1/querybatch", {"queries": queries}).get("results")
    if not isinstance(results, list) or len(results) != len(wanted):
        raise UnreachableError(f"{url} does not answer as OSV does")
    found = [
        _described(pin, _asked(f"{url}/v1/vulns/{vulnerability['id']}"))
        for pin, result in zip(wanted, results, strict=True)
        for vulnerability in result.get("vulns", ())
    ]
    return list(_without_twins(one for one in found if one is not None))


def allowed(document: Mapping[str, Any]) -> dict[str, str]:
    """Ids that are put up with, and why. ValueError: one has no reason."""
    entries = document.get("tool", {}).get("saffron", {}).get("audit", {}).get("allow", [])
    reasons = {str(one.get("id", "")): str(one.get("reason", "")).strip() for one in entries}
    for name, reason in reasons.items():
        if not (name and reason):
            raise ValueError(f"pyproject.toml, [tool.saffron.audit]: {name or 'an entry'} needs an id and a reason")
    return reasons


def main(url: str = OSV, locks: Sequence[Path] = LOCKS, project: Path = ROOT / "pyproject.toml") -> int:
    """Ask, and print what is known."""
    reasons = allowed(tomllib.loads(project.read_text("utf-8")))
    wanted = pins(path.read_text("utf-8") for path in locks)
    try:
        found = known(wanted, url)
    except UnreachableError as error:
        print(f"audit: left out, {error}")
        return 0
    bad = [one for one in found if not reasons.keys() & set(one.names)]
    for one in bad:
        print(f"audit: {one.line()}")
    for name in sorted(reasons.keys() - {name for one in found for name in one.names}):
        print(f"audit: {name} is allowed in pyproject.toml, and nothing pinned has it any more: take it out")
    if bad:
        print("audit: raise the versions (requirements.lock), or allow the id with a reason in pyproject.toml")
        return 1
    print(f"audit: {len(wanted)} pinned versions, nothing known against them{_but(reasons)}")
    return 0


def _but(reasons: Mapping[str, str]) -> str:
    return f" but what is allowed ({', '.join(sorted(reasons))})" if reasons else ""


def _asked(url: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            found = json.load(answer)
    except (OSError, HTTPException, ValueError) as error:
        raise UnreachableError(f"{url} cannot be asked from here: {error}") from error
    if not isinstance(found, dict):
        raise UnreachableError(f"{url} does not answer as OSV does")
    return found


def _described(pin: Pin, record: Mapping[str, Any]) -> Known | None:
    """The vulnerability of a record; None: it was withdrawn."""
    if "withdrawn" in record:
        return None
    fixed = {
        event["fixed"]
        for affected in record.get("affected", ())
        if affected.get("package", {}).get("name", "").lower() == pin.package
        for one in affected.get("ranges", ())
        if one.get("type") == "ECOSYSTEM"
        for event in one.get("events", ())
        if "fixed" in event
    }
    names = (str(record.get("id", "?")), *sorted(map(str, record.get("aliases", ()))))
    return Known(pin, names, tuple(sorted(fixed)), str(record.get("summary", "")))


def _without_twins(found: Iterable[Known]) -> Iterator[Known]:
    """The databases that OSV gathers name one another's."""
    seen: set[tuple[Pin, str]] = set()
    for one in sorted(found):
        names = {(one.pin, name) for name in one.names}
        if not names & seen:
            yield one
        seen |= names


if __name__ == "__main__":
    sys.exit(main())

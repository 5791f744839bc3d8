"""Reads a text case (see README.md beside this file)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECTIONS = ("query", "beside", "aggregates", "events", "matches", "trends", "results", "explain", "error")
_EVENT = re.compile(r"(?P<type>[A-Za-z_$]\w*)@(?P<ts>-?\d+)(?:\((?P<attributes>[^)]*)\))?")


@dataclass(frozen=True)
class Case:
    """One case: sections by name, absent ones missing."""

    path: Path
    sections: dict[str, str]

    def lines(self, section: str) -> list[str]:
        return [line.strip() for line in self.sections[section].splitlines() if line.strip()]

    def beside(self) -> dict[str, str]:
        """The other standing queries by name, in the order in which they were added."""
        texts = [text.strip() for text in self.sections.get("beside", "").split("\n\n") if text.strip()]
        return {text.split()[1]: text for text in texts}

    def events(self) -> bytes:
        """The events as NDJSON."""
        out = []
        for line in self.lines("events"):
            out += [line] if line.startswith("{") else [json.dumps(event) for event in _shorthand(line)]
        return "".join(line + "\n" for line in out).encode()


def _shorthand(line: str) -> list[dict[str, Any]]:
    events, position = [], 0
    while position < len(line):
        match = _EVENT.match(line, position)
        if match is None:
            raise ValueError(f"no event at {line[position:]!r}")
        event: dict[str, Any] = {"type": match["type"], "ts": int(match["ts"])}
        for pair in filter(None, (part.strip() for part in (match["attributes"] or "").split(","))):
            name, _, value = pair.partition("=")
            event[name] = json.loads(value.replace("'", '"'))
        events.append(event)
        position = match.end()
        while position < len(line) and line[position].isspace():
            position += 1
    return events


def read_case(path: Path) -> Case:
    """Split a case file into its sections; an unknown section is an error."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in path.read_text().splitlines():
        if line.startswith("---- "):
            name = line[5:].strip()
            if name not in SECTIONS or name in sections:
                raise ValueError(f"{path}: section {name!r} is unknown or given twice; there are {', '.join(SECTIONS)}")
            current = sections[name] = []
        else:
            current.append(line)
    return Case(path, {name: "\n".join(lines).strip("\n") for name, lines in sections.items()})

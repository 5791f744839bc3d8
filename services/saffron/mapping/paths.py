"""Paths into a JSON message: `order.id`, `"a.b".c`, `items[1].sku`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Step = str | int
"""The name of a field, or the number of an array's element, from 1."""

_STEP = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)+)"|(?P<plain>[^\s."\[\]]+)')
_INDEX = re.compile(r"\[(?P<number>[1-9]\d{0,8})\]")
_ESCAPED = re.compile(r"\\(.)")
PATH_FORM = 'names joined by dots, as in order.id, "user-agent".name or items[1].sku'


class Missing:
    """The value of a path that leads nowhere."""


MISSING = Missing()


class PathError(ValueError):
    """An invalid path. `place`: the offset of the fault in its text."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True)
class Path:
    """Steps from the root of a message to a value."""

    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> Path:
        """The path in a text. PathError if there is none."""
        steps: list[Step] = []
        place = 0
        while True:
            found = _STEP.match(text, place)
            if found is None:
                raise PathError(f"a path is {PATH_FORM}", place)
            quoted = found["quoted"]
            steps.append(found["plain"] if quoted is None else _ESCAPED.sub(r"\1", quoted))
            place = found.end()
            while index := _INDEX.match(text, place):
                steps.append(int(index["number"]))
                place = index.end()
            if place == len(text):
                return cls(tuple(steps))
            if text[place] != ".":
                what = "an array's elements are counted from 1" if text[place] == "[" else f"a path is {PATH_FORM}"
                raise PathError(what, place)
            place += 1

    def __str__(self) -> str:
        """The path's own spelling."""
        text = ""
        for step in self.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += ("." if text else "") + (step if _STEP.fullmatch(step) and '"' not in step else _quoted(step))
        return text

    def of(self, value: Any) -> Any:
        """The value at the end of the path; MISSING where there is none.

        A field whose name is the rest of the path, dots included, counts before a nested one, unless it is null.
        """
        none: Any = MISSING
        for number, step in enumerate(self.steps):
            if isinstance(step, int):
                if not isinstance(value, list) or step > len(value):
                    return none
                value = value[step - 1]
                continue
            if not isinstance(value, Mapping):
                return none
            flat = flat_name(self.steps[number:])
            if flat is not None and flat in value:
                if value[flat] is not None:
                    return value[flat]
                none = None
            if step not in value:
                return none
            value = value[step]
        return value


def flat_name(steps: tuple[Step, ...]) -> str | None:
    """The name, dots included, of a field that several steps may stand for; None: they have no such name."""
    if len(steps) > 1 and all(isinstance(one, str) for one in steps):
        return ".".join(map(str, steps))
    return None


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

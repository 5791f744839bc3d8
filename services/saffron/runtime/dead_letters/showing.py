"""Dead letters as command and API show them, with the place of the error, as text or hex."""

from __future__ import annotations

import base64
import re
from typing import Any

import orjson

from saffron.counted import counted
from saffron.runtime.dead_letters.letters import Letter
from saffron.runtime.log import Record

_PREVIEW = 160
_AROUND = 60
"""Characters of a long line shown on each side of the place."""
_HEX_BYTES = 4096
_ROW = 16
_NAMED = re.compile(r"attribute '([^']+)'|^(ts) ")


def row_of(letter: Letter, stream: str | None) -> dict[str, Any]:
    """A line of the list. `stream`: None where no stream reads the topic any more. Times are in ms."""
    return {
        "id": letter.id,
        "stream": stream,
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "at": letter.at,
        "timestamp": letter.timestamp,
        "reason": letter.reason,
        "detail": letter.detail,
        "bytes": len(letter.value or b"") if letter.result is None else letter.result["bytes"],
        "preview": (letter.value or b"")[:_PREVIEW].decode("utf-8", "replace"),
        "sent": [{"at": one.at, "done": one.done} for one in letter.attempts],
    }


def whole(letter: Letter, stream: str | None, original: Record | None) -> dict[str, Any]:
    """All details of a letter. `original`: its message, None where it is gone."""
    text, encoding = encoded(letter.value)
    return {
        **row_of(letter, stream),
        "value": text,
        "encoding": encoding,
        "place": place(letter),
        "shown": shown(letter),
        "hex": hex_lines(letter.value or b""),
        "key": None if original is None or original.key is None else original.key.decode("utf-8", "replace"),
        "headers": {
            name: (one or b"").decode("utf-8", "replace") for name, one in (original.headers if original else ())
        },
        "original": original is not None,
        "result": letter.result,
    }


def encoded(value: bytes | None) -> tuple[str | None, str]:
    """Bytes as text for JSON: (text, "utf-8"), or (text, "base64") where they are no text."""
    try:
        return None if value is None else value.decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(value or b"").decode(), "base64"


def place(letter: Letter) -> dict[str, int] | None:
    """The place of the error: `start` and `end` (characters from 0), `line` and `column` (from 1), or None."""
    try:
        text = (letter.value or b"").decode()
    except UnicodeDecodeError as error:
        return _at((letter.value or b"")[: error.start].decode(), error.start, error.start + 1)
    span = _syntax(text) if letter.reason == "not-json" else _attribute(text, letter.detail)
    return None if span is None else _at(text, *span)


def shown(letter: Letter) -> str:
    """The reason, and the message's line with carets under the place, as for query errors."""
    head = f"{letter.reason}: {letter.detail}"
    found = place(letter)
    text = (letter.value or b"").decode("utf-8", "replace")
    if found is None:
        return f"{head}\n{text}" if text else head
    lines = text.split("\n")
    line, column = lines[found["line"] - 1] if found["line"] <= len(lines) else "", found["column"] - 1
    first = max(0, column - _AROUND) if len(line) > 3 * _AROUND else 0
    width = min(max(1, found["end"] - found["start"]), _AROUND)
    label = f"LINE {found['line']}: " + ("…" if first else "")
    return f"{head}\n{label}{line[first : first + 3 * _AROUND]}\n{' ' * (len(label) + column - first)}{'^' * width}"


def hex_lines(value: bytes) -> str:
    """Offsets, bytes and characters of the first 4096 bytes, sixteen per line."""
    rows = []
    for start in range(0, min(len(value), _HEX_BYTES), _ROW):
        part = value[start : start + _ROW]
        text = "".join(chr(one) if 32 <= one < 127 else "." for one in part)
        rows.append(f"{start:08x}  {part.hex(' '):<{3 * _ROW}} {text}")
    if len(value) > _HEX_BYTES:
        rows.append(f"… {counted(len(value) - _HEX_BYTES, 'byte')} more")
    return "\n".join(rows)


def _syntax(text: str) -> tuple[int, int] | None:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        start = min(error.pos, max(0, len(text) - 1))
        return (start, start + 1) if text else None
    return None


def _attribute(text: str, detail: str) -> tuple[int, int] | None:
    """The span of the attribute that the detail names, if the text has it."""
    named = _NAMED.search(detail)
    if named is None:
        return None
    name = re.escape(orjson.dumps(named[1] or named[2]).decode())
    found = list(re.finditer(name + r'\s*:\s*("(?:[^"\\]|\\.)*"|[^,}\]\s]*)', text))
    return found[-1].span() if found else None


def _at(text: str, start: int, end: int) -> dict[str, int]:
    before = text[:start]
    return {"start": start, "end": end, "line": before.count("\n") + 1, "column": start - before.rfind("\n")}

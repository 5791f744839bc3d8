"""Parsing of requests: body, fields and parameters. `Refused`: invalid, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from saffron.carets import quoted
from saffron.control.checks import MOST_CHARACTERS, Refused

MOST_ROWS = 200
"""Largest number of results or dead letters in one request."""


async def json_body(request: web.Request, allowed: set[str]) -> Mapping[str, Any]:
    """The request's JSON object, with fields in `allowed` only.

    The content type must be application/json, which a form on another site cannot send.
    """
    if request.content_type != "application/json":
        raise Refused(415, "body", "send JSON, with `Content-Type: application/json`")
    try:
        body = orjson.loads(await request.read())
    except orjson.JSONDecodeError as error:
        raise Refused(400, "body", f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise Refused(400, "body", "the body must be a JSON object")
    if unknown := sorted(set(body) - allowed):
        raise Refused(400, "body", f"unknown field {unknown[0]!r}; known ones: {', '.join(sorted(allowed))}")
    return body


def text_of(body: Mapping[str, Any], field: str) -> str:
    """The value of a required, non-empty text field."""
    value = body.get(field)
    if not isinstance(value, str) or not value.strip():
        raise Refused(400, "body", f'"{field}" must be a text that is not empty')
    return value


def definition_text(body: Mapping[str, Any]) -> str:
    """The text of a stream's definition."""
    text = text_of(body, "definition")
    if len(text) > MOST_CHARACTERS:
        raise Refused(413, "size", f"the definition has {len(text)} characters; at most {MOST_CHARACTERS} are taken")
    return text


def flag_of(body: Mapping[str, Any], field: str) -> bool:
    """The value of a boolean field; false where it is absent."""
    value = body.get(field, False)
    if not isinstance(value, bool):
        raise Refused(400, "body", f'"{field}" must be true or false')
    return value


def number_of(body: Mapping[str, Any], field: str, otherwise: int, *, most: int) -> int:
    """The value of a field with a whole number from 1 on; `otherwise` where it is absent."""
    value = body.get(field, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise Refused(400, "body", f'"{field}" must be a whole number from 1 to {most}, not {value!r}')
    return value


def count_of(text: str) -> int:
    """A number of rows, from a parameter."""
    if not text.isdecimal() or len(text) > len(str(MOST_ROWS)) or not 1 <= int(text) <= MOST_ROWS:
        raise Refused(400, "count", f"count must be a number from 1 to {MOST_ROWS}, not {quoted(text)}")
    return int(text)

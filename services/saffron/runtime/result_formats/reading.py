"""Conversion of results to JSON from any output format, without a registry, for Saffron's own readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.events.formats.framed import HEAD
from saffron.engine.operators.result_values import read_result
from saffron.runtime.log import Record
from saffron.runtime.result_formats.forms import DATASCHEMA, FORMS, codec, dataschema
from saffron.runtime.result_formats.shapes import SHAPES

ID = slice(7, 39)
"""Position of the id in a result's JSON: {"id":"..."."""
_BRACE = b"{"
_OBJECTS = ("key", "group", "events", "return")
"""The fields of results that are objects, where they are there."""
_FORM_OF = {form.content_type: name for name, form in FORMS.items()}
_TOPIC_OF = {dataschema(topic): topic for topic in SHAPES}


def result_json(record: Record) -> bytes | None:
    """A result as the JSON of its topic's contract; None: no result, or written by an unknown schema.

    SettingsError: the package for its format is not installed.
    """
    value = record.value
    if value is None or value[:1] == _BRACE:
        return value
    headers = dict(record.headers)
    form, topic = _FORM_OF.get(headers.get("content-type", b"")), _TOPIC_OF.get(headers.get(DATASCHEMA, b""))
    if form is None or topic is None:
        return None
    try:
        return codec(form, topic).json(value[HEAD:])
    except ValueError:
        return None


def result_values(record: Record) -> dict[str, Any] | None:
    """The JSON values of a result; None: no result, or written by an unknown schema or another program.

    A topic of PUBLISH may have other writers, whose messages may be any JSON, or none.
    """
    text = result_json(record)
    if text is None:
        return None
    try:
        found: Any = read_result(text)
    except (ValueError, RecursionError):  # foreign JSON may be nested to any depth
        return None
    return found if isinstance(found, dict) and _is_result(found) else None


def _is_result(found: Mapping[str, Any]) -> bool:
    """True if the fields by which every reader tells results apart and shows them are as Saffron writes them."""
    if not isinstance(found.get("query"), str) or type(found.get("detected_at")) is not int:
        return False
    return all(isinstance(found.get(name, {}), dict) for name in _OBJECTS)


def result_id(record: Record) -> bytes:
    """The id of a result, without decoding all of it; empty where it has none."""
    value = record.value or b""
    return value[ID] if value[:1] == _BRACE else dict(record.headers).get("ce_id", b"")

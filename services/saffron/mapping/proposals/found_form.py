"""The detected form of a topic's messages: JSON in an envelope, or CSV."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence

from saffron.mapping.definition import CsvForm, Envelope
from saffron.mapping.envelopes import lines_of
from saffron.mapping.message import Message, MessageError, parse
from saffron.mapping.proposals.fields import Topic

_SEPARATORS = ",;\t|"


def found_form(topic: Topic) -> tuple[Envelope, CsvForm | None]:
    """The envelope that most messages have, or their form of CSV where none is JSON."""
    values = [message.value for message in topic.messages if message.value is not None]
    if (form := _csv_form(values)) is not None:
        return Envelope.NONE, form
    found = Counter(_envelope_of(message) for message in topic.messages if message.value is not None)
    return found.most_common(1)[0][0] if found else Envelope.NONE, None


def _envelope_of(message: Message) -> Envelope:
    """The envelope of a message that has a value, as far as its fields show; else NONE.

    Several lines that are no JSON together are LINES.
    """
    assert message.value is not None
    try:
        value = parse(message.value)
    except MessageError:
        return Envelope.LINES if b"\n" in message.value.strip() else Envelope.NONE
    if isinstance(value, list):
        return Envelope.ARRAY
    if not isinstance(value, dict):
        return Envelope.NONE
    if "specversion" in value or "ce_specversion" in message.headers:
        return Envelope.CLOUDEVENTS
    change = value.get("payload") if "schema" in value else value
    debezium = isinstance(change, dict) and "op" in change and "source" in change and "after" in change
    return Envelope.DEBEZIUM if debezium else Envelope.NONE


def _csv_form(values: Sequence[bytes]) -> CsvForm | None:
    """The form of CSV: no line is JSON, and most lines have the same number of cells, two at least."""
    try:
        messages = [[one.decode() for one in lines_of(value)] for value in values]
    except UnicodeDecodeError:
        return None
    lines = [line for message in messages for line in message]
    if not lines or any(_is_json(line) for line in lines):
        return None
    for separator in _SEPARATORS:
        counts = Counter(len(_cells(line, separator)) for line in lines)
        width, count = counts.most_common(1)[0]
        if width > 1 and 2 * count > len(lines):
            return _named(messages, separator, width)
    return None


def _named(messages: Sequence[Sequence[str]], separator: str, width: int) -> CsvForm:
    """The form of CSV messages: each begins with the same header line, or the columns are column1, column2 and so on.

    A header line has `width` different cells, none of them empty or with a digit first, and lines follow it.
    """
    heads = {tuple(_cells(message[0], separator)) for message in messages if message}
    head = next(iter(heads))
    is_header = len(heads) == 1 and all(len(message) > 1 for message in messages) and len(set(head)) == width
    if is_header and not any(cell[:1].isdigit() or not cell for cell in head):
        return CsvForm(None, separator)
    return CsvForm(tuple(f"column{number}" for number in range(1, width + 1)), separator)


def _cells(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _is_json(line: str) -> bool:
    try:
        parse(line.encode())
    except MessageError:
        return False
    return True

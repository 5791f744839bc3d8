"""The field of a topic's messages that is the type of their events."""

from __future__ import annotations

import re
from types import MappingProxyType

from saffron.counted import counted
from saffron.mapping.definition import Envelope
from saffron.mapping.paths import Path
from saffron.mapping.proposals.fields import Fields
from saffron.mapping.proposals.proposal import ProposedType
from saffron.records.stream import WITH_REGISTRY

_MOST = 12
"""Different values of a field that may be the event's type."""
_NAME = re.compile(r"type|status|state|event|action|kind|name$", re.IGNORECASE)
_CE_TYPE = ("ce_type",)
_OP = ("__op",)
_TYPE = ("type",)
_CHANGES = MappingProxyType({"c": "created", "u": "changed", "d": "deleted", "r": "read", "t": "truncated"})


def found_type(topic: str, own: Fields, envelope: Envelope, form: str | None) -> ProposedType | None:
    """The type that an envelope or a record has, or a field of few texts in all messages that is named like one.

    `form`: what the messages are written as.
    """
    if envelope is Envelope.CLOUDEVENTS and _CE_TYPE in own.values:
        return ProposedType(Path(_CE_TYPE), {}, "the type of a CloudEvent", is_sure=own.in_all(_CE_TYPE))
    if _OP in own.values and own.in_all(_OP):
        table = topic.rpartition(".")[2]
        names = {one: f"{table}_{_CHANGES.get(one, one)}" for one in sorted({*own.texts(_OP), *"cdru"})}
        return ProposedType(Path(_OP), names, "a type for each kind of change", is_sure=False)
    is_record = form in WITH_REGISTRY and envelope is Envelope.NONE and _TYPE in own.values and own.in_all(_TYPE)
    if is_record and 1 < len(own.texts(_TYPE)) <= _MOST:
        return ProposedType(Path(_TYPE), {}, "the name of its record, or its own field of that name", is_sure=True)
    found = []
    for steps in own.values:
        texts = own.texts(steps)
        if own.in_all(steps) and 1 < len(texts) <= _MOST and _NAME.search(steps[-1]):
            found.append((len(steps), len(texts), steps, sorted(texts)))
    if not found:
        return None
    _, count, steps, values = min(found)
    names = {value: _camel(value) for value in values}
    if all(old == new for old, new in names.items()):
        names = {}
    return ProposedType(Path(steps), names, f"a type for each of its {counted(count, 'value')}", is_sure=False)


def _camel(value: str) -> str:
    """A name for a type: PAYMENT_FAILED is PaymentFailed."""
    parts = re.split(r"[^A-Za-z0-9]+", value)
    return "".join(part.title() if part.isupper() or part.islower() else part for part in parts) or value

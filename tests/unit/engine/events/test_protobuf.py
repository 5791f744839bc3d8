"""Bytes that are no message of their schema: each gives what Protobuf's own reader finds in them, or a reason."""

from __future__ import annotations

import base64
import json
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, text_format
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.events.formats.protobuf import protobuf_reader
from tests.unit.engine.events.damage import damaged, whole

KIND = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    KIND.TYPE_BOOL: st.booleans(),
    KIND.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    KIND.TYPE_UINT64: st.integers(0, 2**64 - 1),
    KIND.TYPE_SINT64: st.integers(-(2**63), 2**63 - 1),
    KIND.TYPE_FIXED32: st.integers(0, 2**32 - 1),
    KIND.TYPE_FLOAT: st.floats(width=32),
    KIND.TYPE_DOUBLE: st.floats(),
    KIND.TYPE_STRING: st.text(max_size=3),
    KIND.TYPE_ENUM: st.sampled_from([0, 1, 7]),
}
MESSAGES = (("First",), ("Outer",), ("Outer", "Inner"))
PATHS = (whole(0), whole(1) + whole(1), whole(2) + whole(1) + whole(0))
"""The indices of each message in the file, as they stand before a payload."""


@st.composite
def files(draw: st.DrawFn) -> descriptor_pb2.FileDescriptorProto:
    """Three messages, one in another, each with fields of any kind, which may have each other in them."""
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="p", syntax="proto3")
    side = file.enum_type.add(name="Side")
    for number, name in enumerate(("NONE", "BUY", "SELL")):
        side.value.add(name=name, number=number)
    first, outer = file.message_type.add(name="First"), file.message_type.add(name="Outer")
    for message in (first, outer, outer.nested_type.add(name="Inner")):
        for number in range(1, draw(st.integers(1, 4)) + 1):
            kind = draw(st.sampled_from([*SCALARS, KIND.TYPE_MESSAGE]))
            label = draw(st.sampled_from([KIND.LABEL_OPTIONAL, KIND.LABEL_REPEATED]))
            field = message.field.add(name=f"f{number}", number=number, type=kind, label=label)
            if kind == KIND.TYPE_MESSAGE:
                field.type_name = ".p." + ".".join(draw(st.sampled_from(MESSAGES)))
            elif kind == KIND.TYPE_ENUM:
                field.type_name = ".p.Side"
    return file


@st.composite
def filled(draw: st.DrawFn, message: Any, depth: int = 2) -> Any:
    """The message with values in some of its fields."""
    for field in message.DESCRIPTOR.fields:
        count = draw(st.integers(0, 2 if field.is_repeated else 1))
        if field.message_type is None:
            values = [draw(SCALARS[field.type]) for _ in range(count)]
            if field.is_repeated:
                getattr(message, field.name).extend(values)
            elif values:
                setattr(message, field.name, values[0])
        elif depth:
            for _ in range(count):
                inner = getattr(message, field.name)
                draw(filled(inner.add() if field.is_repeated else inner, depth - 1))
    return message


@given(st.data())
def test_any_bytes_are_read_as_protobuf_reads_them_or_refused(data: st.DataObject) -> None:
    file = data.draw(files())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    at = data.draw(st.integers(0, len(MESSAGES) - 1))
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName(".".join(("p", *MESSAGES[at]))))
    written = data.draw(filled(made())).SerializeToString()
    payload = data.draw(damaged(written))
    read = protobuf_reader(base64.b64encode(file.SerializeToString()).decode())
    try:
        found = json.loads(read(PATHS[at] + payload))
    except ValueError:
        assert payload != written
        return
    assert found.pop("type") == MESSAGES[at][-1]
    wanted = made.FromString(payload)
    wanted.DiscardUnknownFields()
    assert text_format.MessageToString(json_format.ParseDict(found, made())) == text_format.MessageToString(wanted)


@given(st.binary(max_size=12))
def test_any_indices_are_those_of_a_message_or_refused(head: bytes) -> None:
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="p", syntax="proto3")
    file.message_type.add(name="First")
    file.message_type.add(name="Outer").nested_type.add(name="Inner")
    read = protobuf_reader(base64.b64encode(file.SerializeToString()).decode())
    try:
        found = json.loads(read(head))
    except ValueError:
        return
    assert found["type"] in {names[-1] for names in MESSAGES}

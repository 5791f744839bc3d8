"""Parser for .proto files, as far as ours need: messages, maps, oneofs, optional and repeated fields.

Imports and options are not supported. Protobuf's Python library has no parser, and one file should serve registries,
users and Saffron.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

_COMMENT = re.compile(r"//[^\n]*")
_WORD = re.compile(r'"[^"]*"|[\w.]+|\S')
_SCALARS = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "sint64": FieldDescriptorProto.TYPE_SINT64,
    "string": FieldDescriptorProto.TYPE_STRING,
}


def read_proto(name: str, text: str) -> FileDescriptorProto:
    """The file's descriptor. ValueError: unsupported syntax."""
    file = FileDescriptorProto(name=name)
    words = _Words(_WORD.findall(_COMMENT.sub("", text)))
    for word in words:
        match word:
            case "syntax":
                words.expect("=")
                file.syntax = words.next().strip('"')
                words.expect(";")
            case "package":
                file.package = words.next()
                words.expect(";")
            case "message":
                _message(words, file.message_type.add(name=words.next()), f".{file.package}")
            case _:
                raise ValueError(f"{name}: {word!r} is not understood")
    return file


class _Words:
    """The tokens of a file."""

    def __init__(self, words: list[str]) -> None:
        self._left = words[::-1]

    def __iter__(self) -> Iterator[str]:
        while self._left:
            yield self.next()

    def next(self) -> str:
        if not self._left:
            raise ValueError("a .proto file that ends too early")
        return self._left.pop()

    def expect(self, *words: str) -> None:
        for word in words:
            if (found := self.next()) != word:
                raise ValueError(f"{word!r} is expected, not {found!r}")


def _message(words: _Words, message: DescriptorProto, package: str) -> None:
    """Parses a message from its brace on. Oneofs of `optional` fields come last, as Protobuf requires."""
    words.expect("{")
    optional: list[FieldDescriptorProto] = []
    while (word := words.next()) != "}":
        match word:
            case "oneof":
                message.oneof_decl.add(name=words.next())
                words.expect("{")
                while (kind := words.next()) != "}":
                    _field(words, message, kind, package).oneof_index = len(message.oneof_decl) - 1
            case "optional":
                optional.append(_field(words, message, words.next(), package))
            case "repeated":
                _field(words, message, words.next(), package).label = FieldDescriptorProto.LABEL_REPEATED
            case "map":
                _map(words, message, package)
            case kind:
                _field(words, message, kind, package)
    for one in optional:
        one.proto3_optional, one.oneof_index = True, len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{one.name}")


def _field(words: _Words, message: DescriptorProto, kind: str, package: str) -> FieldDescriptorProto:
    """Parses a field from its name on, after its type."""
    made = _named(words, message)
    _type(made, kind, package)
    return made


def _named(words: _Words, message: DescriptorProto) -> FieldDescriptorProto:
    """Parses `NAME = NUMBER;`."""
    name = words.next()
    words.expect("=")
    made = message.field.add(name=name, number=int(words.next()), label=FieldDescriptorProto.LABEL_OPTIONAL)
    words.expect(";")
    return made


def _map(words: _Words, message: DescriptorProto, package: str) -> None:
    """Parses `<string, TYPE> NAME = NUMBER;`, which is encoded as a list of entries."""
    words.expect("<", "string", ",")
    kind = words.next()
    words.expect(">")
    made = _named(words, message)
    entry = message.nested_type.add(name=f"{made.name.title().replace('_', '')}Entry")
    entry.options.map_entry = True
    for number, (name, of) in enumerate((("key", "string"), ("value", kind)), 1):
        _type(entry.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL), of, package)
    _type(made, f"{message.name}.{entry.name}", package)
    made.label = FieldDescriptorProto.LABEL_REPEATED


def _type(made: FieldDescriptorProto, kind: str, package: str) -> None:
    if kind in _SCALARS:
        made.type = _SCALARS[kind]
    else:
        made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, f"{package}.{kind}"

"""A proposed definition as YAML, each proposal with its reason as a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import orjson

from saffron.counted import counted
from saffron.mapping.definition import CsvForm, Envelope, TimeFormat
from saffron.mapping.mapper import OWN, RESERVED
from saffron.mapping.paths import Path
from saffron.mapping.proposals.proposal import ProposedSource
from saffron.records.stream import JSON, WITH_REGISTRY

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def write_definition(name: str, sources: Sequence[ProposedSource]) -> str:
    """The text of a definition that `read_definition` takes as it stands."""
    return "\n".join([*_head(name, sources), *(line for one in sources for line in _source(one, sources))]) + "\n"


def _head(name: str, sources: Sequence[ProposedSource]) -> Iterator[str]:
    """The lines before the first source: name, key and bounds, with a comment each.

    Where several topics share no key, the key is a comment only.
    """
    key = sources[0].key
    yield f"stream: {_text(name)}"
    if key is not None:
        yield f"key: {_text(_key_name(sources))}  # all topics have its values: its events are matched in one place"
    elif len(sources) > 1:
        yield "# key: NAME     # no field has values that all topics share; without a key there is one partition"
    yield "disorder: 5s    # an event may be this late"
    yield "idle: 10s       # a silent topic, read to its end, does not hold back the others"
    yield "# silence: 30s  # where nothing comes to any topic for so long, event time goes on with the clock"
    yield "sources:"


def _source(one: ProposedSource, sources: Sequence[ProposedSource]) -> Iterator[str]:
    """The lines of one source. `sources`: all of them; the first one names the key.

    A part that is not sure, or that a person must fill in, is a comment.
    """
    yield f"- topic: {_text(one.topic)}  # by its newest {counted(one.messages, 'message')}"
    yield from (f"  # {_comment(line)}" for line in one.told)
    if one.form is None:
        yield "  # format: avro  # or protobuf"
        yield f"  # registry: {_text(one.registry) if one.registry else 'http://HOST:8081'}"
    elif one.form != JSON:
        yield f"  format: {one.form}  # its messages have the frame of a schema registry"
    if one.form in WITH_REGISTRY and one.registry is not None:
        yield f"  registry: {_text(one.registry)}"
    if one.csv is not None:
        yield f"  format: {_csv(one.csv)}"
    if one.envelope is not Envelope.NONE:
        yield f"  envelope: {one.envelope.value}"
    if one.explode is not None:
        sure = "" if one.explode.is_sure else "# "
        yield f"  {sure}explode: {_path(one.explode.path)}  # {_comment(one.explode.reason)}"
    yield from _type(one)
    if one.time.path is None:
        yield f"  ts: message  # {_comment(one.time.reason)}"
    else:
        form = one.time.form.value if isinstance(one.time.form, TimeFormat) else _text(one.time.form)
        yield f"  ts: {{field: {_path(one.time.path)}, format: {form}}}  # {_comment(one.time.reason)}"
    lines = list(_attributes(one, sources))
    if lines:
        yield "  attributes:"
        yield from lines


def _type(one: ProposedSource) -> Iterator[str]:
    """The type of the events, and as a comment what else it may be."""
    other = one.type
    if other is None or not other.is_sure:
        yield f"  type: {_text(one.topic)}"
    if other is not None:
        named = ", ".join(f"{_text(value)}: {_text(name)}" for value, name in other.names.items())
        rule = f"field: {_path(other.path)}" + (f", map: {{{named}}}" if named else "")
        yield f"  {'' if other.is_sure else '# '}type: {{{rule}}}  # {_comment(other.reason)}"


def _csv(form: CsvForm) -> str:
    """The format with its names: those in the header lines, or numbers that a person replaces."""
    separator = [] if form.separator == "," else [f"separator: {_text(form.separator)}"]
    if form.columns is None:
        return f"{{csv: {{{separator[0]}}}}}" if separator else "csv"
    columns = f"columns: [{', '.join(map(_text, form.columns))}]"
    return f"{{csv: {{{', '.join([columns, *separator])}}}}}  # no line has the names of the columns: write them here"


def _attributes(one: ProposedSource, sources: Sequence[ProposedSource]) -> Iterator[str]:
    if one.key is not None and _name(one.key.path) != _key_name(sources):
        yield f"    {_text(_key_name(sources))}: {_path(one.key.path)}  # {_comment(one.key.reason)}"
    for path in one.numbers:
        yield f"    {_text(_name(path))}: {{from: {_path(path)}, as: number}}  # its texts hold numbers"


def _key_name(sources: Sequence[ProposedSource]) -> str:
    assert sources[0].key is not None
    return _name(sources[0].key.path)


def _name(path: Path) -> str:
    """The name of the attribute that a path has without a rule."""
    name = ".".join(map(str, path.steps))
    return OWN + name if name in RESERVED else name


def _path(path: Path) -> str:
    return _text(str(path))


def _comment(reason: str) -> str:
    """A reason on one line: names in it are those of messages, and may have any signs."""
    return "".join(sign if sign.isprintable() else " " for sign in reason)


def _text(value: str) -> str:
    """A YAML scalar: plain where it can be, else in double quotes."""
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    return value if plain else "".join(map(_escaped, orjson.dumps(value).decode()))


def _escaped(sign: str) -> str:
    """A sign as it stands in double quotes: YAML would fold some that JSON leaves as they are."""
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"

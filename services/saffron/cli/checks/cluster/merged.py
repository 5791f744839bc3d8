"""The check of merged streams: their sources exist, have messages, and do not hold the others back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.checks.cluster.permissions import unreadable
from saffron.cli.finding import Finding, error, ok, warning
from saffron.cli.system.routes import RouteLine, waiting_sentences
from saffron.counted import counted
from saffron.mapping.definition import SourceDefinition, StreamDefinition
from saffron.mapping.definition_reader import definition_of
from saffron.mapping.dry_run import eventless_values
from saffron.mapping.envelopes import Eventless
from saffron.records.stream import AppliedDefinition

_CHECK = "sources"
_SAID_MS = 10_000
"""The age (ms) beyond which a report is out of date."""


def check_merged(look: Look) -> Iterator[Finding]:
    """Findings on each source of each merged stream, and on what streams made from other topics wait for."""
    for name, record in look.streams.items():
        if record.definition is not None:
            yield from _stream(look, name, record.definition)
    for sentence in waiting_sentences(look.routes):
        yield warning(_CHECK, sentence, "windowing", "if it lasts, the log of windowing says why")


def _stream(look: Look, name: str, applied: AppliedDefinition) -> Iterator[Finding]:
    definition = definition_of(applied)
    found = [finding for one in definition.sources for finding in _source(look, definition, one)]
    found += _event_time(look, name)
    yield from found
    if not found:
        yield ok(_CHECK, f"{counted(len(definition.sources), 'topic has', 'topics have')} messages", f"stream {name}")


def _event_time(look: Look, name: str) -> Iterator[Finding]:
    """A finding if event time has not begun, although a source has messages: no query over the stream answers then."""
    last = [
        found[-1] for (service, stream, _), found in look.sources().items() if (service, stream) == ("windowing", name)
    ]
    fresh = [one for one in last if look.now - one.stamped < _SAID_MS]
    if fresh and all(one.watermark is None for one in fresh) and any(look.sources_filled.values()):
        what = "event time has not begun: a source partition has no event yet, or all sources are silent"
        fix = "the next message of each source moves it; `idle` in the definition lets the others go on until then"
        yield warning(_CHECK, what, f"stream {name}", fix)


def _source(look: Look, definition: StreamDefinition, source: SourceDefinition) -> Iterator[Finding]:
    """Findings on one source: its rights, a missing or empty topic, a missing idle bound, no events, values lost.

    A topic that does not exist or may not be read has that finding alone.
    """
    name, where = definition.name, f"stream {definition.name}, source {source.topic}"
    if refused := list(unreadable(look, source.topic, look.foreign.get(source.topic), _CHECK, where)):
        yield from refused
        return
    if source.topic not in look.sources_filled:
        fix = f"create it, or take it out of the definition: saffron stream show {name} --definition"
        yield error(_CHECK, f"topic {source.topic} does not exist, and the stream waits for it", where, fix)
        return
    if not look.sources_filled[source.topic]:
        fix = "does its producer run, and is this the topic's full name?"
        yield warning(_CHECK, f"topic {source.topic} has no messages", where, fix)
    if source.idle is None and definition.idle is None and not _is_alone(look, definition):
        what = "it has no idle bound: while one of its partitions is silent, the stream waits for it"
        yield warning(_CHECK, what, where, f"saffron stream set {name} --idle 10s, or `idle: 10s` in the definition")
    routes = [one for one in look.routes.lines if (one.stream, one.source) == (name, source.topic)]
    yield from _eventless(routes, source, where)
    if lost := sum(one.mistyped for one in routes):
        values = counted(lost, "value is not what its rule says", "values are not what their rules say")
        what = f"since windowing started {values}, and null"
        yield warning(_CHECK, what, where, "saffron stream check FILE names them, and the first message of each")


def _eventless(routes: list[RouteLine], source: SourceDefinition, where: str) -> Iterator[Finding]:
    """A finding on a source that has given no event, as `explode` or `where` names what no message has."""
    counts = Counter[Eventless]()
    for one in routes:
        counts += Counter({Eventless.FILTERED: one.filtered, Eventless.NO_ARRAY: one.without_array})
    if counts and not any(one.events for one in routes):
        what = f"no event has come since windowing started: {'; '.join(eventless_values(source, counts))}"
        yield warning(
            _CHECK, what, where, "is the name right? `saffron stream check FILE` tries it on the newest messages"
        )


def _is_alone(look: Look, definition: StreamDefinition) -> bool:
    """True if the stream has one source partition only, which holds no other one back."""
    facts = [look.foreign.get(one.topic) for one in definition.sources]
    return len(facts) == 1 and facts[0] is not None and len(facts[0].partitions) == 1

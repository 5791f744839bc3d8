"""Checks of a query before it is written: text, names, kinds, stream, and partitions."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from saffron.control.queries.left_readers import left_readers
from saffron.engine.explain.chosen import plan_text, schema_of
from saffron.engine.operators.aggregates import registered
from saffron.engine.operators.composition import bound_beside, standing_plans, types_of
from saffron.errors import QueryError, SaffronError
from saffron.language import Bound, bind, explain_svg, is_name
from saffron.language.cost.shedding import cannot_act
from saffron.language.plan.clauses import Output
from saffron.language.plan.formulas import attribute_shown
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import UNTIL_SEEN, Plan
from saffron.language.syntax.delivery import made, topics_of
from saffron.mapping.definition_reader import definition_of
from saffron.mapping.tables.query_lookups import require_tables
from saffron.records.same_events import keyed_name, same_events
from saffron.records.stream import StreamRecord
from saffron.runtime.results.published import cycle, readers, refusal, unlike
from saffron.runtime.streams.known_streams import KnownStreams
from saffron.runtime.streams.unknown_names import no_stream
from saffron.schema.computed import Computed
from saffron.schema.schema import Schema

MOST_CHARACTERS = 65_536
"""Longest query text accepted."""

Partitions = Callable[[str], int | None]
"""A function from a topic's full name to its number of partitions, None if it does not exist."""


class Refused(Exception):
    """A request that cannot be served: HTTP `status`, and the body with `kind` and message."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body: Mapping[str, Any] = {"error": {"kind": kind, "message": message, "text": message}}


_UNSEEN = "no event of the stream has had this yet"


@dataclass(frozen=True)
class Checked:
    """A query that passed the checks. `schema`: of the events that it reads, results of other queries among them."""

    name: str
    plan: Plan
    schema: Schema
    warnings: tuple[str, ...] = ()

    @property
    def lasting(self) -> tuple[str, ...]:
        """The warnings but that of names that no event has had yet, which the query's status reports."""
        return tuple(one for one in self.warnings if not one.startswith(_UNSEEN))

    def require_shedder(self, shedder: str) -> None:
        """Refused: this shedder can drop nothing of the query, so the latency bound could not be kept."""
        if why := cannot_act(self.plan, shedder, imprecise=bool(self.schema.times)):
            raise Refused(400, "shed", why)

    def explanation(self, shed: str) -> dict[str, Any]:
        """The API's description of the plan under a shedder. `svg`: its diagram; `warnings`: those of `explain`."""
        kind = "match" if isinstance(self.plan, MatchPlan) else "trend"
        return {
            "name": self.name,
            "kind": kind,
            "stream": self.plan.stream,
            "warnings": list(self.warnings),
            "explain": plan_text(self.plan, self.schema, shed),
            "svg": explain_svg(self.plan),
        }


def check(
    text: str,
    name: str | None,
    streams: KnownStreams,
    queries: Mapping[str, str] = MappingProxyType({}),
) -> Checked:
    """The query in `text`, compiled as the services will.

    `name`: for a text without a name. `queries`: name -> text of registered queries, whose results it may read (INTO),
    and of the one that it replaces.
    Raises QueryError if it is invalid, with the place marked; Refused if it is valid, but cannot be added.
    """
    found = _checked(text, name, streams, queries, lambda plan: _others(plan, queries))
    return replace(found, warnings=(*found.warnings, *left_readers(found.name, queries, found.plan)))


def _checked(
    text: str,
    name: str | None,
    streams: KnownStreams,
    queries: Mapping[str, str],
    beside: Callable[[Plan], Mapping[str, str]],
) -> Checked:
    """The query of `check`, without what becomes of others. `beside`: the queries that may make events for the plan."""
    if len(text) > MOST_CHARACTERS:
        raise Refused(413, "size", f"the query has {len(text)} characters; at most {MOST_CHARACTERS} are taken")
    plan = compiled(text, None, name or "")
    if not plan.name:
        raise Refused(400, "name", 'the query has no name: begin it with QUERY NAME, or give "name" in the request')
    if not is_name(plan.name):
        raise Refused(400, "name", f"{plan.name!r} is no name: letters, digits, _ . and -, beginning with a letter")
    record = streams.get(plan.stream)
    if record is None:
        makes = f"`saffron stream add {plan.stream}`, or `stream apply`, makes one"
        raise Refused(400, "stream", no_stream(plan.stream, streams.all(), makes))
    require_tables(text, None if record.definition is None else definition_of(record.definition))
    _require_publishable(plan, text, streams, queries)
    if (shared := unlike(plan, queries)) is not None:
        raise Refused(409, "topic", shared)
    try:
        schema = streams.schema(record)
        standing_beside = standing_plans(compiled, beside(plan), schema, plan.stream)
        found = bound_beside(_bound, text, schema, plan.name, standing_beside)
    except QueryError:
        raise
    except SaffronError as error:
        raise Refused(400, "plan", str(error)) from error
    return Checked(plan.name, found.plan, schema_of(found.plan, schema, standing_beside.values()), _warnings(found))


def as_it_stands(name: str, streams: KnownStreams, queries: Mapping[str, str]) -> Checked:
    """A registered query, as `check` has it; one that fits its stream no longer by its text alone, with a warning.

    `queries`: name -> text of all registered queries, of which only those are bound whose results it reads.
    QueryError: the text is not one that this version reads.
    """
    try:
        return _checked(queries[name], name, streams, queries, lambda plan: _makers(plan, _others(plan, queries)))
    except (QueryError, Refused) as error:
        why = error.message if isinstance(error, QueryError) else str(error)
    plan = compiled(queries[name], None, name)
    return Checked(name, plan, schema_of(plan, None), (f"it fits its stream no longer: {why}",))


def _others(plan: Plan, queries: Mapping[str, str]) -> dict[str, str]:
    """The texts of all queries but this one."""
    return {name: text for name, text in queries.items() if name != plan.name}


def _makers(plan: Plan, queries: Mapping[str, str]) -> dict[str, str]:
    """The texts of those queries whose results (INTO) a plan reads, directly or through others."""
    making: dict[str, list[str]] = {}
    for name, text in queries.items():
        if (one := made(text)) is not None:
            making.setdefault(one[1], []).append(name)
    found: set[str] = set()
    waiting = [plan]
    while waiting:
        names = {name for into in types_of(waiting.pop()) for name in making.get(into, ())} - found
        found |= names
        for name in names:
            with suppress(SaffronError):  # one that cannot be bound makes nothing
                waiting.append(compiled(queries[name], None, name))
    return {name: text for name, text in queries.items() if name in found}


def _warnings(found: Bound) -> tuple[str, ...]:
    """The warnings of a query, also about names that no event has had yet, and about results that are not written."""
    waits, warnings = found.plan.waits, list(found.warnings)
    if waits:
        warnings.append(f"{_UNSEEN}; {UNTIL_SEEN}: {', '.join(waits)}")
    if not found.plan.delivery.written:
        warnings.append(f"the results of {found.plan.name} are events of other queries only; PUBLISH writes them, too")
    return tuple(warnings)


def _require_publishable(plan: Plan, text: str, streams: KnownStreams, queries: Mapping[str, str]) -> None:
    """Refused: results in its topic would be events of the query's own stream, or unexpected events of another."""
    topic, records = plan.delivery.topic, streams.all()
    if topic is None:
        return
    if why := refusal(topic, streams.prefix):
        raise Refused(400, "topic", why)
    if way := cycle(plan.stream, records, {**queries, plan.name: text}):
        raise Refused(400, "topic", f"results would be events of stream {plan.stream!r} again: {way}")
    if (taken := readers(topic, records)) and topic not in topics_of(queries.values()):
        raise Refused(
            400,
            "topic",
            f"topic {topic!r} holds the events of stream {taken[0]!r}: results there would be events again. PUBLISH to "
            "another name",
        )


def compiled(text: str, schema: Schema | None, name: str) -> Plan:
    """The plan of a query as the services make it. QueryError: it is wrong, or has no place in the schema."""
    return _bound(text, schema, name).plan


def _bound(text: str, schema: Schema | None, name: str) -> Bound:
    return bind(
        text, schema, name=name, lenient=schema is None, aggregates=frozenset(registered()), unseen=schema is not None
    )


def check_partitions(plan: Plan, stream: StreamRecord, partitions: Partitions) -> None:
    """Refused: a result of the query may need events of several partitions, and would be silently wrong.

    The events of a match agree on its key. An aggregate covers all keys of a group, so only its GROUP BY counts.
    """
    count, key = partitions(stream.topic), stream.key
    if count is None:
        raise Refused(409, "topic", f"the topic {stream.topic} of stream {plan.stream!r} does not exist")
    grouping = plan.key if isinstance(plan, MatchPlan) else plan.group
    if count == 1 or (key is not None and key in grouping) or _is_of_one_event(plan):
        return
    does = "matches" if isinstance(plan, MatchPlan) else "counts"
    by = f"by {', '.join(map(attribute_shown, grouping))}" if grouping else "over all events"
    spread = f"is keyed by {key}" if key is not None else "has no key"
    raise Refused(
        400,
        "partitions",
        f"the query {does} {by}, but stream {plan.stream!r} has {count} partitions and {spread}: events of one result "
        f"could lie in several. {_fix(plan, stream, grouping)}",
    )


def _is_of_one_event(plan: Plan) -> bool:
    """True if each match is one event, and which are found depends on no other event."""
    if not isinstance(plan, MatchPlan) or plan.positive != 1 or plan.absences or plan.components[0].closure:
        return False
    window = plan.window
    apart = window.opens is None and (window.slide is None or not window.events)
    return apart and plan.output is Output.ALL and not plan.timeouts


def _fix(plan: Plan, stream: StreamRecord, grouping: Sequence[str]) -> str:
    """Advice that makes the query possible: a stream under its key or in one partition, or another query."""
    grouping = [name for name in grouping if Computed.of_name(name) is None]
    if stream.definition is not None:
        wanted = f"`key: {grouping[0]}`" if grouping else "no `key`"
        return f"Apply the stream's definition under another name with {wanted}, and ask that"
    key = grouping[0] if grouping else None
    name = f"{stream.source or stream.name}_in_one" if key is None else keyed_name(stream, key)
    fix = f"`{same_events(stream, name, key)}` makes a stream for it: ask FROM {name}"
    if stream.key is not None:
        return f"{fix}. Or add {stream.key} to its {'[...]' if isinstance(plan, MatchPlan) else 'GROUP BY'}"
    if key is not None:
        says = f"`saffron stream set {stream.source or stream.name} --key {shlex.quote(key)}`"
        return f"{fix}. Where producers key by {key} already, say so: {says}"
    return fix


def query_error_body(error: QueryError) -> dict[str, Any]:
    """The body of a query error: `text` with the place marked, and its parts (offsets from 0, line from 1)."""
    before = error.text[: error.start]
    return {
        "error": {
            "kind": "query",
            "message": error.message,
            "stage": error.stage,
            "start": error.start,
            "end": error.end,
            "line": before.count("\n") + 1,
            "column": error.start - (before.rfind("\n") + 1) + 1,
            "hint": error.hint,
            "text": str(error),
        }
    }

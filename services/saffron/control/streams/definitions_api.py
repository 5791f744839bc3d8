"""Definitions of merged streams over HTTP: topics and their messages, a definition inferred, checked, and tried.

Nothing here changes anything. Messages are read in threads, one look at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from saffron.control.checks import MOST_CHARACTERS, Refused
from saffron.control.guard import answer
from saffron.control.requests import count_of, definition_text, json_body, number_of, text_of
from saffron.control.streams.bodies import registries_of
from saffron.control.streams.change import StreamContext, require_foreign, require_new_name
from saffron.control.streams.readings import message_body, message_readings, read_source, reading_body
from saffron.control.streams.table_look import tables_now
from saffron.control.streams.topic_names import foreign_topics
from saffron.control.streams.trial_request import Trial
from saffron.control.streams.trials import SECONDS, Trials
from saffron.errors import InputError
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.definition_reader import MAX_SOURCES, read_definition
from saffron.mapping.message import Message
from saffron.mapping.proposals.definition_writer import write_definition
from saffron.mapping.proposals.infer import infer
from saffron.mapping.tables.table import Table
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.process.config import Settings
from saffron.runtime.process.registry_auth import held_to
from saffron.runtime.streams.messages import message_of
from saffron.runtime.streams.newest_messages import Newest, from_one_moment, in_order_of_time, newest_records
from saffron.runtime.streams.proposal_topics import require_registry, topic_of
from saffron.runtime.streams.source_messages import Batch, messages_of, translated, translations
from saffron.runtime.streams.unknown_names import no_topic
from saffron.runtime.streams.whole_tables import look_up_in, table_notices

MOST_MESSAGES = 10_000
"""Messages of a topic that one request looks at."""
_MOST_TOGETHER = 50_000
"""Messages of all topics that one request looks at."""
_MESSAGES = 1_000
_SHOWN = 20


class DefinitionsApi:
    """The request handlers. `present`: returns the state of the system's streams."""

    def __init__(self, log: Log, settings: Settings, present: Callable[[], StreamContext], trials: Trials) -> None:
        self._log = log
        self._settings = settings
        self._present = present
        self._trials = trials
        self._looking = asyncio.Lock()

    def routes(self) -> list[web.AbstractRouteDef]:
        """All routes of topics and definitions, but that which applies one."""
        return [
            web.get("/api/topics", self.topics),
            web.get("/api/topics/{topic}/messages", self.messages),
            web.post("/api/definitions/infer", self.infer),
            web.post("/api/definitions/check", self.check),
            web.post("/api/definitions/try", self.try_query),
            web.post("/api/definitions/why", self.why),
        ]

    async def topics(self, request: web.Request) -> web.Response:
        return answer({"topics": await asyncio.to_thread(self._topics)})

    async def messages(self, request: web.Request) -> web.Response:
        topic = request.match_info["topic"]
        count = count_of(request.query.get("count", str(_SHOWN)))
        partitions = await asyncio.to_thread(self._log.partitions, topic) or 1
        found = _messages(await self._newest([topic], count * partitions), topic)[-count:]
        return answer({"messages": [message_body(one) for one in reversed(found)]})

    async def infer(self, request: web.Request) -> web.Response:
        body = await json_body(request, {"topics", "name", "messages", "registry"})
        topics, name = _topics_of(body), text_of(body, "name")
        require_new_name(name)
        registry = _registry_of(body)
        newest = await self._newest(topics, number_of(body, "messages", _MESSAGES, most=MOST_MESSAGES))
        return answer(await asyncio.to_thread(self._proposed, name, topics, newest, registry))

    async def check(self, request: web.Request) -> web.Response:
        body = await json_body(request, {"definition", "messages"})
        definition = read_definition(definition_text(body))
        newest = await self._newest(_sources(definition), number_of(body, "messages", _MESSAGES, most=MOST_MESSAGES))
        tables = await self._tables(definition)
        return answer(await asyncio.to_thread(self._checked, definition, newest, tables))

    async def try_query(self, request: web.Request) -> web.Response:
        body = await json_body(request, {"definition", "query", "messages"})
        return answer(await self._tried(body, None))

    async def why(self, request: web.Request) -> web.Response:
        body = await json_body(request, {"definition", "query", "messages", "ask"})
        return answer(await self._tried(body, text_of(body, "ask")))

    # ------------------------------------------------------------ inside

    async def _tried(self, body: Mapping[str, Any], ask: str | None) -> Mapping[str, Any]:
        """The outcome of a trial on the newest messages. `ask`: a key to be explained instead."""
        text, query = definition_text(body), text_of(body, "query")
        if len(query) > MOST_CHARACTERS:
            raise Refused(413, "size", f"the query has {len(query)} characters; at most {MOST_CHARACTERS} are taken")
        definition = read_definition(text)
        count = number_of(body, "messages", MOST_MESSAGES, most=MOST_MESSAGES)
        newest, since = from_one_moment(await self._newest(_sources(definition), count))
        batches = await asyncio.to_thread(self._translated, definition, newest)
        partitions, max_future = _partitions(definition, newest), self._settings.max_future_ms
        trial = Trial(text, query, batches, partitions, SECONDS, ask, max_future, await self._tables(definition))
        messages = sum(len(records) for records, _ in batches.values())
        return {**await self._trials.run(trial), "messages": messages, "since": since}

    def _topics(self) -> list[Mapping[str, Any]]:
        names = foreign_topics(self._log.topics(), self._present())
        counted = ((name, self._log.partitions(name)) for name in names)
        return [{"topic": name, "partitions": count} for name, count in counted if count is not None]

    async def _newest(self, topics: Sequence[str], count: int) -> Newest:
        """The newest records, about `count` of each topic. Refused: a topic does not exist, or is Saffron's own."""
        async with self._looking:
            return await asyncio.to_thread(self._read, topics, min(count, _MOST_TOGETHER // len(topics)))

    async def _tables(self, definition: StreamDefinition) -> Mapping[str, Table]:
        """The tables of a definition, whole. Refused: one is missing, Saffron's own, or too large."""
        async with self._looking:
            return await asyncio.to_thread(self._read_tables, definition)

    def _read_tables(self, definition: StreamDefinition) -> Mapping[str, Table]:
        self._require_foreign([one.topic for one in definition.tables if one.topic is not None])
        return tables_now(definition, self._log, self._settings)

    def _read(self, topics: Sequence[str], count: int) -> Newest:
        self._require_foreign(topics)
        return newest_records(self._log, self._settings.group("control-look"), topics, count)

    def _require_foreign(self, topics: Sequence[str]) -> None:
        """Refused: a topic does not exist, or is Saffron's own."""
        now = self._present()
        for topic in topics:
            require_foreign(topic, now)
            if now.partitions(topic) is None:
                raise Refused(404, "topic", no_topic(topic, now.topics()))

    def _proposed(self, name: str, topics: Sequence[str], newest: Newest, registry: str | None) -> Mapping[str, Any]:
        formats = translations(self._registry_auth())
        sources = infer([topic_of(newest, topic, registry, formats) for topic in topics])
        return {
            "definition": write_definition(name, sources),
            "messages": {topic: len(in_order_of_time(newest, topic)) for topic in topics},
            "told": [f"{one.topic}: {line}" for one in sources for line in one.told],
        }

    def _checked(self, definition: StreamDefinition, newest: Newest, tables: Mapping[str, Table]) -> Mapping[str, Any]:
        """The outcome of reading the messages of each source: counts, and the newest messages one by one."""
        batches = self._translated(definition, newest)
        strict, ahead = definition.dead_letters, self._settings.max_future_ms
        look_up = look_up_in(definition, tables)
        sources = []
        for source in definition.sources:
            messages = messages_of(batches, source.topic)
            shown = message_readings(
                reversed(messages[-_SHOWN:]), source, strict=strict, max_future=ahead, look_up=look_up
            )
            found = read_source(definition, source, messages, ahead, look_up)
            sources.append({**reading_body(found), "newest": shown})
        return {"name": definition.name, "sources": sources, "told": list(table_notices(tables, {}))}

    def _translated(self, definition: StreamDefinition, newest: Newest) -> dict[TopicPartition, Batch]:
        return translated(newest, definition.sources, translations(self._registry_auth()))

    def _registry_auth(self) -> str:
        """The credentials for registries, held to those that are in use: others are only what a request names."""
        used = [url for record in self._present().streams.values() for url in registries_of(record)]
        results = self._settings.results_registry
        return held_to(self._settings.registry_auth, [*used, *([results] if results else [])])


def _messages(newest: Newest, topic: str) -> list[Message]:
    return [message_of(record, record.value) for record in in_order_of_time(newest, topic)]


def _sources(definition: StreamDefinition) -> list[str]:
    return [one.topic for one in definition.sources]


def _partitions(definition: StreamDefinition, newest: Newest) -> int:
    """The number of partitions that the stream has, or would have."""
    if definition.key is None:
        return 1
    topics = [place.topic for place in newest]
    return definition.partitions or max(map(topics.count, topics))


def _registry_of(body: Mapping[str, Any]) -> str | None:
    """The field "registry": the URL of a schema registry; None: there is none."""
    if "registry" not in body:
        return None
    registry = text_of(body, "registry")
    try:
        require_registry(registry)
    except InputError as error:
        raise Refused(400, "registry", str(error)) from error
    return registry


def _topics_of(body: Mapping[str, Any]) -> list[str]:
    """The field "topics": texts, each once."""
    topics = body.get("topics")
    if not isinstance(topics, list) or not topics or not all(isinstance(one, str) and one for one in topics):
        raise Refused(400, "body", '"topics" must be a list of names of topics')
    if len(topics) > MAX_SOURCES:
        raise Refused(400, "body", f"a stream has at most {MAX_SOURCES} sources")
    return list(dict.fromkeys(topics))

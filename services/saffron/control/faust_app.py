"""The Faust app that feeds the tables.

It uses plain agents that read the topics from the beginning, not Faust's tables. A GlobalTable follows a topic that
others write only on standby partitions, never on an instance that owns them all. A Table needs a changelog topic beside
the compacted topic that already is one. So every instance reads all topics under its own group, acknowledges nothing
(`noack`), and leaves no offsets.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import faust
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError
from faust.exceptions import ProducerSendError

from saffron.control.kafka_credentials import credentials
from saffron.control.tables import Tables
from saffron.errors import DeniedError, LogError
from saffron.runtime.log.security.security import Security

_TAIL = 2000
"""Messages read back at the start from a topic without compaction. Older ones are of no use here."""
_POLL_SECONDS = 0.05
_STOP_SECONDS = 3.0


class Feed:
    """Reader of the topics into `tables`, and writer for the API. Created and used on one event loop."""

    def __init__(
        self, tables: Tables, *, bootstrap: str, security: Security, group: str, data: Path, tailed: tuple[str, ...]
    ) -> None:
        """Begin a feed. `tailed`: topics without compaction, of which only the end is read."""
        self.tables = tables
        self._tailed = tailed
        self.app = faust.App(
            f"{group}.{uuid.uuid4().hex[:12]}",
            broker=[f"aiokafka://{server}" for server in bootstrap.split(",")],
            broker_credentials=credentials(security),
            store="memory://",
            datadir=str(data),
            web_enabled=False,
            topic_allow_declare=False,
            topic_disable_leader=True,
            topic_partitions=1,
            stream_wait_empty=False,
            consumer_auto_offset_reset="earliest",
            key_serializer="raw",
            value_serializer="raw",
        )
        self._topics = {name: self._agent(name) for name in tables.topics}

    async def start(self) -> None:
        """Joins the group; returns once the tables hold the messages that were in the topics at the call.

        Of a topic without compaction (`tailed`) these are the last `_TAIL` at least.
        """
        await self.app.start()
        partitions = [faust.types.TP(name, 0) for name in self._topics]
        while not set(partitions) <= set(self.app.consumer.assignment()):
            await asyncio.sleep(_POLL_SECONDS)
        ends = await self.app.consumer.highwaters(*partitions)
        for partition in partitions:
            if partition.topic in self._tailed:
                await self._skip_to_tail(partition, ends[partition])
        await self._caught_up(ends)

    async def send(self, topic: str, key: bytes, value: bytes | None) -> None:
        """Writes one message and waits for the broker. DeniedError, LogError."""
        producer = await self.app.maybe_start_producer()
        try:
            await producer.send_and_wait(topic, key, value, None, None, None)
        except TopicAuthorizationFailedError as error:
            raise DeniedError(f"sending to {topic}: it may not be written to (TOPIC_AUTHORIZATION_FAILED)") from error
        except (KafkaError, ProducerSendError) as error:
            raise LogError(f"sending to {topic}: {error}") from error

    async def stop(self) -> None:
        """Leaves the group and closes the clients, within a time limit.

        Without a broker Faust's consumer thread fails on its own leave request, and Faust's `stop` waits for it for
        ever. There is nothing to leave then.
        """
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.app.stop(), _STOP_SECONDS)

    @property
    def crashed(self) -> bool:
        """True if Faust has crashed. Only a new process helps."""
        return bool(self.app.crashed)

    def _agent(self, name: str) -> Any:
        """The topic, with an agent that applies its messages to the tables."""
        topic = self.app.topic(name, key_serializer="raw", value_serializer="raw")

        async def feed(stream: Any) -> None:
            async for event in stream.noack().events():
                message = event.message
                self.tables.apply(name, event.key, event.value, round(message.timestamp * 1000), message.offset)

        self.app.agent(topic, name=f"feed-{name}")(feed)
        return topic

    async def _skip_to_tail(self, partition: Any, end: int) -> None:
        """Move to the last messages of a partition."""
        first = (await self.app.consumer.earliest_offsets(partition))[partition]
        if end - first > _TAIL:
            await self.app.consumer.seek(partition, end - _TAIL)

    async def _caught_up(self, ends: Mapping[Any, int]) -> None:
        """Waits until all messages before `ends` are fetched, and the agents have applied them.

        Positions count fetched messages and transaction markers. The agents' queues are in memory.
        """
        before = -1
        while before != self.tables.applied or not await self._reached(ends):
            before = self.tables.applied
            await asyncio.sleep(_POLL_SECONDS)

    async def _reached(self, ends: Mapping[Any, int]) -> bool:
        """True if all positions have reached `ends`."""
        positions = [(await self.app.consumer.position(partition) or 0, end) for partition, end in ends.items()]
        return all(position >= end for position, end in positions)

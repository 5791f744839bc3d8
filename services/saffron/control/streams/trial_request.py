"""The request to the process of a trial. Only that process loads the engine, not `control`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from saffron.mapping.tables.table import Table
from saffron.runtime.log import TopicPartition
from saffron.runtime.streams.source_messages import Batch


@dataclass(frozen=True)
class Trial:
    """A query and the messages to try it on. `definition`: of the stream. `messages`: of all source partitions.

    `partitions`: of the inner topic. `seconds`: of matching, after which the rest of the messages is left. `ask`: a key
    to be explained ("order_id=7", "*") instead of a search for results. `max_future`: how far an event may be ahead of
    its message (ms). `tables`: of the stream by name, whole.
    """

    definition: str
    query: str
    messages: Mapping[TopicPartition, Batch]
    partitions: int
    seconds: float
    ask: str | None = None
    max_future: int = 86_400_000
    tables: Mapping[str, Table] = field(default_factory=dict)

"""The API's answer to `why`. Imported at the first request, since its kernels take a second to load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.why.as_dict import to_dict
from saffron.engine.why.as_text import lines
from saffron.engine.why.block_traces import NEWEST_EVENTS
from saffron.records.stream import StreamRecord
from saffron.runtime.log import Log
from saffron.runtime.log.topics import Topics
from saffron.runtime.replay.recent import Question, why_now


def why(
    log: Log,
    topics: Topics,
    group: str,
    query: str,
    text: str,
    stream: StreamRecord,
    target: str,
    events: int | None,
    beside: Mapping[str, str],
) -> Mapping[str, Any]:
    """The explanation as JSON and as text, and the events searched.

    `events`: number of a key's events to explain, `NEWEST_EVENTS` if None. `Question` has the other parameters.
    InputError: not found, or not explainable.
    """
    question = Question(query, text, stream, target, NEWEST_EVENTS if events is None else events, beside)
    answered = why_now(log, topics, group, question)
    return {
        **to_dict(answered.trace),
        "text": "\n".join(lines(answered.trace)),
        "partition": answered.partition,
        "looked_at": {"events": answered.events, "since": answered.since},
    }

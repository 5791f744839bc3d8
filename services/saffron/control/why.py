"""The API's answer to `why`. Imported at the first request, since its kernels take a second to load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.why.as_dict import to_dict
from saffron.engine.why.telling import TOLD
from saffron.engine.why.words import lines
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

    `events`: number of a key's events to explain, `TOLD` if None. The other parameters are those of `Question`.
    InputError: not found, or not explainable.
    """
    question = Question(query, text, stream, target, TOLD if events is None else events, beside)
    answered = why_now(log, topics, group, question)
    return {
        **to_dict(answered.story),
        "text": "\n".join(lines(answered.story)),
        "partition": answered.partition,
        "looked_at": {"events": answered.events, "since": answered.since},
    }

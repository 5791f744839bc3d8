"""What the API answers to `why`. Imported when it is first asked: the story's arithmetic loads kernels (a second)."""

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
    asked: str,
    told: int | None,
    beside: Mapping[str, str],
) -> Mapping[str, Any]:
    """The story as JSON and as text, and what was looked at. `told`: events of a key, `TOLD` if it is None; the others
    as in `Question`. InputError: it is not there, or cannot be told."""
    question = Question(query, text, stream, asked, TOLD if told is None else told, beside)
    answered = why_now(log, topics, group, question)
    return {
        **to_dict(answered.story),
        "text": "\n".join(lines(answered.story)),
        "partition": answered.partition,
        "looked_at": {"events": answered.events, "since": answered.since},
    }

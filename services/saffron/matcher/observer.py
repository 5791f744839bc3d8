"""What the matcher tells the model builder: transitions of partial matches, features of events, what work cost."""

from __future__ import annotations

from collections.abc import Sequence

from saffron.engine.events.block import Block
from saffron.engine.models.latency import LatencySamples
from saffron.engine.models.observations import feature_messages, latency_message, transition_messages
from saffron.engine.operator import ResultOperator
from saffron.runtime.chain_plan import Message
from saffron.runtime.topics import Topics

_TRANSITIONS = "observations.transitions"
_LATENCY = "observations.latency"
_FEATURES = "observations.features"


class MatcherObserver:
    """An `Observer` of one chain."""

    def __init__(self, topics: Topics, stream: str, partition: int) -> None:
        self._topics = topics
        self._stream = stream
        self._partition = partition
        self._samples = LatencySamples()
        self._shedding_ns = 0

    def applied(self, block: Block, operator: ResultOperator, nanoseconds: int) -> None:
        numbers = operator.statistics()
        shedding = numbers["shedding_ns"] - self._shedding_ns
        self._shedding_ns += shedding
        if len(block.columns):
            live = sum(numbers["partial_matches"].values())
            self._samples.processed(live, len(block.columns), max(0, nanoseconds - shedding))

    def messages(self, operator: ResultOperator) -> Sequence[Message]:
        observations = operator.observations()
        for row in observations.get(_LATENCY, ()):
            self._samples.shed(row["partial_matches"], row["nanoseconds"])
        messages: list[Message] = [
            (topic, key, value)
            for topic, name, pack in (
                (self._topics.observations_transitions, _TRANSITIONS, transition_messages),
                (self._topics.observations_features, _FEATURES, feature_messages),
            )
            for key, value in pack(observations.get(name, ()), stream=self._stream, partition=self._partition)
        ]
        samples = self._samples.drain()
        if any(samples.values()):
            key, value = latency_message(samples, stream=self._stream, partition=self._partition)
            messages.append((self._topics.observations_latency, key, value))
        return messages

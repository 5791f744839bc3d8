"""The matcher's observations for the model builder: transitions of partial matches, features of events, latencies."""

from __future__ import annotations

from collections.abc import Sequence

from saffron.engine.events.block import Block
from saffron.engine.models.transitions.latency import LatencySamples
from saffron.engine.models.transitions.observations import feature_messages, latency_message, transition_messages
from saffron.engine.operators.operator import ResultOperator
from saffron.runtime.log.topics import Topics
from saffron.runtime.results.chain_plan import Message

_TRANSITIONS = "observations.transitions"
_LATENCY = "observations.latency"
_FEATURES = "observations.features"
ONE_IN = 4
"""One block in ONE_IN is a sample of f: sampling takes a hundredth of a small block's time."""


class MatcherObserver:
    """An `Observer` of one chain."""

    def __init__(self, topics: Topics, stream: str, partition: int) -> None:
        self._topics = topics
        self._stream = stream
        self._partition = partition
        self._samples = LatencySamples()
        self._shedding_ns = 0
        self._blocks = 0

    def applied(self, block: Block, operator: ResultOperator, nanoseconds: int) -> None:
        """Sample the processing time of a block."""
        self._blocks += 1
        if self._blocks % ONE_IN != 1 and not any(control.kind == "keep" for control in block.controls):
            return  # blocks with drop orders are always sampled, as the time of orders is no part of f
        live, spent = operator.cost()
        shedding, self._shedding_ns = spent - self._shedding_ns, spent
        if len(block.columns):
            self._samples.processed(live, len(block.columns), max(0, nanoseconds - shedding))

    def messages(self, operator: ResultOperator) -> Sequence[Message]:
        """The observations since the last call, as messages of their topics."""
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

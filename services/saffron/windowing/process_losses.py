"""What a process did not keep of the values of its partitions, for digests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from saffron.engine.windows.operator import WindowingOperator
from saffron.runtime.log import TopicPartition

_COUNTED = ("left_out", "in_seconds", "late_by_silence")
_NAMED = 20
"""Most attributes named in a digest."""


@dataclass
class _Counts:
    """The counts of one partition. `before`: of operators that it has had; `now`: of `operator`."""

    operator: ref[WindowingOperator]
    before: Counter[tuple[str, str]] = field(default_factory=Counter)
    now: Counter[tuple[str, str]] = field(default_factory=Counter)


class ProcessLosses:
    """Sums over all operators of a partition: each new share of partitions, as after a new stream, makes new ones."""

    def __init__(self) -> None:
        self._streams: dict[str, dict[TopicPartition, _Counts]] = {}

    def forget(self, stream: str) -> None:
        """The stream was removed, or made anew."""
        self._streams.pop(stream, None)

    def of(self, where: TopicPartition, operator: WindowingOperator, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a digest: values lost (by attribute, most frequent first), odd times, events late by silence.

        `numbers`: the operator's own.
        """
        counts = self._streams.setdefault(operator.stream, {}).setdefault(where, _Counts(ref(operator)))
        if counts.operator() is not operator:
            counts.before += counts.now
            counts.operator = ref(operator)
        counts.now = Counter({("mistyped", name): count for name, count in numbers["mistyped_attributes"].items()})
        counts.now.update({(name, ""): numbers[name] for name in _COUNTED})
        total = counts.before + counts.now
        mistyped = Counter({name: count for (what, name), count in total.items() if what == "mistyped"})
        rest = {name: total[name, ""] or None for name in _COUNTED}
        return {"mistyped": dict(mistyped.most_common(_NAMED)) or None, **rest}

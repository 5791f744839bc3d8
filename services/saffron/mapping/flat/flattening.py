"""Batches of messages to batches of flat events: the kernel for the common form, the exact path for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.mapping.definition import SourceDefinition, TypeRule
from saffron.mapping.envelopes import Eventless
from saffron.mapping.flat.flatten_kernel import flatten
from saffron.mapping.flat.flatten_plan import Output, is_served, output_of, plan_of, scratch_of
from saffron.mapping.mapper import Mapped, Refused, outcomes_of
from saffron.mapping.message import Message, Number, written

_NO_TIME = -1
_SPARE_BYTES = 1024
"""Room in the output beside the size of the messages, at first: types, times and longer names."""


@dataclass(frozen=True)
class Flattened:
    """m flat events in order. Event i is buffer[starts[i]:ends[i]], JSON; it is element `numbers[i]` of message
    `rows[i]`. `refused`: elements that are no events, by message. `misfits`: by attribute the values that became null.
    `eventless`: how many values of messages were no event without being wrong, by the reason.
    """

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    refused: Sequence[tuple[int, Refused]]
    misfits: Mapping[str, int]
    eventless: Mapping[Eventless, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def value(self, event: int) -> bytes:
        """The JSON text of one event."""
        return self.buffer[self.starts[event] : self.ends[event]].tobytes()


def prepare_flattener() -> None:
    """Compile the kernel, or load it: the first message of a merged stream would wait for it."""
    Flattener(SourceDefinition("", 0, TypeRule(constant="A"))).flatten(
        batch_of_values([b"{}"], times=np.zeros(1, np.int64))
    )


class Flattener:
    """Reads the messages of one source. `strict`: an event with a misfit is refused."""

    def __init__(self, source: SourceDefinition, *, strict: bool = False) -> None:
        self.source = source
        self._strict = strict
        self._plan = plan_of(source) if is_served(source) else None
        self._scratch = None if self._plan is None else scratch_of(self._plan)

    def flatten(self, batch: RawBatch, messages: Sequence[Message] | None = None) -> Flattened:
        """The events of a batch. `messages`: the same with keys and headers, where the definition asks for these."""
        output = self._by_kernel(batch)
        exact = range(len(batch)) if output is None else np.flatnonzero(output.exact).tolist()
        if output is not None and not exact:
            rows = np.arange(len(batch), dtype=np.int64)
            used = output.text[: output.size[0]]
            return Flattened(used, output.starts, output.ends, rows, np.zeros_like(rows), (), {})
        return self._joined(batch, messages, output, exact)

    def _by_kernel(self, batch: RawBatch) -> Output | None:
        """The kernel's output, with the messages marked that it leaves to the exact path.

        None: the kernel does not serve the source. The output is made larger until all events fit.
        """
        if self._plan is None:
            return None
        count = len(batch)
        times = np.full(count, _NO_TIME, np.int64) if batch.times is None else batch.times
        buffer = batch.buffer.view()
        buffer.flags.writeable = False
        size = int((batch.ends - batch.starts).sum())
        output = output_of(count, size + size // 4 + _SPARE_BYTES + 64 * count)
        starts, ends, times = map(np.ascontiguousarray, (batch.starts, batch.ends, times))
        first = 0
        while True:
            first = flatten(buffer, starts, ends, times, first, self._plan, self._scratch, output)
            if first == count:
                return output
            larger = np.zeros(2 * len(output.text), np.uint8)
            larger[: len(output.text)] = output.text
            output = output._replace(text=larger)

    def _joined(
        self, batch: RawBatch, messages: Sequence[Message] | None, output: Output | None, exact: Sequence[int]
    ) -> Flattened:
        """The kernel's events with those of the exact path in their places."""
        texts: list[bytes] = []
        places: list[tuple[int, int]] = []
        refused: list[tuple[int, Refused]] = []
        misfits: Counter[str] = Counter()
        eventless: Counter[Eventless] = Counter()
        for row in exact:
            why = batch.refused.get(int(batch.offsets[row]))
            if why is not None and not batch.is_absent(row):
                refused.append((row, Refused(0, *why)))
                continue
            message = _message(batch, row) if messages is None else messages[row]
            for one in outcomes_of(message, self.source, strict=self._strict):
                if isinstance(one, Eventless):
                    eventless[one] += 1
                    continue
                if isinstance(one, Refused):
                    refused.append((row, one))
                    continue
                misfits.update(one.misfits)
                texts.append(flat_json(one))
                places.append((row, one.number))
        own = np.zeros(0, np.uint8) if output is None else output.text[: output.size[0]]
        good = np.zeros(0, np.int64) if output is None else np.flatnonzero(output.exact == 0)
        ends = len(own) + np.cumsum([0, *map(len, texts)], dtype=np.int64)
        rows = np.concatenate([good, np.array([row for row, _ in places], np.int64)])
        numbers = np.concatenate([np.zeros_like(good), np.array([number for _, number in places], np.int64)])
        starts = np.concatenate([good if output is None else output.starts[good], ends[:-1]])
        stops = np.concatenate([good if output is None else output.ends[good], ends[1:]])
        order = np.lexsort((numbers, rows))
        buffer = np.concatenate([own, np.frombuffer(b"".join(texts), np.uint8)])
        return Flattened(buffer, starts[order], stops[order], rows[order], numbers[order], refused, misfits, eventless)


def flat_json(event: Mapped) -> bytes:
    """The text of a flat event, numbers as they were written."""
    return written({**event.values, "type": event.type, "ts": Number(event.ts)})


def _message(batch: RawBatch, row: int) -> Message:
    time = None if batch.times is None or batch.times[row] < 0 else int(batch.times[row])
    return Message(None if batch.is_absent(row) else batch.value(row), time=time, offset=int(batch.offsets[row]))

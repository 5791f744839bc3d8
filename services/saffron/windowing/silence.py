"""Silence: where nothing comes to any partition of a stream, its event time goes on with the time that passes.

Once a second each member asks the brokers for the ends of its partitions of streams with a `silence`. It reports on
`health` the time for which each has been read to its end with nothing new. The time in which all were silent is the
same for all members, but for a second. Each partition's event time rises by it, in steps, once it has lasted for the
stream's `silence`. The steps are written into the partition's blocks. So a lost or late report only delays a step.

The inputs of a stream that is made from other topics are the partitions of these, as routing reads and commits them. A
partition of the stream itself is looked at by its owner alone: it must have been read to its end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from saffron.errors import LogError
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.process.background import Background
from saffron.runtime.telemetry.digest import Every
from saffron.windowing.hop import WindowingHop
from saffron.windowing.routing.route_chain import RouteChain
from saffron.windowing.routing.router import Router
from saffron.windowing.silent_inputs import Input, SilentInputs

_LOG = logging.getLogger(__name__)
_LOOK_MS = 1_000
_STEP_MS, _STEP_SHARE = 500, 100
"""Least rise of event time: so that two looks make one step at most, and a hundredth of the silence so far.

A day of silence is some 800 blocks so, and not 86,400.
"""
_LIKE_BEFORE = -1
"""A placeholder for an end that does not matter: reports of silent sources come to a routed stream, too."""

Report = Mapping[str, Mapping[str, int]]
"""stem -> "TOPIC/PARTITION" -> the silence in ms. On `health` it is the field "quiet"."""


@dataclass(frozen=True)
class SilentStream:
    """A stream with a `silence` of `bound` ms. `topic`: its own. `routed`: it is made from other topics."""

    name: str
    stem: str
    topic: str
    bound: int
    routed: bool


@dataclass(frozen=True)
class _Own:
    """An input partition that this member reads. `has_read`: whether to this end."""

    place: Input
    reader: object
    has_read: Callable[[int], bool]
    is_routed_to: bool = False


class Silence:
    """The silence of all streams of one member. `at`: ms on a clock that nobody sets."""

    def __init__(self, log: Log, shell: InnerHop, router: Router, background: Background | None) -> None:
        """`background`: asks the brokers; an own thread if None."""
        self._log = log
        self._shell = shell
        self._router = router
        self._background = background
        self._threads = ExitStack()
        self._inputs = SilentInputs()
        self._passed: dict[TopicPartition, int] = {}
        self._due = Every(_LOOK_MS)
        self._asked: tuple[int, Future[Mapping[TopicPartition, int]]] | None = None

    def step(self, at: int, streams: Sequence[SilentStream]) -> Report | None:
        """Looks at the inputs when that is due, and raises event times. Returns what to report, after a look."""
        report = None
        if self._asked is not None and self._asked[1].done():
            (asked_at, answer), self._asked = self._asked, None
            report = self._look(answer, asked_at, streams)
            for stream in streams:
                self._pass(stream)
        if self._asked is None and self._due.due(at):
            own = [one.place[1] for stream in streams for one in self._own(stream)]
            self._asked = at, self._ask(lambda: self._log.ends(own))
        return report

    def hear(self, body: Mapping[str, Any], at: int) -> None:
        """Reads a digest of windowing."""
        for stem, quiet in body.get("quiet", {}).items():
            for name, ms in quiet.items():
                topic, _, partition = name.rpartition("/")
                self._inputs.hear((stem, TopicPartition(topic, int(partition))), int(ms), at)

    def close(self) -> None:
        self._threads.close()

    # ------------------------------------------------------------ inside

    def _ask(self, work: Callable[[], Mapping[TopicPartition, int]]) -> Future[Mapping[TopicPartition, int]]:
        if self._background is None:
            self._background = self._threads.enter_context(ThreadPoolExecutor(1, "ends")).submit
        return self._background(work)

    def _own(self, stream: SilentStream) -> Iterator[_Own]:
        """The inputs that this member reads: of the stream's own topic, and of the topics that it is made from."""
        for where, hop in self._hops(stream.topic):
            yield _Own((stream.stem, where), hop, self._reads(hop, where), is_routed_to=stream.routed)
        if stream.routed:
            for where, chain in self._router.chains(stream.name).items():
                yield _Own((stream.stem, where), chain, self._routes(stream.name, chain, where))

    def _look(
        self, answer: Future[Mapping[TopicPartition, int]], at: int, streams: Sequence[SilentStream]
    ) -> Report | None:
        """Note the ends that were asked for at `at`."""
        try:
            ends = answer.result()
        except LogError as error:
            _LOG.debug("the ends of silent partitions were not looked at: %s", error)
            return None
        own = [one for stream in streams for one in self._own(stream)]
        self._inputs.keep(one.place for one in own)
        report: dict[str, dict[str, int]] = {}
        for one in own:
            stem, where = one.place
            if where in ends and one.has_read(ends[where]):
                end = _LIKE_BEFORE if one.is_routed_to else ends[where]
                ms = self._inputs.look(one.place, end, one.reader, at)
                if not one.is_routed_to:
                    report.setdefault(stem, {})[f"{where.topic}/{where.partition}"] = ms
        return report or None

    def _pass(self, stream: SilentStream) -> None:
        """Raises the event time of the own partitions of a stream that is silent."""
        if stream.routed:
            sources = self._router.sources(stream.name)
        else:
            sources = [TopicPartition(stream.topic, one) for one in range(self._shell.partitions(stream.topic))]
        for where, hop in self._hops(stream.topic) if sources else ():
            silent = self._inputs.all_silent((stream.stem, one) for one in {*sources, where})
            if silent is None or silent[1] - silent[0] < stream.bound:
                continue
            since, until = silent
            ms = until - max(since, self._passed.get(where, since))
            if ms >= max(min(stream.bound, _STEP_MS), (until - since) // _STEP_SHARE):
                self._passed[where] = until
                hop.pass_silence(ms)

    def _hops(self, topic: str) -> Iterator[tuple[TopicPartition, WindowingHop]]:
        for where, chain in self._shell.chains.items():
            if where.topic == topic and isinstance(chain.hop, WindowingHop):
                yield where, chain.hop

    def _routes(self, stream: str, chain: RouteChain, where: TopicPartition) -> Callable[[int], bool]:
        return lambda end: chain.is_at_rest and self._router.has_read(stream, where, end)

    def _reads(self, hop: WindowingHop, where: TopicPartition) -> Callable[[int], bool]:
        return lambda end: not hop.holding and self._shell.has_read(where, end)

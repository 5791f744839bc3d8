"""`saffron.open`: queries that are fed events by hand, and give their results at once."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from saffron.api.one_thread import OneThread
from saffron.api.query import QueryLike, SchemaLike, compile_all
from saffron.api.result import Result, result_of
from saffron.api.source import message_batches, source_of
from saffron.api.times import duration, moment
from saffron.counted import counted
from saffron.engine.operators.result_values import read_result
from saffron.errors import InputError
from saffron.runtime.process.own_process import OwnProcess

if TYPE_CHECKING:
    from saffron.engine.events.raw import RawBatch
    from saffron.engine.windows.dead_letters import DeadLetter
    from saffron.runtime.replay.both import Merged
    from saffron.runtime.replay.fed_messages import FedMessages
    from saffron.runtime.replay.live import LiveReplay
    from saffron.schema.schema import Schema

T = TypeVar("T")
LETTERS_KEPT = 100


class Live:
    """Standing queries in this process. Each event that is fed gives its results at once.

    It is a context manager, also with `async with`. Use it in one thread at a time; the coroutines (`afeed`,
    `aadvance`, `aflush`) run one after another, in a thread of their own, and the event loop goes on meanwhile.
    """

    def __init__(
        self,
        live: LiveReplay,
        schema: Schema | None,
        names: Sequence[str],
        on_dead_letter: Callable[[DeadLetter], None] | None,
        messages: FedMessages | None = None,
    ) -> None:
        self._live: LiveReplay | None = live
        self._messages = messages
        self._schema = schema
        self._names = tuple(names)
        self._on_dead_letter = on_dead_letter
        self._letters: deque[DeadLetter] = deque(maxlen=LETTERS_KEPT)
        self._lost = 0
        self._untold: list[Callable[[], None]] = []
        self._found: Counter[str] = Counter()
        self._failed = dict(live.failed)
        self._thread: ThreadPoolExecutor | None = None
        self._given_up: list[Future[list[Result]]] = []
        self._own = OwnProcess("the thread of these coroutines")
        self._alone = OneThread()

    # ------------------------------------------------------------ events in, results out

    def feed(self, events: Any, topic: str | None = None) -> list[Result]:
        """Take one event or many, and return what they complete, in the order of detection.

        `events`: a dict with "type", "ts" and attributes; or many in any form that `saffron.replay` takes. How they are
        divided among calls changes no result. A bad or late event is a dead letter (`dead_letters`), with a warning at
        the first one.

        With a definition (`saffron.open(..., stream=...)`) they are messages of `topic`, as they stand there: a dict or
        its bytes; or many, as a list or the path of a file.
        """
        live = self._open()
        if self._messages is not None:
            batches: Iterator[RawBatch] = map(self._messages.reader(topic), message_batches(events))
        elif topic is not None:
            raise InputError("topics are of a definition: saffron.open(..., stream=FILE)")
        else:
            batches = source_of([events] if isinstance(events, Mapping) else events).batches(self._schema)
        return self._results(live, lambda: chain.from_iterable(map(live.feed, batches)))

    def advance(self, ts: float | datetime) -> list[Result]:
        """Let event time pass without an event: none with a smaller `ts` will come. Return what that completes.

        Windows that end before `ts` close, and a NOT at the end of a pattern is decided. An event with a smaller ts is
        late from here on.
        """
        live = self._open()
        at = moment(ts)
        return self._results(live, lambda: live.advance(at))

    def flush(self) -> list[Result]:
        """End the stream: return what its end completes. No event can be fed after it."""
        live = self._open()
        return self._results(live, live.finish, self.close)

    async def afeed(self, events: Any, topic: str | None = None) -> list[Result]:
        """`feed`, while the event loop goes on: `for match in await live.afeed(event)`.

        Whoever gives up waiting (`asyncio.wait_for`) loses no result: the events count, and what they complete comes
        with the results of the next coroutine. An error that it had is a warning there.
        """
        return await self._given(partial(self.feed, events, topic))

    async def aadvance(self, ts: float | datetime) -> list[Result]:
        """`advance`, while the event loop goes on."""
        return await self._given(partial(self.advance, ts))

    async def aflush(self) -> list[Result]:
        """`flush`, while the event loop goes on. After one that was given up it gives the results of that."""
        return await self._given(lambda: [] if self._live is None and self._given_up else self.flush())

    # ------------------------------------------------------------ state

    def snapshot(self) -> bytes:
        """All state, for `saffron.open(..., snapshot=...)`: it goes on as if there had been no cut."""
        from saffron.runtime.results.snapshots import Snapshot, encode

        with self._alone:
            state = self._open().snapshot()
        about = {**state.about, "topics": {} if self._messages is None else self._messages.record()}
        return encode(Snapshot(int(about["next"]), about, state.arrays))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the queries."""
        return self._names

    @property
    def counts(self) -> dict[str, int]:
        """Name of a query -> number of results since it was opened."""
        return {name: self._found[name] for name in self._names}

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """The newest hundred bad and late events: reason, detail, offset (among the events fed), value."""
        return list(self._letters)

    @property
    def failed(self) -> dict[str, str]:
        """Name -> reason, of queries that have failed. The others go on; once none is left, `feed` raises an error."""
        return dict(self._failed)

    def close(self) -> None:
        """Release everything. What only the end of the stream would complete is not reported: see `flush`."""
        live, self._live = self._live, None
        if live is None:
            return
        if self._thread is not None:
            self._thread.shutdown(wait=False)
        if self._lost > 1:
            self._warn(f"{counted(self._lost, 'event was', 'events were')} bad or late in all", 3)
        for report in self._reports(live):
            self._warn(report, 3)
        for name, report in live.unseen().items():
            self._warn(f"query {name}: {report}", 3)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.wrap_future(self._aside(self.close))

    def __repr__(self) -> str:
        state = "closed" if self._live is None else counted(sum(self._found.values()), "result")
        return f"<saffron.Live of {', '.join(self._names)}: {state}>"

    # ------------------------------------------------------------ inside

    def _open(self) -> LiveReplay:
        if self._live is None:
            raise InputError("this was closed (or flushed): saffron.open begins anew")
        return self._live

    def _results(
        self, live: LiveReplay, merged: Callable[[], Iterator[Merged]], last: Callable[[], None] = lambda: None
    ) -> list[Result]:
        """Run `merged`, count its results by query, and return them, with the chunks of a result put together.

        Dead letters and failures are told at the end, and then `last` is called. An exception, also of a callback or of
        a warning that is an error, has the results before it as its `results`. InputError: another thread is in a call.
        """
        lines: list[bytes] = []
        try:
            with self._alone:
                for one in merged():
                    if len(one):
                        self._found.update(one.counts())
                        lines += chain.from_iterable(one.json())
            self._notify(live)
            last()
        except Exception as error:
            error.results = _read(lines)  # type: ignore[attr-defined]
            raise
        return _read(lines)

    def _notify(self, live: LiveReplay) -> None:
        """Notify the user of new dead letters and failed queries. What an error left untold comes first."""
        self._collect(live)
        untold, self._untold = iter(self._untold), []
        try:
            for tell in untold:
                tell()
        finally:
            self._untold = [*untold, *self._untold]

    def _collect(self, live: LiveReplay) -> None:
        """Keep new dead letters and failures, and the notices of them that the user is to get."""
        of_messages = [] if self._messages is None else self._messages.dead_letters()
        for letter in (*of_messages, *live.dead_letters()):
            self._letters.append(letter)
            self._lost += 1
            if self._on_dead_letter is not None:
                self._untold.append(partial(self._on_dead_letter, letter))
            elif self._lost == 1:
                place = f"{letter.place or f'event {letter.offset}'}: {letter.reason}: {letter.detail}"
                message = f"an event was bad or late: {place} (Live.dead_letters has the newest)"
                self._untold.append(partial(self._warn, message, 5))
        for name, reason in live.failures().items():
            self._failed[name] = reason
            self._untold.append(partial(self._warn, f"query {name} failed: {reason}", 5))

    def _reports(self, live: LiveReplay) -> Iterator[str]:
        """Sentences on values that were not kept and on look-ups, reported at the end."""
        if self._messages is None:
            yield from live.reports("a schema")
        else:
            yield from self._messages.reports()
            yield from live.reports("`as` in the definition")

    @staticmethod
    def _warn(message: str, level: int) -> None:
        warnings.warn(message, stacklevel=level)

    async def _given(self, work: Callable[[], list[Result]]) -> list[Result]:
        """Results of work in the thread of this object, behind those that nobody has waited for."""
        job = self._aside(work)
        waiting = map(asyncio.wrap_future, [*self._given_up, job])
        try:
            await asyncio.shield(asyncio.gather(*waiting, return_exceptions=True))  # raised below, with all results
        except asyncio.CancelledError:
            self._given_up.append(job)
            raise
        ready = [one for one in self._given_up if one.done()]
        self._given_up = [one for one in self._given_up if one not in ready]
        return self._together(ready, job)

    def _together(self, given_up: Sequence[Future[list[Result]]], own: Future[list[Result]]) -> list[Result]:
        """The results of work that is done: of a caller's own, and before them those of work that was given up.

        The caller's own error is raised, and there are warnings of the others. If another's error were raised, whoever
        repeats the call would feed its events twice. An exception has all results as its `results`.
        """
        errors = [error for one in given_up if (error := one.exception()) is not None]
        found = list(chain.from_iterable(map(_results_of, (*given_up, own))))
        try:
            for error in errors:
                self._warn(f"a call that was given up failed: {type(error).__name__}: {error}", 5)
            own.result()
        except Exception as error:
            error.results = found  # type: ignore[attr-defined]
            raise
        return found

    def _aside(self, work: Callable[[], T]) -> Future[T]:
        """Work in the thread of this object, behind all earlier work. Once this is closed it is done here, at once."""
        if self._live is not None:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "saffron-live")
                self._own = OwnProcess("the thread of these coroutines")
            self._own.require()
            with suppress(RuntimeError):  # closed just now, by earlier work
                return self._thread.submit(work)
        done: Future[T] = Future()
        try:
            done.set_result(work())
        except Exception as error:
            done.set_exception(error)
        return done


def _results_of(job: Future[list[Result]]) -> list[Result]:
    """The results of work that is done: where it failed, those before its error."""
    error = job.exception()
    return job.result() if error is None else getattr(error, "results", [])


def _read(lines: list[bytes]) -> list[Result]:
    """The results of lines of JSON, with the chunks of a result put together."""
    from saffron.engine.match.output.listing import whole

    return [result_of(data) for data in whole(map(read_result, lines))]


def open(  # noqa: A001  saffron.open, as gzip.open
    queries: QueryLike | Sequence[QueryLike],
    schema: SchemaLike | None = None,
    *,
    stream: str | os.PathLike[str] | None = None,
    lenient: bool = False,
    disorder: int | timedelta = 0,
    snapshot: bytes | None = None,
    compiled: bool = False,
    on_dead_letter: Callable[[DeadLetter], None] | None = None,
) -> Live:
    """Open queries that are fed events by hand: `with saffron.open(queries) as live: for match in live.feed(event)`.

    `queries`: one, or several with different names. `schema`: of the events; else that of the compiled queries; else it
    grows with the events, and names in a query that no event has had yet are null until one has.
    `stream`: the path of a definition that makes a stream of several topics; messages of its topics are fed then, in
    the order that counts, and the definition says kinds and disorder.
    `lenient`: names in a query that the schema lacks are warnings, not errors.
    `disorder`: the most that an event may be late, in ms or as a timedelta; events wait so long for earlier ones.
    `snapshot`: of the same queries, schema and disorder, to go on from.
    `compiled`: compile before the first event. Else kernels begin interpreted, and are compiled once that pays, in the
    midst of an event.
    `on_dead_letter`: called with each bad or late event, instead of a warning at the first.

    Raises QueryError for a query that is wrong or does not fit the schema; InputError for a snapshot that is damaged or
    of other queries.
    """
    from saffron.api.live_state import state_of
    from saffron.mapping.definition_file import definition_at
    from saffron.runtime.replay.fed_messages import FedMessages
    from saffron.runtime.replay.fused import Query as Text
    from saffron.runtime.replay.live import LiveReplay
    from saffron.runtime.replay.replay import Replay  # this loads Numba

    of = compile_all(queries, schema, lenient=lenient)
    given = of.queries
    told = [warning for query in given for warning in query.warnings]
    for warning in told:
        warnings.warn(warning, stacklevel=2)
    held = duration("disorder", disorder)
    if stream is not None and (schema is not None or held):
        raise InputError("a definition says kinds and disorder: leave schema and disorder out")
    messages = None if stream is None else FedMessages(definition_at(stream, [query.text for query in given]))
    if messages is not None:
        for query in given:
            messages.require(query.plan.stream)
    run = Replay(
        [Text(query.given_name, query.text) for query in given],
        schema=of.schema,
        lenient=of.lenient,
        disorder=held if messages is None else messages.disorder,
        grows=True,
        interpret=not compiled,
        warn=lambda warning: None if warning in told else warnings.warn(warning, stacklevel=6),
    )
    state = None if snapshot is None else state_of(snapshot)
    live = LiveReplay(run, state)
    if messages is not None and state is not None:
        messages.restore(state.about.get("topics", {}))
    return Live(live, of.schema, [query.name for query in given], on_dead_letter, messages)

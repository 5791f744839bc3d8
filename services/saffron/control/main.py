"""The service `saffron run control`: wiring of the Faust app, the API and the page."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import web

from saffron.control.api import Api
from saffron.control.dead_letters_api import DeadLettersApi
from saffron.control.faust_app import Feed
from saffron.control.guard import guards
from saffron.control.log_limits import limit_repeats
from saffron.control.record_writer import RecordWriter
from saffron.control.streams.definitions_api import DefinitionsApi
from saffron.control.streams.stream_partitions import PartitionCounts
from saffron.control.streams.streams_api import StreamsApi
from saffron.control.streams.trials import Trials
from saffron.control.tables import Tables
from saffron.control.tail import Tail
from saffron.errors import LogError, SettingsError
from saffron.runtime.dead_letters.reading import DeadLetters
from saffron.runtime.log import Log
from saffron.runtime.log.control_watch import ControlWatch
from saffron.runtime.log.kafka.kafka_log import connect
from saffron.runtime.log.rights import require_joinable, require_readable
from saffron.runtime.log.security.security import security_of
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.clock_watch import wall_ms
from saffron.runtime.process.config import Settings
from saffron.runtime.process.listening import in_url, require_safe
from saffron.runtime.process.own_modules import import_modules
from saffron.runtime.telemetry.health import Health, HealthServer
from saffron.runtime.telemetry.metrics import Metrics

_LOG = logging.getLogger(__name__)
_BEAT_SECONDS = 1.0
_RETRY_SECONDS = 1.0
_PATIENCE_SECONDS = 4.0

Run = Callable[..., Awaitable[Any]]
"""A function that runs a call (function, arguments) on the service's own thread."""


def main(settings: Settings) -> int:
    """Serves until SIGTERM or SIGINT. Exit status: 0; 1 if Faust has crashed (the supervisor starts it again)."""
    require_safe(settings.host, settings.token)
    import_modules(settings.aggregates)
    limit_repeats("aiokafka", "faust", "mode")
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    """Serves until stopped. After a log error it starts again, and /readyz gives the reason."""
    health = Health("control")
    probes = HealthServer(health, Metrics(), settings.host, settings.metrics_port)
    stop = _stop_signal()
    try:
        with _own_thread() as run:
            while not stop.is_set():
                try:
                    return await _connected(settings, health, stop, run)
                except LogError as error:
                    _LOG.warning("control: %s; starting again in %g s", error, _RETRY_SECONDS)
                    health.waiting("log", str(error))
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), _RETRY_SECONDS)
    finally:
        probes.close()
    return 0


@contextlib.contextmanager
def _own_thread() -> Iterator[Run]:
    """A thread for what the service's life depends on: requests may hold all threads of the event loop's executor."""
    with ThreadPoolExecutor(1, "control") as thread:
        yield functools.partial(asyncio.get_running_loop().run_in_executor, thread)


async def _connected(settings: Settings, health: Health, stop: asyncio.Event, run: Run) -> int:
    """Serve with a connection to the log; the exit status. LogError if the log fails."""
    topics = Topics(settings.prefix)
    tables = Tables(topics, settings.latency_bound_ms)
    log = connect(settings)
    try:
        health.beat()
        await run(require_readable, log, settings.group("control-rights"), tables.topics)
        health.done("log")
        async with _feed(tables, topics, settings) as feed:
            tail = Tail(log, settings.group("control-tail"))
            why = functools.partial(_why, log, topics, settings.group("control-why"))
            writer = RecordWriter(tables, topics, log, feed.send, settings.group("control.records"), asyncio.to_thread)
            api = Api(tables, topics, writer, tail, why, log.partitions, health)
            letters = DeadLetters(log, topics, settings.group("control-dlq"))
            dead_letters = DeadLettersApi(
                tables, letters, settings.group("control-dlq"), settings.max_future_ms, settings.registry_auth
            )
            streams = StreamsApi(tables, writer, log, settings)
            definitions = DefinitionsApi(log, settings, streams.present, Trials(settings.aggregates))
            routes = [route for one in (api, streams, definitions, dead_letters) for route in one.routes()]
            async with _site(routes, settings) as url:
                health.detail("url", url)
                _LOG.info("control: %s", url)
                started = asyncio.create_task(feed.start())
                try:
                    joins = settings.group("control.rights"), topics.queries
                    check = functools.partial(run, require_joinable, log, *joins)
                    watch, counts = ControlWatch(log, topics, "control"), PartitionCounts(log)

                    async def look() -> None:
                        await run(watch.step, wall_ms())
                        known = tables.streams.all()
                        tables.queries.partitions = await run(counts.look, known, wall_ms())

                    return await _watch(feed, started, health, stop, check, look)
                finally:
                    started.cancel()
                    await run(tail.close)
    finally:
        log.close()


async def _watch(
    feed: Feed,
    started: asyncio.Task[None],
    health: Health,
    stop: asyncio.Event,
    check: Callable[[], Awaitable[None]],
    look: Callable[[], Awaitable[None]],
) -> int:
    """Report life and readiness; ready once the tables hold the topics' records. Returns the exit status.

    `check`: raises LogError with the reason why the tables do not fill. Faust waits silently for a right that its group
    lacks. `look`: looks at what may change in the log; LogError if a topic was made anew. Neither waits for requests,
    since the beat waits for both.
    """
    checked_at = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    health.waiting("tables", "reading queries, streams and models from the beginning")
    health.done("start")
    while not stop.is_set():
        health.beat()
        await look()
        if started.done():
            started.result()
            health.done("tables")
        elif asyncio.get_running_loop().time() > checked_at:
            await check()
            checked_at += 10 * _PATIENCE_SECONDS
        if feed.crashed:
            _LOG.error("the Faust app has crashed: ending, so that the supervisor starts a new one")
            return 1
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.1 if not started.done() else _BEAT_SECONDS)
    return 0


@contextlib.asynccontextmanager
async def _feed(tables: Tables, topics: Topics, settings: Settings) -> AsyncIterator[Feed]:
    """The Faust app that fills the tables, for the time of the context. Its caller starts it."""
    feed = Feed(
        tables,
        bootstrap=settings.bootstrap,
        security=security_of(settings),
        group=settings.group("control"),
        data=settings.data / "control",
        tailed=(topics.load, topics.health),
    )
    try:
        yield feed
    finally:
        await feed.stop()


@contextlib.asynccontextmanager
async def _site(routes: list[web.AbstractRouteDef], settings: Settings) -> AsyncIterator[str]:
    """Serves HTTP; yields the address. SettingsError: the port is taken."""
    application = web.Application(middlewares=guards(settings.host, settings.token))
    application.add_routes(routes)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, settings.host, settings.control_port).start()
    except OSError as error:
        await runner.cleanup()
        place = f"{settings.host}:{settings.control_port}"
        raise SettingsError(f"the control API cannot listen on {place}: {error.strerror or error}") from error
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{in_url(host)}:{port}/"
    finally:
        await runner.cleanup()


def _why(log: Log, topics: Topics, group: str, *question: Any) -> Mapping[str, Any]:
    from saffron.control.why import why

    return why(log, topics, group, *question)


def _stop_signal() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop

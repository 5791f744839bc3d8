"""`saffron demo`: everything up, a real data set, two queries, complex events on the screen; then everything down."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Annotated

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import number_option
from saffron.cli.queries import query as queries
from saffron.cli.streams import pace
from saffron.cli.streams import stream as streams
from saffron.cli.streams.lines import LeftOut, batches, limited
from saffron.cli.system.demo_screen import Screen
from saffron.cli.system.launch import chosen_services, prepare, start_detached, stop
from saffron.cli.system.scrape import Page, scrape
from saffron.cli.system.settled import Readers
from saffron.counted import counted
from saffron.engine.operators.result_values import read_result
from saffron.errors import SaffronError
from saffron.runtime.local.state import read_state
from saffron.runtime.log import TopicPartition
from saffron.runtime.process.config import load, user_data_directory
from saffron.runtime.result_formats.reading import result_json
from saffron.runtime.streams.event_producer import EventProducer
from saffron.runtime.telemetry.metric_names import COMPLEX_EVENTS, TRENDS

_PATH = frozenset({"windowing", "shedder", "matcher", "greta"})
"""The services that a result passes; the demo begins when these are ready and the others are still starting."""
_READERS = {"rally": ("matcher", COMPLEX_EVENTS), "downtrends": ("greta", TRENDS)}
"""The demo's queries: who runs each, and the metric that counts its results."""
_STUCK_SECONDS = 60.0
_COUNTED_SECONDS = 5.0
_POLL = 0.1
_BATCH = 2000


def demo(
    rate: Annotated[float, number_option("Events a second.", least=1)] = 5000,
    events: Annotated[int, typer.Option(min=1, max=702_000, help="How many of the 702,000 quotes.")] = 100_000,
    data: options.Data = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running at the end.")] = False,
) -> None:
    """Start Kafka and all services, find patterns in 200 days of stock quotes, and show them as they come.

    Two queries: `rally` (a price that keeps rising, then falls by more than 1 %) and `downtrends` (how many down-trends
    there are per sector, without building one). Ctrl-C ends everything. The data directory is made anew each time.

    Examples:

        saffron demo

        saffron demo --rate 20000 --events 702000

        saffron demo --keep
    """
    directory = data or user_data_directory() / "demo"
    settings = load({"data": directory, "bootstrap": "", "partitions": 1}).settings
    with _interruptible() as interrupted:
        stop(directory)  # of an earlier demo that was killed or kept
        prepare(settings, chosen_services([]))
        try:
            start_detached(settings, chosen_services([]), fresh=True, enough=_PATH)
            _play(directory, rate, events)
            if keep:
                console.say(f"still running; `saffron down --data {directory}` ends it")
        except BaseException as error:
            keep = False
            if interrupted.is_set():  # Kafka's client may make another error of it
                raise KeyboardInterrupt from error
            raise
        finally:
            if not keep:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave the half of it running
                stop(directory)


def _play(directory: Path, rate: float, events: int) -> None:
    """Adds the demo's stream and queries, produces `events` quotes, and shows their results and a summary.

    `rate`: events a second. SaffronError: sending has failed, or the services got stuck.
    """
    files = resources.files("saffron.data")
    with (
        resources.as_file(files / "quotes.schema.json") as schema,
        resources.as_file(files / "rally.saf") as rally,
        resources.as_file(files / "downtrends.saf") as downtrends,
        resources.as_file(files / "stock_quotes.ndjson.zst") as quotes,
    ):
        streams.add("events", schema=schema, data=directory)
        queries.add(files=[rally, downtrends], data=directory, timeout=120.0)
        with connection(options.System(directory).connected()) as client:
            screen = Screen(events)
            console.say(f"producing {events:,} stock quotes at {rate:,.0f} a second")
            production = _Production(client, quotes, rate, events)
            begun = time.monotonic()
            complete = _watch(client, production, screen, directory)
            console.done()
            _summary(production, screen, directory, time.monotonic() - begun)
            if not complete:
                raise SaffronError(
                    f"for {_STUCK_SECONDS:g} s no service got on, nor any result came: see {directory / 'logs'}"
                )


class _Production:
    """The production of events in a thread of its own, while results are shown."""

    def __init__(self, client: Client, quotes: Path, rate: float, events: int) -> None:
        self.sent = 0
        self.error: SaffronError | None = None
        self._producer = EventProducer(client.settings, client.topics.events, throughput=False)
        self._slices = pace.slices(limited(batches([str(quotes)], LeftOut()), events), rate, None)
        self.last = 0
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="production", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def end(self) -> None:
        """Stops sending and waits for the thread."""
        self._ending = True
        self._thread.join()

    def _run(self) -> None:
        """Sends all quotes, and then a watermark that ends the stream. After `end` nothing more is sent.

        A SaffronError is kept in `error`, where `_watch` finds it.
        """
        try:
            for lines in self._slices:
                if self._ending:
                    return
                self._producer.send(lines)
                self.sent += len(lines)
                self.last = int(orjson.loads(lines[-1])["ts"])
            mark = orjson.dumps({"type": "$watermark", "ts": self.last, "end": True})
            self._producer.send([mark], partition=0)  # closes the windows that are still open
            self._producer.flush(_STUCK_SECONDS)
        except SaffronError as error:
            self.error = error


def _watch(client: Client, production: _Production, screen: Screen, directory: Path) -> bool:
    """Shows results until all events are produced, and all their results are committed and shown.

    False: the services got stuck before.
    """
    consumer = client.log.consumer(client.settings.group("demo"), committed_only=True, client_id="demo")
    readers = Readers(client, read_state(directory))
    try:
        places = [TopicPartition(topic, 0) for topic in (client.topics.complex_events, client.topics.trends)]
        consumer.assign(dict.fromkeys(places, 0))
        production.start()
        before, moved_at, complete = readers.progress(), time.monotonic(), False
        while True:
            records = consumer.poll(_BATCH, _POLL)
            for record in records:
                screen.take(read_result(result_json(record) or b"{}"))
            screen.progress(production.sent)
            if production.error is not None:
                raise production.error
            if records or production.running:
                moved_at = time.monotonic()
            elif complete:
                return True
            elif readers.settled(production.sent, production.last):
                complete = True  # its results may have come since the last poll
            elif (now := readers.progress()) != before:
                before, moved_at = now, time.monotonic()
            elif time.monotonic() > moved_at + _STUCK_SECONDS:
                return False
    finally:
        production.end()
        consumer.close()
        readers.close()


def _summary(production: _Production, screen: Screen, directory: Path, seconds: float) -> None:
    """Prints the numbers of events, results and latencies."""
    pages = _reported(directory, screen)
    print()
    print(console.bold(f"{counted(production.sent, 'event')} in {seconds:.1f} s ({production.sent / seconds:,.0f}/s)"))
    rows = []
    for name, page in pages.items():
        quantiles = [page.quantile_ms("saffron_detection_latency_seconds", share, query=name) for share in (0.5, 0.99)]
        rows.append((name, f"{screen.results[name]:,}", *(f"{value:.1f} ms" for value in quantiles)))
    console.print_table(("query", "results", "p50 latency", "p99 latency"), rows)
    print("(latency: from the last contributing event's arrival at Kafka to the committed result)")
    print()
    print("Next: saffron up; saffron query add FILE; saffron produce EVENTS; saffron tail; saffron doctor")
    print("      saffron replay -q FILE EVENTS runs a query over files, without Kafka; README.md says more.")


def _reported(directory: Path, screen: Screen) -> dict[str, Page]:
    """The metrics pages of the readers, once they have counted all results, or after some seconds."""
    state, until = read_state(directory), time.monotonic() + _COUNTED_SECONDS
    while True:
        pages = {name: scrape(state, reader) for name, (reader, _) in _READERS.items()}
        counted = {
            name: pages[name].total(f"{results.name}_total", query=name) for name, (_, results) in _READERS.items()
        }
        if all(counted[name] >= screen.results[name] for name in counted) or time.monotonic() > until:
            return pages
        time.sleep(_POLL)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """A context with an event that Ctrl-C, SIGTERM and a closed terminal set; each of them ends the demo."""
    came = threading.Event()

    def interrupt(number: int, frame: object) -> None:
        came.set()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

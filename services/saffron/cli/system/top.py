"""`saffron top`: the running system, live in the terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Annotated

import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import number_option
from saffron.cli.system import top_screen
from saffron.cli.system.scrape import Page, scrape
from saffron.cli.system.top_view import Counted, View, view
from saffron.control.streams.stream_partitions import PartitionCounts
from saffron.control.tables import Tables
from saffron.runtime.local.state import running
from saffron.runtime.log.follower import Follower

_COUNTING = ("windowing", "shedder", "matcher", "greta")
_LOOK, _STEPS = 0.02, 500
"""Seconds between two looks at a topic that is not read to its end yet, and how many in a frame at most."""
_ALTERNATE, _BACK = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _CLEAR_LINE, _CLEAR_REST = "\x1b[H", "\x1b[K", "\x1b[J"


@options.of_system
def top(
    interval: Annotated[float, number_option("Seconds between two frames.", least=0.2)] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="One frame, after one interval; good in a pipe.")] = False,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Show queries and services as they are now: speed, latency against its bound, partial matches, loss, lag.

    Keys: q quits, p pauses, s sorts by another column. With `--json` a frame is one line of JSON. Of a system on other
    machines (`--brokers`) a query's latency is that of its service, and what only services count is left out.

    Examples:

        saffron top

        saffron top --once

        saffron top --brokers kafka:9092 --interval 5 --json
    """
    settings = system.connected()
    with connection(settings) as client, _followed(client) as watch:
        watch.look(interval)
        if once:
            time.sleep(interval)
            _print(watch.look(interval), json)
        elif json or not (sys.stdout.isatty() and sys.stdin.isatty()):
            while True:
                time.sleep(interval)
                _print(watch.look(interval), json)
        else:
            _live(watch, interval)


class Watch:
    """The follower of the control topics and of this machine's metrics pages."""

    def __init__(self, client: Client, followers: dict[str, Follower], of_now: Collection[str]) -> None:
        """`of_now`: topics of which only new records count; a busy one has no end to reach."""
        self._settings = client.settings
        self._followers = followers
        self._of_now = of_now
        self._tables = Tables(client.topics, client.settings.latency_bound_ms)
        self._counts = PartitionCounts(client.log)
        self._before: tuple[float, Page] | None = None

    def look(self, interval: float) -> View:
        """The present view. `interval`: the time since the last look, for the first one."""
        for topic, follower in self._followers.items():
            for _ in range(_STEPS):
                records = follower.step()
                for record in records:
                    self._tables.apply(topic, record.key, record.value, record.timestamp, record.offset)
                if not records:
                    if follower.caught_up or topic in self._of_now:
                        break
                    time.sleep(_LOOK)
        tables = self._tables
        tables.queries.partitions = self._counts.look(tables.streams.all(), int(time.time() * 1000))
        state = running(self._settings)
        now = time.monotonic()
        page = Page([])
        for service in _COUNTING if state is not None else ():
            page = page.beside(scrape(state, service))
        began, before = self._before or (now - interval, page)
        self._before = now, page
        counted = None if state is None else Counted(page, page.since(before), max(now - began, 1e-3))
        where = f"{self._settings.bootstrap} {self._settings.prefix}*"
        return view(tables, counted, state, int(time.time() * 1000), where)


@contextmanager
def _followed(client: Client) -> Iterator[Watch]:
    """A `Watch` over the control topics, closed at the end."""
    names = client.topics
    topics = (names.queries, names.query_status, names.streams, names.load, names.health)
    of_now = names.load, names.health  # old records there are out of date
    followers = {topic: Follower(client.log, topic, from_end=topic in of_now) for topic in topics}
    try:
        yield Watch(client, followers, of_now)
    finally:
        for one in followers.values():
            one.close()


def _print(found: View, json: bool) -> None:
    """Prints one frame, into a pipe or at the end of a terminal."""
    if json:
        console.print_json(asdict(found))
        sys.stdout.flush()
        return
    width = shutil.get_terminal_size((120, 40)).columns if sys.stdout.isatty() else 160
    print("\n".join(top_screen.lines(found, top_screen.Shown(width=width, ascii_only=_ascii_only()))), flush=True)


def _live(watch: Watch, interval: float) -> None:
    """Shows frames on the whole screen until the key q."""
    from saffron.cli.system.keyboard import pressed, single_keys

    shown = top_screen.Shown(keys=True, ascii_only=_ascii_only())
    found = watch.look(interval)
    due = time.monotonic() + interval
    sys.stdout.write(_ALTERNATE)
    try:
        with single_keys():
            while True:
                size = shutil.get_terminal_size()
                shown = replace(shown, width=size.columns, rows=size.lines)
                _draw(top_screen.lines(found, shown))
                key = pressed(max(0.05, due - time.monotonic()))
                if key == "q":
                    return
                if key == "p":
                    shown = replace(shown, paused=not shown.paused)
                if key == "s":
                    shown = replace(shown, sort=top_screen.next_sort(shown.sort))
                if time.monotonic() >= due:
                    due = time.monotonic() + interval
                    latest = watch.look(interval)
                    found = found if shown.paused else latest
    finally:
        sys.stdout.write(_BACK)
        sys.stdout.flush()


def _draw(lines: list[str]) -> None:
    """Draws over the frame before, without flicker."""
    sys.stdout.write(_HOME + "\r\n".join(line + _CLEAR_LINE for line in lines) + _CLEAR_REST)
    sys.stdout.flush()


def _ascii_only() -> bool:
    return "utf" not in (sys.stdout.encoding or "").lower()

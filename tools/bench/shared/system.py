"""A whole system for a benchmark: started as a user would, in a directory of its own, and ended with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from saffron.runtime.local.state import read_state
from saffron.runtime.log import Consumer, Record, TopicPartition, TopicSpec
from saffron.runtime.log.kafka.kafka_log import connect
from saffron.runtime.process.config import Settings, load

_CALM_CORES, _CALM_SECONDS = 0.2, 2.0
"""The processor time of the model builder below which its start is over, and the seconds over which that is measured.
"""
_SETTLED = 1.0
"""Seconds without a new record after which a topic that holds enough is complete."""


class System:
    """A running system: its settings, its processes, and commands against it."""

    def __init__(self, data: Path) -> None:
        state = read_state(data)
        assert state is not None
        self.data = data
        self.settings: Settings = load({"data": data, "bootstrap": state.bootstrap, "prefix": state.prefix}).settings
        self._pids = {one.name: one.process.pid for one in state.services if one.process is not None}
        self._pids["supervisor"] = state.supervisor.pid
        if state.broker is not None:
            self._pids["broker"] = state.broker.pid

    def command(self, *words: str) -> str:
        """Run `saffron WORDS` against this system; its standard output."""
        return command(*words, "--data", str(self.data))

    def signal(self, name: str, number: signal.Signals) -> None:
        """Sends a signal to a process."""
        os.kill(self._pids[name], number)

    def new_topic(self, name: str) -> None:
        """Makes a topic of one partition, whose records have the time at which the broker took them."""
        log = connect(self.settings)
        log.create_topics([TopicSpec(self.settings.topic(name), 1, {"message.timestamp.type": "LogAppendTime"})])
        log.close()

    def cpu(self) -> Mapping[str, float]:
        """Processor seconds of each process so far, its children included that are none of these processes."""
        known = frozenset(self._pids.values())
        return {name: _cpu_seconds(psutil.Process(pid), known) for name, pid in self._pids.items()}

    def calm(self) -> None:
        """Wait until the model builder has started. `up` does not: Spark takes a core for some ten seconds."""
        spent = _CALM_CORES * _CALM_SECONDS
        while "model_builder" in self._pids and spent >= _CALM_CORES * _CALM_SECONDS:
            before = self.cpu()["model_builder"]
            time.sleep(_CALM_SECONDS)
            spent = self.cpu()["model_builder"] - before

    def shares(self) -> Mapping[str, int]:
        """Bytes of each process and its children, shared pages by their share (PSS)."""
        known = frozenset(self._pids.values())
        return {name: _share(psutil.Process(pid), known) for name, pid in self._pids.items()}

    def memory(self) -> Mapping[str, int]:
        """Resident bytes of each process."""
        return {name: _resident(pid) for name, pid in self._pids.items()}

    def read(
        self, topic: str, count: int, seconds: float, partition: int = 0, grown: Callable[[], None] = lambda: None
    ) -> list[Record]:
        """The first `count` committed records of a partition; fewer when none came for `seconds`.

        Reading begins when all is there: it would take processor time from what is measured. `grown`: called whenever
        more records are there than at the last look.
        """
        log = connect(self.settings)
        consumer = log.consumer("bench", committed_only=True, client_id="bench")
        _settled(consumer, TopicPartition(self.settings.topic(topic), partition), count, seconds, grown)
        consumer.close()
        log.close()
        return list(islice(self.follow(topic, seconds, partition), count))

    def follow(self, topic: str, seconds: float, partition: int = 0) -> Iterator[Record]:
        """The committed records of a partition from its beginning, until none came for `seconds`."""
        log = connect(self.settings)
        consumer = log.consumer("bench", committed_only=True, client_id="bench")
        consumer.assign({TopicPartition(self.settings.topic(topic), partition): 0})
        last = time.monotonic()
        try:
            while time.monotonic() - last < seconds:
                if batch := consumer.poll(2000, 0.2):
                    yield from batch
                    last = time.monotonic()
        finally:
            consumer.close()
            log.close()


def _settled(consumer: Consumer, where: TopicPartition, count: int, seconds: float, grown: Callable[[], None]) -> None:
    """Wait until the partition holds `count` records at least and grows no more, or has not grown for `seconds`."""
    size, since = -1, time.monotonic()
    while True:
        _, high = consumer.watermarks(where)
        now = time.monotonic()
        if high != size:
            size, since = high, now
            grown()
        elif now - since > (_SETTLED if size >= count else seconds):
            return
        time.sleep(_SETTLED / 4)


@contextmanager
def system(*, without: Sequence[str] = (), **settings: object) -> Iterator[System]:
    """Everything but some services started with these settings (as SAFFRON_* variables), then ended."""
    with tempfile.TemporaryDirectory() as folder, ended_when_told():
        names = {f"SAFFRON_{name.upper()}": str(value) for name, value in settings.items()}
        data = Path(folder)
        left = [word for name in without for word in ("--without", name)]
        try:
            command("up", "--data", folder, *left, environment=names)
            yield System(data)
        finally:
            command("down", "--data", folder)


@contextmanager
def ended_when_told() -> Iterator[None]:
    """SIGTERM ends this process as an exception does, so that nothing it started stays behind."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def command(*words: str, environment: Mapping[str, str] | None = None) -> str:
    """Run `saffron WORDS`; what it printed, or SystemExit with its errors."""
    run = subprocess.run(
        [sys.executable, "-m", "saffron", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if run.returncode:
        raise SystemExit(f"saffron {' '.join(words)}: status {run.returncode}\n{run.stderr}")
    return run.stdout


def parsed(text: str) -> Any:
    return json.loads(text)


def _cpu_seconds(process: psutil.Process, known: frozenset[int]) -> float:
    """CPU time of a process, of its children that have ended, and of all that run, without those `known`."""
    try:
        times, children = process.cpu_times(), process.children()
    except psutil.NoSuchProcess:
        return 0.0  # a child that has just ended: its parent has its time
    own = float(times.user + times.system + times.children_user + times.children_system)
    return own + sum(_cpu_seconds(child, known) for child in children if child.pid not in known)


def _share(process: psutil.Process, known: frozenset[int]) -> int:
    own = int(process.memory_full_info().pss)
    return own + sum(_share(child, known) for child in process.children() if child.pid not in known)


def _resident(pid: int) -> int:
    return int(psutil.Process(pid).memory_info().rss)

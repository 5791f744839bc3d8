"""Reports of Spark's progress while a step of the work runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from saffron.counted import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.5


def _silent(line: str) -> None:
    pass


@dataclass(frozen=True)
class Progress:
    """Receivers of progress. `step`: called at the start of a step; `tasks`: called twice a second with its tasks."""

    step: Callable[[str], None] = _silent
    tasks: Callable[[str], None] = _silent

    @contextlib.contextmanager
    def during(self, session: SparkSession, what: str) -> Iterator[None]:
        """A context that reports the step `what` while it runs."""
        self.step(what)
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(session, what, over), daemon=True)
        if self.tasks is not _silent:
            watch.start()
        try:
            yield
        finally:
            over.set()
            if watch.is_alive():
                watch.join()

    def _watch(self, session: SparkSession, what: str, over: threading.Event) -> None:
        """Report the tasks of Spark's active stages until `over` is set."""
        tracker = session.sparkContext.statusTracker()
        while not over.wait(_POLL_SECONDS):
            stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number))]
            if stages:
                done, all_of_them = sum(one.numCompletedTasks for one in stages), sum(one.numTasks for one in stages)
                self.tasks(f"{what}: {done} of {counted(all_of_them, 'task')}")

"""Execution beside a service's loop: on another thread, or at once where the order must be fixed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from threading import Thread
from typing import Protocol, TypeVar

T = TypeVar("T")


class Background(Protocol):
    """A function that runs work at some time. The future has its result or exception."""

    def __call__(self, work: Callable[[], T], /) -> Future[T]: ...


def one_at_a_time(threads: ExitStack, given: Background | None) -> Background:
    """An executor for long work, with one thread, which ends with `threads`; at once where an executor is `given`."""
    return threads.enter_context(ThreadPoolExecutor(1, "long")).submit if given is None else at_once


def on_own_thread(work: Callable[[], T]) -> Future[T]:
    """Runs work that may hang, on a thread of its own: neither other work nor the end of the process waits for it."""
    future: Future[T] = Future()

    def run() -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except Exception as error:  # the future's to raise
                future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def at_once(work: Callable[[], T]) -> Future[T]:
    """Runs the work now, on the caller's thread. The future has its result or exception."""
    done: Future[T] = Future()
    try:
        done.set_result(work())
    except Exception as error:  # the future's to raise, as an executor's would
        done.set_exception(error)
    return done

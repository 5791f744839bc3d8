"""Work beside the loop of a service: on a thread of its own, or at once where everything is to have its order."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

T = TypeVar("T")


class Background(Protocol):
    """Does a piece of work some time; the future has its result, or what it failed with."""

    def __call__(self, work: Callable[[], T], /) -> Future[T]: ...


def at_once(work: Callable[[], T]) -> Future[T]:
    """Now, on the caller's thread; what it fails with is raised by the future only."""
    done: Future[T] = Future()
    try:
        done.set_result(work())
    except Exception as error:  # the future's to raise, as an executor's would
        done.set_exception(error)
    return done

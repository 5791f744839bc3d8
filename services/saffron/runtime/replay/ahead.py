"""Items that are made ahead, in a thread of their own."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import TypeVar

from saffron.runtime.process.own_process import OwnProcess

_T = TypeVar("_T")
_END = object()
_AHEAD = 2
"""Items made before they are asked for: one that is ready, and one that is being made."""


def made_ahead(items: Iterator[_T]) -> Generator[_T]:
    """The same items in the same order, made by another thread, up to `_AHEAD` in advance.

    An error comes where its item would have come. Once this iterator is closed, `items` is used no more. So `items`
    must not wait for ever. ForkError: a forked process, which has not that thread, asks for the next item.
    """
    own = OwnProcess("this replay")
    asked: SimpleQueue[bool] = SimpleQueue()
    made: SimpleQueue[Future[object]] = SimpleQueue()

    def make() -> None:
        while asked.get():
            future: Future[object] = Future()
            try:
                future.set_result(next(items, _END))
            except BaseException as error:
                future.set_exception(error)
            made.put(future)

    thread = Thread(target=make, name="reading ahead", daemon=True)
    thread.start()
    try:
        for _ in range(_AHEAD):
            asked.put(True)
        while (item := _next_of(made, own)) is not _END:
            asked.put(True)
            yield item  # type: ignore[misc]
    finally:
        while not asked.empty():
            asked.get()
        asked.put(False)
        # That thread itself may collect this iterator as garbage, while it makes an item.
        if thread is not current_thread() and own.is_here:
            thread.join()


def _next_of(made: SimpleQueue[Future[object]], own: OwnProcess) -> object:
    """The next item that the thread of a process makes."""
    own.require()
    return made.get().result()

"""The books' files, in Spark's checkpoint directory, with which they live and die.

Spark may call a batch again, with the same records, if it was killed before it noted the batch as done. So the books
after batch B are a file of their own, and batch B always starts from the file of B - 1: done twice is done once.
The epoch is made with the checkpoint, for batch numbers begin again at 0 in a new one.
"""

from __future__ import annotations

import os
from pathlib import Path

from saffron.errors import SaffronError
from saffron.model_builder.books import Books
from saffron.records.envelope import ModelError, seal, unseal

_KEPT = 4
"""Files kept: Spark goes back by one batch at most; the others are for whoever looks for a cause."""


class StoreError(SaffronError):
    """The checkpoint does not hold what it must; going on would publish wrong models."""


class Store:
    """Books by batch under `checkpoint`/saffron."""

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self._folder = checkpoint / "saffron"

    def open(self, now_ms: int, published_epoch: int) -> int:
        """The checkpoint's epoch. A checkpoint without Spark's offsets is new: it gets one above all that were.

        `published_epoch`: the greatest among published models, -1 if there are none; the clock alone may go back.
        """
        path = self._folder / "epoch"
        used = any((self.checkpoint / "offsets").glob("[0-9]*"))
        if used:
            try:
                return int(path.read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise StoreError(
                    f"{path} cannot be read ({error}), though Spark's checkpoint beside it is in use. Delete"
                    f" {self.checkpoint} to learn anew from the observations that the topics still hold."
                ) from None
        epoch = max(now_ms, published_epoch + 1)
        self._folder.mkdir(parents=True, exist_ok=True)
        for left in self._folder.glob("books-*"):
            left.unlink()
        _replace(path, str(epoch).encode())
        return epoch

    def before(self, batch: int) -> Books:
        """The books that batch `batch` starts from."""
        if batch == 0:
            return Books()
        path = self._path(batch - 1)
        try:
            return Books.of(unseal(path.read_bytes()))
        except (OSError, ModelError, KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"{path}, from which batch {batch} must start, cannot be read: {error}. Delete {self.checkpoint} to"
                " learn anew from the observations that the topics still hold."
            ) from None

    def keep(self, books: Books) -> None:
        """Write the books of their batch, durably, and remove files that nothing needs any more."""
        _replace(self._path(books.batch), seal(books.body()))
        self._path(books.batch - _KEPT).unlink(missing_ok=True)

    def newest(self) -> Books | None:
        """The newest books there are, for status and tests."""
        paths = sorted(self._folder.glob("books-*.json"))
        return Books.of(unseal(paths[-1].read_bytes())) if paths else None

    def _path(self, batch: int) -> Path:
        return self._folder / f"books-{batch:012d}.json"


def _replace(path: Path, content: bytes) -> None:
    """Old content or new, never half of it, also after a power cut."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

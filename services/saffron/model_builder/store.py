"""The files of the books, in Spark's checkpoint directory, so that both are deleted together.

Spark repeats a batch with the same records if it was killed before it committed the batch. So the books behind batch B
are a file of their own, and batch B always starts from the file of B - 1, which makes a batch idempotent. The epoch is
made with the checkpoint, as batch numbers begin again at 0 in a new one.
"""

from __future__ import annotations

import os
from pathlib import Path

from saffron.errors import SaffronError
from saffron.model_builder.books import Books
from saffron.records.envelope import ModelError, seal, unseal

_KEPT = 4
"""Number of files kept. Spark goes back by one batch at most; the others help to find the cause of a failure."""


class StoreError(SaffronError):
    """A checkpoint without the files that it must have. Going on would publish wrong models."""


class Store:
    """The books by batch, in files under `checkpoint`/saffron."""

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self._folder = checkpoint / "saffron"

    def open(self, now_ms: int, published_epoch: int) -> int:
        """The checkpoint's epoch. A checkpoint without Spark's offsets is new, and gets one above all earlier epochs.

        `published_epoch`: the greatest epoch of published models, -1 without any, as the clock alone may go back.
        Raises StoreError if the epoch of a used checkpoint cannot be read.
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
        """The books that batch `batch` starts from; StoreError if their file cannot be read."""
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
        """Write the books of their batch durably, and remove files that are no longer needed."""
        _replace(self._path(books.batch), seal(books.body()))
        self._path(books.batch - _KEPT).unlink(missing_ok=True)

    def newest(self) -> Books | None:
        """The newest books, for status and tests; None without any."""
        paths = sorted(self._folder.glob("books-*.json"))
        return Books.of(unseal(paths[-1].read_bytes())) if paths else None

    def _path(self, batch: int) -> Path:
        return self._folder / f"books-{batch:012d}.json"


def _replace(path: Path, content: bytes) -> None:
    """Replace a file's content atomically and durably: after a power cut it has the old content or the new."""
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

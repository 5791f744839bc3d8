"""Translation of Spark's errors to Saffron's: one sentence instead of two stack traces."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from saffron.errors import InputError, SaffronError

_OURS = re.compile(r"^saffron\.errors\.\w+: (.*)$", re.MULTILINE)
_PYTHON = re.compile(r"^(\w[\w.]*(?:Error|Exception|Interrupt)\b.*)$", re.MULTILINE)
_HINTS = {
    "PATH_NOT_FOUND": "no such file or directory",
    "CANNOT_MERGE_SCHEMAS": "the Parquet files are of different schemas: one attribute has two types",
    "FAILED_READ_FILE": "a file cannot be read",
}


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """A context that raises errors of Spark as a SaffronError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise translated(str(error)) from error


def translated(text: str) -> SaffronError:
    """The error for a message of Spark's: of our own code in a task, of a known kind, or with the first line."""
    if ours := _OURS.search(text):
        return InputError(ours[1])
    for mark, hint in _HINTS.items():
        if mark in text:
            return InputError(f"{hint}: {_first(text[text.index(mark) - 1 :])}")
    if "Traceback" in text and (python := _PYTHON.findall(text)):
        return SaffronError(f"a task of Spark failed: {python[-1]}")
    return SaffronError(f"Spark: {_first(text)}")


def _first(text: str) -> str:
    """The first line of a message that is not blank, shortened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines or ["(no message)"])[0][:400]

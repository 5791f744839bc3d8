"""Spark's errors as ours: one sentence that says what is wrong, instead of two stack traces."""

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
def plainly() -> Iterator[None]:
    """Raise what Spark says of the work within as a SaffronError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise told(str(error)) from error


def told(text: str) -> SaffronError:
    """What our own code said in a task; else what is known of errors of this kind; else the first line."""
    if ours := _OURS.search(text):
        return InputError(ours[1])
    for mark, meaning in _HINTS.items():
        if mark in text:
            return InputError(f"{meaning}: {_first(text)}")
    if "Traceback" in text and (python := _PYTHON.findall(text)):
        return SaffronError(f"a task of Spark failed: {python[-1]}")
    return SaffronError(f"Spark: {_first(text)}")


def _first(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines or ["(no message)"])[0][:400]

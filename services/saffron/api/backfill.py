"""`saffron.backfill`: queries over history that outgrows one machine, on Spark."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from saffron.api.query import QueryLike, SchemaLike, compile_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from saffron.history.backfill import Done

Paths = str | os.PathLike[str]


def backfill(
    queries: QueryLike | Sequence[QueryLike],
    files: Paths | Sequence[Paths],
    out: Paths,
    *,
    format: Literal["jsonl", "parquet"] = "jsonl",
    schema: SchemaLike | None = None,
    lenient: bool = False,
    session: SparkSession | None = None,
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
) -> Done:
    """Run queries over files on Spark; `out` then holds the results of `saffron.replay`, to the byte.

    `files`: files, directories or patterns of Parquet, JSON lines and CSV on any file system that Spark knows.
    `out`: a directory that is not there yet. `format`: of the results. `schema`, `lenient`: as `saffron.replay` has
    them. `session`: a Spark session to work in; else one is made for `master`, with the settings `conf`, and ended.

    Returns what came of it: `events`, `results` by query, `dead_letters` by reason (they lie in OUT/_dead-letters),
    `mistyped`. Warns of queries whose events must all go through one task, with the reason. Raises QueryError,
    InputError, and SaffronError where Spark cannot be had or fails.
    """
    from saffron.history.backfill import Work
    from saffron.history.backfill import backfill as run
    from saffron.history.session import opened
    from saffron.runtime.replay.fused import Query as Text

    compiled, known = compile_all(queries, schema)
    texts = tuple(Text(query.given_name, query.text) for query in compiled)
    names = [files] if isinstance(files, str | os.PathLike) else files
    work = Work(texts, tuple(os.fspath(name) for name in names), os.fspath(out), format, known, lenient)
    heard: list[str] = []
    if session is not None:
        done = run(session, work, heard.append)
    else:
        with opened(master, conf or {}) as own:
            done = run(own, work, heard.append)
    for line in (*heard, *done.told(work.out)):
        warnings.warn(line, stacklevel=2)
    return done

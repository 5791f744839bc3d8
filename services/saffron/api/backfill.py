"""`saffron.backfill`: queries on Spark, over history that is too large for one machine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from saffron.api.query import QueryLike, SchemaLike, compile_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from saffron.history.backfill import BackfillResult

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
) -> BackfillResult:
    """Run queries over files on Spark, and write the results to `out`: those of `saffron.replay`, to the byte.

    `files`: files, directories or patterns of Parquet, JSON lines and CSV, on any file system that Spark knows.
    `out`: a new directory. `format`: of the results. `schema`, `lenient`: as for `saffron.replay`.
    `session`: the Spark session to use. Without it a session is made for `master`, with the settings `conf`, and closed
    at the end.

    Returns the outcome: `events`, `results` by query, `dead_letters` by reason (see OUT/_dead-letters), `mistyped`.
    Warns of queries whose events must all go through one task, with the reason. Raises QueryError, InputError, and
    SaffronError if Spark is missing or fails.
    """
    from saffron.history.backfill import Work
    from saffron.history.backfill import backfill as run
    from saffron.history.session import opened
    from saffron.runtime.replay.fused import Query as Text

    given = compile_all(queries, schema, lenient=lenient)
    texts = tuple(Text(query.given_name, query.text) for query in given.queries)
    names = [files] if isinstance(files, str | os.PathLike) else files
    work = Work(texts, tuple(os.fspath(name) for name in names), os.fspath(out), format, given.schema, given.lenient)
    messages: list[str] = []
    if session is not None:
        done = run(session, work, messages.append)
    else:
        with opened(master, conf or {}) as own:
            done = run(own, work, messages.append)
    for line in (*messages, *done.warnings(work.out)):
        warnings.warn(line, stacklevel=2)
    return done

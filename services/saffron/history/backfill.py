"""Queries over history on Spark: the results of `saffron replay`, to the byte, computed on many machines.

    files -> decoded rows -> sorted and numbered by (ts, arrival) -> grouped by key -> the engine -> sorted results

The driver gets only bounds, counts and the tally.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from saffron.counted import counted
from saffron.engine.operators.aggregates import registered
from saffron.errors import InputError
from saffron.history import files, tasks
from saffron.history.arrow_batches import attribute_name, event_fields
from saffron.history.decoding import ENDS, TALLY, row_fields
from saffron.history.numbering import first_numbers
from saffron.history.output import DEAD_LETTERS, Output
from saffron.history.partitioning import partitionings_of, queries_by_key
from saffron.history.progress import Progress
from saffron.history.running import EngineTask, binder, start_engines
from saffron.history.session import prepared
from saffron.history.spark_errors import translated_errors
from saffron.runtime.replay.binding import bind_all
from saffron.runtime.replay.fused import Query
from saffron.schema.functions import own
from saffron.schema.likely_times import FIRST, LAST, in_seconds, seconds_notice
from saffron.schema.schema import Kind, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RANGES_A_PLACE = 8
"""Ranges of times for each partition that sorts them. Several balance sizes, as a hash assigns ranges to partitions."""
_QUANTILE_ERROR = 0.001


@dataclass(frozen=True)
class Work:
    """A backfill to run. `form`: see Output. `schema`: None infers it from the events."""

    queries: tuple[Query, ...]
    files: tuple[str, ...]
    out: str
    form: str
    schema: Schema | None = None
    lenient: bool = False


@dataclass(frozen=True)
class BackfillResult:
    """The outcome of a backfill. `results`: by query; `dead_letters`: by reason. `watermarks`: those ignored.

    `in_seconds`: event times that seem to be in seconds.
    """

    events: int
    results: Mapping[str, int]
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    mistyped: int = 0
    watermarks: int = 0
    in_seconds: int = 0

    def figures(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        return {
            "events": self.events,
            "results": dict(self.results),
            "dead_letters": dict(self.dead_letters),
            "mistyped_values": self.mistyped,
            "watermarks": self.watermarks,
        }

    def warnings(self, out: str) -> Iterator[str]:
        """Sentences about events with problems. `out`: the directory of results."""
        if self.dead_letters:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.dead_letters.items()))
            lines = counted(sum(self.dead_letters.values()), "line was no event", "lines were no events")
            yield f"{lines} ({reasons}): {out}/{DEAD_LETTERS} has them"
        if self.mistyped:
            values = counted(self.mistyped, "value was", "values were")
            yield f"{values} of another kind than the attribute, and null: give a --schema"
        if self.in_seconds:
            yield seconds_notice(self.in_seconds)
        if self.watermarks:
            lines = counted(self.watermarks, "$watermark line was", "$watermark lines were")
            yield f"{lines} passed over: history is sorted, and nothing in it is late"


def backfill(
    session: SparkSession,
    work: Work,
    warn: Callable[[str], None],
    progress: Progress = Progress(),  # noqa: B008
) -> BackfillResult:
    """Run a backfill. After a SaffronError only files that Spark was writing are left at `out`.

    `warn`: called before the work begins, with the queries' warnings, and with those that only one task can run.
    """
    with translated_errors():
        output = Output(session, work.out, work.form)
        output.require_free()
        found = files.listed(session, work.files)
        with prepared(session, one_file_a_task=any(file.kind == files.WHOLE for file in found)):
            return _Backfill(session, work, found, progress, warn).run(output)


class _Backfill:
    """One run. `_groups`: key attributes -> names of the queries whose events are partitioned by them."""

    def __init__(
        self,
        session: SparkSession,
        work: Work,
        found: Sequence[files.File],
        progress: Progress,
        warn: Callable[[str], None],
    ) -> None:
        self._session = session
        self._work = work
        self._files = found
        self._progress = progress
        self._places = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
        self._schema = work.schema or files.inferred_schema(session, found)
        self._bound = bind_all(work.queries, self._schema, binder(work.lenient))
        for warning in self._bound.warnings:
            warn(warning)
        self._task = EngineTask(
            tuple(self._bound.queries),
            self._schema,
            work.lenient,
            tuple(registered().values()),
            tuple(own.registered().values()),
            stream=self._bound.stream,
        )
        partitionings = partitionings_of(self._bound.plans)
        self._groups = queries_by_key(partitionings)
        for name, partitioning in partitionings.items():
            if partitioning.reason:
                warn(f"{name}: all events go through one task, since {partitioning.reason}")
        start_engines(self._task)  # raises an engine's errors now, and compiles the kernels of tasks on this machine

    def run(self, output: Output) -> BackfillResult:
        """Decode, match and write; intermediate rows are kept on disk."""
        from pyspark import StorageLevel

        rows = self._decoded().persist(StorageLevel.DISK_ONLY)
        try:
            with self._progress.during(self._session, f"reading the events of {', '.join(self._work.files)}"):
                tally = self._tally(rows)
            results = self._results(rows, tally.events).persist(StorageLevel.DISK_ONLY)
            try:
                with self._progress.during(self._session, f"matching {counted(tally.events, 'event')}"):
                    counts = {row[0]: row[1] for row in results.groupBy("query").count().collect()}
                with self._progress.during(self._session, f"writing {counted(sum(counts.values()), 'result')}"):
                    output.write(results)
                    if tally.dead_letters:
                        output.write_dead_letters(self._dead_letters(rows, tally))
            finally:
                results.unpersist()
        finally:
            rows.unpersist()
        return BackfillResult(
            tally.events,
            {plan.name: counts.get(plan.name, 0) for plan in self._bound.plans},
            tally.dead_letters,
            tally.mistyped,
            tally.watermarks,
            tally.in_seconds,
        )

    # ------------------------------------------------------------ events

    def _decoded(self) -> DataFrame:
        """The decoded rows of all files (see `decoding`)."""
        return _united(
            part.frame.mapInArrow(tasks.decoding(part.pieces, self._schema), row_fields(self._schema))
            for part in files.parts_of(self._session, self._files, self._work.schema)
        )

    def _tally(self, rows: DataFrame) -> _Tally:
        """The sums of all tallies and dead letters; InputError for a `$watermark` that ends the stream."""
        from pyspark.sql import functions as f

        others = rows.where("reason is not null").groupBy("reason", "file", "block")
        sums = others.agg(f.count("*"), f.sum("place"), f.sum("ts"), f.sum("latest")).collect()
        bad: Counter[str] = Counter()
        read, mistyped, marks = {}, 0, 0
        for reason, file, block, count, records, nulls, watermarks in sums:
            if reason == TALLY:
                read[file, block] = records
                mistyped, marks = mistyped + nulls, marks + watermarks
            else:
                bad[reason] += count
        if ENDS in bad:
            raise InputError(
                "the files hold a $watermark that ends the stream in its midst: run each part by itself, or take it out"
            )
        between = (f.count_if(f.col("ts").between(low, high - 1)) for low, high in ((FIRST, LAST), (0, FIRST)))
        times = rows.where("reason is null").agg(*between).first()
        return _Tally(
            read, bad, sum(read.values()) - bad.total() - marks, mistyped, marks, in_seconds(*(times or (0, 0)))
        )

    def _dead_letters(self, rows: DataFrame, tally: _Tally) -> DataFrame:
        """The dead letters as JSON lines, in the order of arrival."""
        first = first_numbers(tally.read.items())
        names = {file.number: file.name for file in self._files}
        letters = rows.where(_IS_BAD).select("file", "block", "place", "reason", "detail", "line")
        return letters.mapInArrow(tasks.letters(names, first), "position bigint, line string").orderBy("position")

    # ------------------------------------------------------------ numbers

    def _numbered(self, rows: DataFrame, places: int) -> DataFrame:
        """The events with their numbers among all events ("seq"), in `places` partitions."""
        events = rows.where("reason is null").drop("reason", "detail", "line")
        bounds = self._bounds(events, places)
        placed = events.mapInArrow(
            tasks.with_ranges(bounds), f"range int, file int, block bigint, place bigint, {event_fields(self._schema)}"
        )
        counts = placed.groupBy("range").count().collect()
        ordered = placed.repartition(places, "range").sortWithinPartitions("range", "ts", "file", "block", "place")
        return ordered.mapInArrow(
            tasks.numbering(first_numbers((row[0], row[1]) for row in counts)),
            f"seq bigint, {event_fields(self._schema)}",
        )

    def _bounds(self, events: DataFrame, places: int) -> list[int]:
        """Times (ms) that divide the events into ranges of about equal size."""
        if places == 1:
            return []
        number = places * _RANGES_A_PLACE
        shares = [(place + 1) / number for place in range(number - 1)]
        return sorted({int(ts) for ts in events.stat.approxQuantile("ts", shares, _QUANTILE_ERROR)})

    # ------------------------------------------------------------ results

    def _results(self, rows: DataFrame, events: int) -> DataFrame:
        """The results of all queries, each group over its own partitioning."""
        numbered = self._numbered(rows, self._places if any(self._groups) else 1)
        return _united(
            self._partitioned(numbered, by)
            .sortWithinPartitions("seq")
            .mapInArrow(tasks.matching(self._of(names, events)), tasks.RESULT_FIELDS)
            for by, names in self._groups.items()
        )

    def _of(self, names: Sequence[str], events: int) -> EngineTask:
        """The engine's task for some of the queries, over all `events`."""
        queries = tuple(query for query in self._task.queries if query.name in names)
        return replace(self._task, queries=queries, events=events)

    def _partitioned(self, numbered: DataFrame, by: Sequence[str]) -> DataFrame:
        """The events, partitioned by attributes; () puts all into one partition."""
        if not by:
            return numbered.repartition(1)
        return numbered.repartition(self._places, *(_key(self._schema, name) for name in by))


@dataclass(frozen=True)
class _Tally:
    """Counts of the input. `read`: records by (file, block). `in_seconds`: see `BackfillResult`."""

    read: Mapping[tuple[int, int], int]
    dead_letters: Mapping[str, int]
    events: int
    mistyped: int
    watermarks: int
    in_seconds: int


_IS_BAD = f"reason is not null and reason != '{TALLY}'"


def _united(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all frames."""
    return reduce(lambda one, other: one.unionAll(other), frames)


def _key(schema: Schema, name: str) -> Any:
    """The column that partitions events by an attribute; 0.0 and -0.0 are one key."""
    from pyspark.sql import functions as f

    column: Any = f.col(attribute_name(schema, name))
    kind = schema.kinds.get(name)
    if kind is Kind.NUMBER:
        return f.struct(column["nearest"] + f.lit(0.0), column["rest"] + f.lit(0.0))
    return column + f.lit(0.0) if kind is not None and kind.column is Kind.FLOAT else column

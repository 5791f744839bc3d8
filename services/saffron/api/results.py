"""`saffron.replay`: queries over events in this process, with lazy results."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from saffron.api import html
from saffron.api.query import QueryLike, SchemaLike, compile_all
from saffron.api.result import Compressed, Match, Result, Trend, result_of
from saffron.api.source import Source, merged_source, source_of
from saffron.api.times import duration, require_count
from saffron.counted import counted
from saffron.engine.operators.result_values import read_result
from saffron.errors import InputError
from saffron.runtime.streams.unknown_names import no_query

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from saffron.api.explanation import Explanation
    from saffron.engine.windows.dead_letters import DeadLetter
    from saffron.runtime.replay.both import Merged
    from saffron.runtime.replay.replay import Replay

SHOWN = 10
"""Results that a notebook shows."""
LETTERS_KEPT = 100
_CHUNK = 256


class Results:
    """The lazy results of a replay: each use (iteration, `head`, `counts`, `to_arrow`, `to_pandas`) runs it anew.

    So they take no memory. Events given as an iterator can be read only once; a second use raises InputError.
    """

    def __init__(
        self, make: Callable[[], Replay], source: Source, names: Sequence[str], warned: Sequence[str] = ()
    ) -> None:
        self._make = make
        self._source = source
        self._names = tuple(names)
        self._warned = warned  # warnings that the user has seen already
        self._spent = False
        self._replay: Replay | None = None
        self._letters: list[DeadLetter] = []

    def __iter__(self) -> Iterator[Result]:
        """`Match`, `Trend` and `Compressed` objects in the order of detection."""
        from saffron.engine.match.output.listing import whole

        yield from map(result_of, whole(map(read_result, self.lines())))

    def lines(self) -> Iterator[bytes]:
        """The results as JSON, each without a newline, as `saffron replay` prints them."""
        for merged in self._merged():
            for chunk in merged.json(_CHUNK):
                yield from chunk

    def head(self, n: int = 5) -> list[Result]:
        """The first n results."""
        return list(islice(self, n))

    def counts(self) -> dict[str, int]:
        """Name of a query -> number of results, counted without building them."""
        found: Counter[str] = Counter()
        for merged in self._merged():
            found.update(merged.counts())
        return {name: found[name] for name in self._names}

    def to_arrow(self, query: str | None = None) -> pa.Table:
        """All results of one query as a table (see `api.arrow_table`). `query`: its name, if there are several.

        The types are those of the schema and the plan, even without results.
        """
        from saffron.api.arrow_table import table_of

        name = self._named(query)
        rows = [data for line in self.lines() if (data := read_result(line))["query"] == name]
        assert self._replay is not None
        assert self._replay.schema is not None
        plan = self._replay.plans[self._replay.names.index(name)]
        return table_of(rows, plan, self._replay.schema)

    def to_pandas(self, query: str | None = None) -> pd.DataFrame:
        """The results of `to_arrow` as a data frame, where members of structs are columns (`return.gain`)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: install it (pip install pandas), or use to_arrow") from error
        frame = self.to_arrow(query).flatten().to_pandas()
        assert isinstance(frame, pd.DataFrame)
        return frame

    def why(self, asked: Result | str, *, query: str | None = None, events: int = 40) -> Explanation:
        """The explanation of a match, or of the last events of a key: the outcome of each event, and the reason.

        `asked`: a match, its id, or a key such as "symbol=IBM" ("a=1,b=x"; "*" for a query without [attr]). A key also
        explains a missing match. `query`: that of the key, if there are several. `events`: number of a key's events.
        """
        from saffron.api.explanation import Explanation
        from saffron.runtime.replay.why import Reader, trace_of, why

        if not self._source.again:
            raise InputError("why reads the events again; give a list, a file or a table instead of an iterator")
        wanted = asked.id if isinstance(asked, Match | Trend | Compressed) else asked
        if not isinstance(wanted, str):
            raise InputError(f"why is asked for a {type(asked).__name__}; give a match, its id, or a key")
        require_count("events", events)
        run = self._make()  # for its queries and schema; it is not run
        if run.partitions > 1:
            raise InputError("why looks at one partition: leave partitions out, and give its events")
        batches, merged = self._source.batches, self._source.merged
        reader = Reader(run.queries, lambda: batches(run.schema), run.schema, run.lenient, run.disorder, merged)
        if "=" in wanted or wanted == "*":
            name = self._named(query)
            return Explanation(trace_of(reader, run.queries[self._names.index(name)], wanted, events))
        (trace,) = why(reader, wanted, shown=events)
        return Explanation(trace)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the queries."""
        return self._names

    @property
    def figures(self) -> dict[str, Any]:
        """Figures of the last run so far: events, dead_letters, results by query, seconds, events_per_second, ..."""
        return {} if self._replay is None else self._replay.figures()

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """Bad and late events of the last run, the first hundred: reason, detail, offset, value."""
        return list(self._letters)

    def __repr__(self) -> str:
        of = f"{', '.join(self._names)} over {html.shortened(self._source.name, 60)}"
        if self._replay is None:
            return f"<saffron.Results of {of}: not run yet>"
        figures = self._replay.figures()
        events = counted(figures["events"], "event")
        return f"<saffron.Results of {of}: {sum(figures['results'].values()):,} from {events}>"

    def _repr_html_(self) -> str:
        """The HTML of the first results in a notebook: a table of matches, one of trends, and one of graphs of matches.

        The replay runs up to these results. Events that can be read only once are not read.
        """
        if not self._source.again:
            return html.details(repr(self), "Iterate over them: these events can be read only once.")
        found = self.head(SHOWN + 1)
        shown = found[:SHOWN]
        more = "and more: iterate, or .to_pandas()" if len(found) > SHOWN else f"{len(shown)} in all"
        body = [
            _table_of_matches([one for one in shown if isinstance(one, Match)]),
            _table_of_trends([one for one in shown if isinstance(one, Trend)]),
            _table_of_graphs([one for one in shown if isinstance(one, Compressed)]),
        ]
        return html.heading(", ".join(self._names), {}, more) + "".join(body)

    def _named(self, query: str | None) -> str:
        """The name of the query; InputError if it is missing or unknown."""
        if query is None and len(self._names) == 1:
            return self._names[0]
        if query in self._names:
            return str(query)
        if query is not None:
            raise InputError(no_query(query, self._names))
        raise InputError(f"which query? There are {', '.join(self._names)}; each has a table of its own")

    def _merged(self) -> Iterator[Merged]:
        """Run the replay: its merged results, with warnings at the end."""
        if self._spent and not self._source.again:
            raise InputError("these events were an iterator and have been read; give a list, a file or a table instead")
        self._spent = True
        letters: list[DeadLetter] = []
        self._letters = letters  # of this run; another may begin before it ends
        run = self._replay = self._make()
        batches = self._source.batches(run.schema) if run.merged is None else run.merged.batches()
        for merged in run.results(batches):
            _take_letters(run, letters)
            yield merged
        _take_letters(run, letters)
        for warning in run.warnings:
            if warning not in self._warned:
                warnings.warn(warning, stacklevel=3)
        lost = run.figures()["dead_letters"]
        if lost:
            first = letters[0]
            were, place = counted(lost, "event was", "events were"), first.place or f"event {first.offset}"
            message = f"{were} bad or late; the first: {place}: {first.reason}: {first.detail}"
            warnings.warn(f"{message} (Results.dead_letters has more)", stacklevel=3)
        for report in run.reports():
            warnings.warn(report, stacklevel=3)


def _take_letters(run: Replay, letters: list[DeadLetter]) -> None:
    """Add the dead letters of a run since the last call to `letters`, of which so many are kept."""
    letters += list(run.dead_letters())[: LETTERS_KEPT - len(letters)]


def replay(
    queries: QueryLike | Sequence[QueryLike],
    events: Any,
    *,
    schema: SchemaLike | None = None,
    lenient: bool = False,
    disorder: int | timedelta = 0,
    partitions: int = 1,
    key: str | None = None,
    stream: str | os.PathLike[str] | None = None,
) -> Results:
    """Run queries over events in this process, without a broker, on the same engine as behind Kafka.

    `queries`: one, or several with different names.
    `events`: one of
      - the path of a file (.ndjson, .jsonl, .csv, .parquet, each also .zst or .gz), or several paths for one stream;
      - an Arrow table, or anything that converts itself to one (data frames of pandas and polars);
      - an iterable of dicts with "type", "ts" and attributes.
    `schema`: of the events; else that of the compiled queries, else inferred from the first 10,000 events.
    `lenient`: names in a query that the schema lacks are warnings, not errors.
    `disorder`: the most that an event may be late, in ms or as a timedelta; later ones are dead letters.
    `partitions`, `key`: split the stream by an attribute, as producers on Kafka would.
    `stream`: the path of a definition that makes a stream of several topics; `events` are then the topics' files, by
    topic, and the definition says key and disorder.

    Raises QueryError for an invalid text, and at the first use of the results if a query does not fit the events;
    InputError for events that cannot be read. Warns of a query that can grow exponentially, and at the end of a run of
    bad and late events, which are counted and kept.
    """
    given = compile_all(queries, schema, lenient=lenient)
    compiled = given.queries
    require_count("partitions", partitions)
    if stream is not None and (key is not None or schema is not None or disorder):
        raise InputError("a definition says key, kinds and disorder: leave key, schema and disorder out")
    if stream is None and (partitions > 1) != (key is not None):
        raise InputError("partitions and key go together: partitions=4, key='symbol'")
    count = partitions if partitions > 1 else None
    asked = [query.text for query in compiled]
    source = source_of(events) if stream is None else merged_source(stream, events, count, asked)
    held = duration("disorder", disorder)

    warned = [warning for query in compiled for warning in query.warnings]
    for warning in warned:
        warnings.warn(warning, stacklevel=2)

    def make() -> Replay:
        """A new replay of the queries that has not run yet: each use of the results makes one.

        Numba is loaded by the first call.
        """
        from saffron.runtime.replay.fused import Query as Text
        from saffron.runtime.replay.replay import Replay  # this loads Numba

        texts = [Text(query.given_name, query.text) for query in compiled]
        merged = None if source.merged is None else source.merged()
        count = partitions if merged is None else merged.partitions
        return Replay(
            texts,
            schema=given.schema,
            lenient=given.lenient,
            disorder=held,
            partitions=count,
            key=key,
            merged=merged,
            ahead=source.ahead,
        )

    return Results(make, source, [query.name for query in compiled], warned)


def _table_of_matches(matches: Sequence[Match]) -> str:
    """The HTML table of matches, a row each; "" without matches.

    The keys and returned values of all matches become columns. A match that lacks one has a dash there.
    """
    if not matches:
        return ""
    keys = _names(one.key for one in matches)
    returned = _names(one.returns for one in matches)
    rows = [
        [
            one.query, html.moment(one.start), html.duration(one.end - one.start),
            *(one.key.get(name) for name in keys),
            " ".join(f"{name}[{len(e)}]" if isinstance(e, list) else name for name, e in one.events.items() if e),
            *(one.returns.get(name) for name in returned),
        ]
        for one in matches
    ]  # fmt: skip
    return html.table(["query", "start (UTC)", "took", *keys, "events", *returned], rows)


def _table_of_trends(trends: Sequence[Trend]) -> str:
    """The HTML table of trends, a row each; "" without trends.

    The group attributes and returned values of all trends become columns. A trend that lacks one has a dash there.
    """
    if not trends:
        return ""
    groups = _names(one.group for one in trends)
    returned = _names(one.returns for one in trends)
    rows = [
        [
            one.query,
            html.window_span(one.window),
            *(one.group.get(name) for name in groups),
            *(one.returns.get(name) for name in returned),
        ]
        for one in trends
    ]
    return html.table(["query", "window (UTC)", *groups, *returned], rows)


def _table_of_graphs(graphs: Sequence[Compressed]) -> str:
    """The HTML table of results of OUTPUT COMPRESSED, a row each; "" without any."""
    if not graphs:
        return ""
    keys = _names(one.key for one in graphs)
    rows = [[one.query, html.moment(one.end), *(one.key.get(name) for name in keys), one.count] for one in graphs]
    return html.table(["query", "end (UTC)", *keys, "matches"], rows)


def _names(values: Iterable[Iterable[str]]) -> list[str]:
    """Names of all values, each once, in the order in which they come first."""
    return list(dict.fromkeys(name for one in values for name in one))

"""A query tried on messages of a merged stream before it is added, in a process that can be ended at any time.

    python -m saffron.control.streams.trial MODULES

The process reads a pickled `Trial` from standard input, and writes its outcome to standard output, as JSON.
"""

from __future__ import annotations

import math
import os
import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from saffron.control.memory_left import limit_data
from saffron.control.result_body import shown_text
from saffron.control.streams.trial_request import Trial
from saffron.engine.events.raw import RawBatch
from saffron.engine.explain.chosen import plan_text, schema_of
from saffron.engine.why.as_dict import to_dict
from saffron.engine.why.as_text import lines
from saffron.errors import QueryError, SaffronError
from saffron.language import bind, explain_svg
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.tables.query_lookups import for_queries
from saffron.runtime.log import Record
from saffron.runtime.process.own_modules import import_modules
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.merged_stream import MergedMessages, Parts
from saffron.runtime.replay.replay import Replay
from saffron.runtime.replay.why import Reader, why
from saffron.runtime.streams.whole_tables import read_again

MOST_RESULTS = 100
"""Results that a trial shows; the others are counted."""
MOST_MEMORY = 2 * 2**30
"""Bytes of data that the process may have, where its container has as many."""
_BATCH = 4_096
_CHUNK = 16


def try_query(trial: Trial, clock: Callable[[], float] = time.monotonic) -> dict[str, Any]:
    """The first results of the query and the number of all, as JSON values.

    `whole`: whether all messages were read in the time there was. QueryError, SaffronError: it cannot run.
    """
    merged = _merged(trial, trial.partitions)
    run = Replay([Query("trial", trial.query)], lenient=True, merged=merged, partitions=trial.partitions)
    found: list[Any] = []
    letters: Counter[str] = Counter()
    count, whole, until = 0, True, math.inf
    for results in run.results(merged.batches()):
        until = min(until, clock() + trial.seconds)  # from the first block on: before it kernels are compiled
        letters.update(one.reason for one in run.dead_letters())
        count += sum(results.counts().values())
        for texts in results.json(_CHUNK) if len(found) < MOST_RESULTS else ():
            found += map(shown_text, texts[: MOST_RESULTS - len(found)])
            if len(found) == MOST_RESULTS:
                break
        if clock() > until:
            whole = False
            break
    letters.update(one.reason for one in run.dead_letters())
    figures = run.figures()
    return {
        **_plan(run),
        "results": found,
        "count": count,
        "events": figures["events"],
        "refused": dict(letters),
        "reports": [*run.reports(), *read_again(trial.tables)],
        "seconds": figures["seconds"],
        "whole": whole,
    }


def explain(trial: Trial, ask: str) -> dict[str, Any]:
    """The explanation of the key's newest events, as `saffron query why` gives it. InputError: there is no such key."""
    query, open_all = Query("trial", trial.query), partial(_merged, trial, 1)
    open_all().require(bind(trial.query, None, name=query.name, lenient=True).plan.stream)
    reader = Reader([query], lambda: open_all().batches(), lenient=True, merged=open_all)
    (trace,) = why(reader, ask)
    return {**to_dict(trace), "text": "\n".join(lines(trace))}


def _plan(run: Replay) -> dict[str, Any]:
    """The query's name, and its plan as the API shows it."""
    (plan,) = run.plans
    return {
        "name": plan.name,
        "warnings": run.warnings,
        "explain": plan_text(plan, schema_of(plan, run.schema)),
        "svg": explain_svg(plan),
    }


def _merged(trial: Trial, partitions: int) -> MergedMessages:
    """The messages of a trial as the stream's, from their beginning."""
    definition = for_queries(read_definition(trial.definition), [trial.query])
    messages = {
        source.topic: [
            _parts(*trial.messages[place]) for place in sorted(trial.messages) if place.topic == source.topic
        ]
        for source in definition.sources
    }
    return MergedMessages(definition, messages, partitions, trial.max_future, trial.tables)


def _parts(records: Sequence[Record], batch: RawBatch) -> Parts:
    """The messages of one source partition, in pieces."""
    for start in range(0, len(records), _BATCH):
        stop = min(start + _BATCH, len(records))
        yield records[start:stop], batch.part(start, stop)


# ------------------------------------------------------------ the process


def main() -> None:
    """Runs one trial. Standard output has the outcome alone: what a user's module prints goes to the errors."""
    os.nice(5)  # detection goes first
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    memory = limit_data(MOST_MEMORY)
    import_modules(sys.argv[1])
    outcome = _outcome(pickle.load(sys.stdin.buffer), memory)  # noqa: S301  the service itself has written it
    with answer:
        answer.write(orjson.dumps(outcome, option=orjson.OPT_NON_STR_KEYS))


def _outcome(trial: Trial, memory: int) -> Mapping[str, Any]:
    """The outcome, or the error: of a query with its place. `memory`: bytes of data that the process may have."""
    try:
        return try_query(trial) if trial.ask is None else explain(trial, trial.ask)
    except QueryError as error:
        parts = ("message", "stage", "text", "start", "end", "hint")
        return {"query_error": {name: getattr(error, name) for name in parts}}
    except SaffronError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"the query needs more than {memory >> 20:,} MiB on these messages: try it on fewer"}


if __name__ == "__main__":
    main()

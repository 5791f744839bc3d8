"""`saffron backfill`: the engine over history that outgrows one machine, on Spark."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.queries.texts import bind_text, read_texts
from saffron.mapping.schema_file import schema_at

_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(, *\d+)?\])?|local-cluster\[.+\]|yarn|(spark|k8s|mesos)://.+")


def _master(text: str) -> str:
    """Spark's master. BadParameter: it is none, which Spark would say after a start."""
    if not _MASTER.fullmatch(text):
        raise typer.BadParameter(
            f"{text!r} is no master of Spark: local, local[4], local[*], yarn, spark://HOST:PORT, ..."
        )
    return text


def backfill(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES...", help="Files, directories or patterns, as Spark reads them.")
    ],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Directory for the results; it must not be there.")],
    query: options.QueryFiles = None,
    text: options.QueryTexts = None,
    form: Annotated[Literal["jsonl", "parquet"], typer.Option("--format", help="Of the results.")] = "jsonl",
    schema: options.EventSchema = None,
    lenient: options.Lenient = False,
    master: Annotated[str, typer.Option(parser=_master, metavar="URL", help="Spark's master.")] = "local[*]",
    conf: Annotated[
        list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's, as for spark-submit.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what came of it as one JSON object.")] = False,
) -> None:
    """Run queries over history on Spark; the results are those of `saffron replay`, to the byte.

    Files: Parquet, JSON lines (`.ndjson`, `.jsonl`, `.json`) and CSV, each also `.zst` or `.gz`, of one stream. Events
    are sorted by their times, so that none is late. Bad ones are counted, and lie with their reason in
    DIR/_dead-letters. Results stand in the order of their last event's time.

    Examples:

        saffron backfill -q rally.saf quotes/ --out rallies

        saffron backfill -q rally.saf 's3a://quotes/2024-*/*.parquet' --out s3a://results/rallies --format parquet
        --master spark://head:7077 --conf spark.executor.memory=4g
    """
    settings = dict(map(_setting, conf or []))
    queries = read_texts(query or [], text or [], "name its file with -q")
    known = schema_at(schema) if schema else None
    for one in queries:  # errors of the text alone need not wait for Spark
        bind_text(one.text, known if not lenient else None, one.name)
    from saffron.history.backfill import Work
    from saffron.history.backfill import backfill as run
    from saffron.history.progress import Progress
    from saffron.history.session import opened
    from saffron.runtime.replay.fused import Query

    work = Work(tuple(Query(one.name, one.text) for one in queries), tuple(files), out, form, known, lenient)
    progress = Progress(console.step, console.progress) if console.is_live() else Progress(console.step)
    progress.step("starting Spark")
    with opened(master, settings) as session:
        done = run(session, work, lambda warning: console.say(f"warning: {warning}"), progress)
    console.done()
    if json:
        console.print_json(done.figures())
        return
    for name, count in done.results.items():
        print(orjson.dumps({"query": name, "results": count}).decode(), flush=True)
    for line in done.warnings(out):
        console.say(line)


def _setting(given: str) -> tuple[str, str]:
    name, sign, value = given.partition("=")
    if not sign or not name:
        raise typer.BadParameter(f"--conf is {given!r}; it must be KEY=VALUE, as spark.executor.memory=4g")
    return name.strip(), value.strip()

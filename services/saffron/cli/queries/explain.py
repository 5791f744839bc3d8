"""`saffron explain`: the plan of a query, before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer

from saffron.cli import console
from saffron.cli.queries.texts import bind_text, read_texts
from saffron.engine.explain.chosen import plan_json, plan_text, schema_of
from saffron.engine.operators.composition import bind_together
from saffron.language import explain_svg
from saffron.language.cost.shedders import AUTO, refusal
from saffron.language.trends.sharing import sharing
from saffron.mapping.schema_file import schema_at


def explain(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files with one query each.")] = None,
    query: Annotated[list[Path] | None, typer.Option("-q", "--query", help="The same, as in `saffron replay`.")] = None,
    text: Annotated[list[str] | None, typer.Option("-e", "--text", help="The query itself.")] = None,
    format: Annotated[Literal["text", "json", "svg"], typer.Option(help="How to print the plan.")] = "text",
    schema: Annotated[Path | None, typer.Option(help="JSON Schema of the stream; checks names and kinds.")] = None,
    kernel: Annotated[bool, typer.Option("--kernel", help="The generated kernels instead of the plan.")] = False,
    shed: Annotated[str, typer.Option(metavar="NAME", help="Its shedder, on which its partial matches depend.")] = AUTO,
) -> None:
    """Print the plan: automaton, outline or template, conditions, strategy, window, key, complexity and why,
    the engine that will run it and why.

    Of several aggregate queries, also which of them share a graph, and why others do not.

    `--kernel` prints the generated Python that is compiled for the query, with what its names stand for. Kinds of
    attributes come from `--schema`.

    Examples:

        saffron explain rally.saf

        saffron explain -e 'PATTERN SEQ(A a, B+ b[]) WITHIN 1 hour' --format svg > plan.svg

        saffron explain rally.saf --schema quotes.schema.json --kernel > rally.py
    """
    if wrong := refusal(shed):
        raise typer.BadParameter(wrong, param_hint="--shed")
    if kernel and format != "text":
        raise typer.BadParameter("kernels are text: leave --format out", param_hint="--kernel")
    known = schema_at(schema) if schema else None
    texts = [(one.name, one.text) for one in read_texts([*(files or []), *(query or [])], text or [])]
    together = list(bind_together(texts, known, bind_text))
    for bound in together:
        plan = bound.plan
        others = [other.plan for other in together if other is not bound]
        reads = schema_of(plan, known, others)
        for warning in bound.warnings:
            console.say(warning)
        shares = sharing(plan, others)
        if kernel:
            from saffron.engine.explain.kernel_text import kernel_text  # loads Numba

            sys.stdout.write(kernel_text(plan, reads, shed))
        elif format == "json":
            shown = plan_json(plan, reads, shed) | ({"shares": shares} if shares else {})
            sys.stdout.write(orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode() + "\n")
        elif format == "text":
            sys.stdout.write(plan_text(plan, reads, shed) + (f"\nshares\n  {shares}\n" if shares else "") + "\n")
        else:
            sys.stdout.write(explain_svg(plan) + "\n")

"""Result ids of streams that were removed and created again. Sequence numbers begin again there; ids must not."""

from __future__ import annotations

from dataclasses import replace

from saffron.engine.operators.standing import Compiler, compile_text
from saffron.language.plan.plan import Plan
from saffron.records.stream import StreamRecord
from saffron.schema.schema import Schema


def compiler_of(stream: StreamRecord) -> Compiler:
    """The compiler of queries over a stream.

    A result's id is a hash of the query's text. The text names the stream's generation, unless it is the first.
    """
    if stream.generation == 1:
        return compile_text

    def compile_for(text: str, schema: Schema | None, name: str) -> Plan:
        plan = compile_text(text, schema, name)
        return replace(plan, text=f"{plan.text}\ngeneration {stream.generation}")

    return compile_for

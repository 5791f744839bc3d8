"""The queries whose results another one reads (INTO, N11), run beside its trace: their results of each block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from saffron.engine.events.block import Block, Control
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.runs.derived import Made
from saffron.engine.operators.composition import made_by, makers_of, read_by, with_types
from saffron.engine.operators.results import Results
from saffron.engine.operators.standing import Compiler
from saffron.engine.why.bindings import MADE, Event, Origin
from saffron.language.cost.shedders import NONE
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.syntax.delivery import whole_text
from saffron.schema.numbers import fits, number_of
from saffron.schema.schema import Kind, Schema

_ID = len(b'{"id":"')
_WORD = 16  # hex digits of 64 bits


def read_beside(
    plan: MatchPlan,
    schema: Schema,
    others: Mapping[str, Plan],
    texts: Mapping[str, str],
    compiler: Compiler,
    *,
    partition: int = 0,
) -> tuple[Schema, Makers | None]:
    """The schema that a query is bound to, and what makes the events in it that are none of the stream.

    `schema`: the stream's. `others`, `texts`: the queries beside it, by name.
    """
    read = read_by(plan, made_by(others.values()))
    if not read:
        return schema, None
    bound_to = with_types(schema, read)
    chosen = [(name, texts[name]) for name in makers_of(plan, others)]
    return bound_to, Makers(chosen, schema, tuple(read), kinds=bound_to.kinds, compiler=compiler, partition=partition)


class Makers:
    """The operators of the queries whose results another one reads (INTO). Their results have all events.

    They take the blocks from the first one on, which may be in the middle of the stream. `texts`: (name, text), each
    after those whose results it reads. `schema`: the stream's. `types`: the types that the reader has, in the order of
    results at one place. `kinds`: of their attributes.
    """

    def __init__(
        self,
        texts: Sequence[tuple[str, str]],
        schema: Schema,
        types: Sequence[str],
        *,
        kinds: Mapping[str, Kind],
        compiler: Compiler,
        partition: int = 0,
    ) -> None:
        self._operator = MatchOperator(partition=partition, compiler=compiler)
        self._types = list(types)
        self._kinds = kinds
        self._opening: tuple[tuple[str, dict[str, Any]], ...] = (
            ("schema", {"schema": schema_to_record(schema)}),
            *(("query", _added(name, whole_text(text))) for name, text in texts),
        )
        self._last = (-1, 0)

    def results(self, block: Block) -> Results:
        """The results of a block."""
        controls = tuple(Control(block.first_seq, kind, body) for kind, body in self._opening)
        self._opening = ()
        return self._operator.apply(replace(block, controls=controls))

    def of(self, block: Block) -> list[Event]:
        """The events that stand among those of a block, or before them, in order."""
        results = self.results(block)
        wanted = [(name, one) for name, one in self._operator.made if one.type in self._types]
        if not wanted:
            return []
        texts = _by_id(results)
        made = [event for name, one in wanted for event in self._events(name, one, texts)]
        made.sort(key=lambda event: (event["ts"], event["seq"], self._types.index(event["type"])))
        return [self._numbered(event) for event in made]

    def _events(self, name: str, made: Made, texts: dict[bytes, bytes]) -> Iterable[Event]:
        for row in range(len(made)):
            text = texts[b"%016x" % (int(made.result[row]) & 0xFFFFFFFFFFFFFFFF)]
            own = {"seq": int(made.seq[row]), "ts": int(made.ts[row]), "type": made.type}
            values = {one: _as_read(column[row], self._kinds[one]) for one, column in made.attributes.items()}
            present = {one: value for one, value in values.items() if value is not None}
            yield {**own, **present, MADE: Origin(0, name, text)}

    def _numbered(self, event: Event) -> Event:
        """TraceInput from those that stand behind the same event of the stream."""
        seq, order = self._last
        self._last = (event["seq"], order + 1 if seq == event["seq"] else 1)
        return {**event, MADE: event[MADE]._replace(order=self._last[1])}


def _added(name: str, text: str) -> dict[str, Any]:
    return {"op": "add", "name": name, "version": 1, "text": text, "slot": 0, "from": "now", "shed": NONE}


def _by_id(results: Results) -> dict[bytes, bytes]:
    """The results by the first half of their ids."""
    return {text[_ID : _ID + _WORD]: text for text in results.json(0, len(results))}


def _as_read(value: Any, kind: Kind) -> Any:
    """A value as the reader's column has it: null where it is of another kind."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind.is_number:
        return number_of(value) if number and fits(value, kind) else None
    return value if isinstance(value, str if kind is Kind.STRING else bool) else None


def made_of(origin: Origin) -> dict[str, Any]:
    """The result that an event was, as JSON."""
    found: dict[str, Any] = orjson.loads(origin.result)
    return found

"""Every text case: the engine that is named is the one that runs, and its kernels are Python that can be read."""

from __future__ import annotations

import pytest

from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import batch_of_lines
from saffron.engine.events.strings import Strings
from saffron.engine.explain.chosen import choice_of, plan_json, plan_text, schema_of
from saffron.engine.explain.kernel_text import kernel_text
from saffron.engine.match.output.graph_results import Collapsing
from saffron.engine.match.output.reporting import Listing
from saffron.engine.match.queries.kinds import start
from saffron.engine.match.runs.graph import Linking
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.scan import Scanning
from saffron.engine.match.runs.stepping import Stepping
from saffron.engine.match.uncertain.runs import UncertainRuns
from saffron.engine.operators.aggregates import registered
from saffron.engine.operators.engine_choice import Engine
from saffron.language import compile_query
from saffron.language.cost.shedders import AUTO, NONE
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.schema.schema import Schema
from tests.patterns.aggregates import known
from tests.patterns.case import Case
from tests.patterns.test_cases import RUNNABLE, ids

PARTS = {
    Engine.SCAN: (Scanning, Listing),
    Engine.FLAT: (Stepping, Listing),
    Engine.TABLE: (Stepping, Listing),
    Engine.GRAPHS: (Linking, Listing),
    Engine.COLLAPSED: (Linking, Collapsing),
}


def bound(text: str, schema: Schema) -> Plan:
    return compile_query(text, schema, name="case", lenient=True, aggregates=frozenset(registered()))


@pytest.mark.parametrize("shed", [NONE, AUTO, "pspice"])
@pytest.mark.parametrize("case", RUNNABLE, ids=ids)
def test_engine_and_kernels(case: Case, shed: str) -> None:
    with known(case.sections.get("aggregates", "").split()):
        events = infer_schema([batch_of_lines(case.events())])
        plan = bound(case.sections["query"], events)
        schema = schema_of(plan, events, [bound(text, events) for text in case.beside().values()])
        choice = choice_of(plan, schema, shed)
        assert plan_json(plan, schema, shed)["engine"] == {"name": choice.engine.value, "reason": choice.reason}
        assert f"\n  engine   {choice.engine.value}: " in plan_text(plan, schema, shed)
        if isinstance(plan, MatchPlan):
            runs = start(plan, schema, Strings(), slot=0, compiled=False, shed=shed)
            assert isinstance(runs, UncertainRuns) is (choice.engine is Engine.IMPRECISE)
            if isinstance(runs, QueryRuns):
                assert (type(runs.source), type(runs.reporter)) == PARTS[choice.engine]
            if isinstance(runs, QueryRuns) and not isinstance(runs.source, Linking):
                assert runs.program.flat is (choice.engine is not Engine.TABLE)
                assert runs.program.merging == choice.merging
        else:
            assert choice.engine is (Engine.EXACT_TRENDS if plan.exact else Engine.TRENDS)
        text = kernel_text(plan, schema, shed)
        compile(text, "kernels", "exec")
        assert text.splitlines()[1] == f"# engine {choice.engine.value}: {choice.reason}"
        assert "\ndef " in text

"""The choice of the engine that counts trends."""

from __future__ import annotations

from saffron.engine.operators.engine_choice import Engine, EngineChoice
from saffron.engine.trends.core.graphs import Graphs
from saffron.engine.trends.core.limits import check


def engine_of_graphs(graphs: Graphs) -> EngineChoice:
    """The engine of a plan's graphs. SaffronError for what no engine can hold."""
    check(graphs)
    if graphs.plan.exact:
        return EngineChoice(Engine.EXACT_TRENDS, "EXACT asks for integers of any size, which no compiled kernel has")
    return EngineChoice(Engine.TRENDS, "trends are aggregated, none is listed; kernels are made for this query")

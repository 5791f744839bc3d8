"""The text that updates a run's features of a component when the run takes an event (N6)."""

from __future__ import annotations

from dataclasses import replace

from saffron.engine.match.core.automaton import Feature, What
from saffron.engine.match.core.kernel_layout import null_text, updated
from saffron.engine.match.core.source.lines import Lines
from saffron.engine.match.core.source.user_functions import step_name
from saffron.engine.match.general.automaton import BOUND
from saffron.engine.match.general.source.readers import LaneReader
from saffron.engine.operators.aggregates import require


def neutral(feature: Feature) -> str:
    """The value of a feature before its component has bound an event."""
    if feature.what in (What.SUM, What.MEAN, What.SPREAD, What.NUMBER):
        return "0.0"
    if feature.what is What.FOLD:
        return f"({require(feature.function).initial!r})"
    return "0" if feature.what is What.LENGTH else null_text(feature.kind)


def write_updates(out: Lines, component: int, read: LaneReader) -> None:
    """Change the lane's features of a component for the event at hand, in the order of `What`."""
    mine = [f for f in read.state.features if f.component == component]
    for feature in sorted(mine, key=lambda f: (f.what.value, -f.back)):
        lane = read.text(feature)
        if feature.what is What.NTH:
            out(f"if {read.text(Feature(component, What.LENGTH))} == {feature.back - 1}:")
            out(f"    {lane} = x{read.names.attribute(feature.name, feature.kind)}")
        elif feature.back and feature.what is not What.PREVIOUS:
            out(f"{lane} = {read.text(replace(feature, back=0))}")
        elif feature.what is What.FIRST:
            event = f"x{read.names.attribute(feature.name, feature.kind)}"
            out(f"if {read.text(BOUND)} & {1 << component} == 0:")
            out(f"    {lane} = {event}")
        elif feature.what is What.FOLD:
            number = read.names.attribute(feature.name, feature.kind)
            out(f"if k{number} != 0.0:")
            out(f"    {lane} = {step_name(feature.function)}({lane}, z{number})")
        else:
            out(f"{lane} = {updated(feature, read.names, read)}")

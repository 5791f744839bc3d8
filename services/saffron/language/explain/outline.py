"""Explanations of patterns that are not flat: an outline, the possible successions, conditions, NOTs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from saffron.durations import duration
from saffron.language.explain.evaluation_time import evaluation_time
from saffron.language.explain.explained import variables_of
from saffron.language.patterns.links import Link, positions
from saffron.language.plan import pattern as plans
from saffron.language.plan.formulas import formula
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Absence, Check, Shape, Strategy
from saffron.language.plan.rewrite import reads
from saffron.language.syntax.paths import attribute_text

SKIPPING = {
    Strategy.STRICT: "nothing in between",
    Strategy.PARTITION: "nothing of the key in between",
    Strategy.NEXT: "what does not fit is skipped",
    Strategy.ANY: "anything may be skipped",
}


def outline(shape: Shape, plan: MatchPlan, depth: int = 0) -> Iterator[str]:
    """Lines of the pattern as an indented tree, one for each node."""
    indent = "  " * depth
    match shape:
        case plans.Take(component=component):
            taken = plan.components[component]
            yield f"{indent}{taken.types} {taken.variable}" + ("[]" if taken.closure else "")
        case plans.Absent(number=number, since=since):
            counted = ", ".join(plan.components[one].variable for one in sorted(since))
            yield indent + _absence_heading(number, plan) + (f", since the last of {counted}" if since else "")
        case plans.InOrder(parts=()):
            yield f"{indent}nothing"
        case plans.Loop(body=body, low=low, high=high, until=until):
            ended = (
                "" if until is None else f", {absence_name(until, plan)}: {absence_line(plan.absences[until], plan)}"
            )
            yield f"{indent}repeated, {times(low, high)}{ended}"
            yield from outline(body, plan, depth + 1)
        case plans.InOrder(parts=parts) | plans.Choice(parts=parts) | plans.Interleaved(parts=parts):
            yield indent + _heading(shape)
            for part in parts:
                yield from outline(part, plan, depth + 1)


def _heading(shape: plans.InOrder | plans.Choice | plans.Interleaved) -> str:
    """The line of a node with parts: `in order`, `one of`, `all of, in any order`."""
    if isinstance(shape, plans.InOrder):
        return "in order"
    if isinstance(shape, plans.Choice):
        return "one of"
    return "all of, in any order" if shape.count == len(shape.parts) else f"{shape.count} of, in any order"


def times(low: int, high: int | None) -> str:
    """`once or more`, `3 times`, `2 to 4 times`."""
    if high is None:
        return "once or more" if low == 1 else f"{low} times or more"
    if low == high:
        return "once" if low == 1 else f"{low} times"
    return f"{low} to {high} times"


def _absence_heading(number: int, plan: MatchPlan) -> str:
    """The line of a NOT: the events that it rules out, and its time; in an OR also the other sides."""
    if plan.absences[number].or_else:
        return absence_name(number, plan)
    text = not_text(plan, number).removeprefix("NOT ")
    return f"NOT {number + 1}: {text}" + ", unless another side comes first" * _is_side(number, plan)


def _is_side(number: int, plan: MatchPlan) -> bool:
    """True if a NOT is a side of an OR: its counterpart before the other sides has the next number."""
    return number + 1 < len(plan.absences) and plan.absences[number + 1].or_else


def absence_name(number: int, plan: MatchPlan) -> str:
    """The name of a NOT or an UNTIL in lines: its number."""
    if plan.absences[number].or_else:
        return f"unless NOT {number} came first"
    return f"{'UNTIL' if plan.absences[number].until else 'NOT'} {number + 1}"


def not_text(plan: MatchPlan, number: int) -> str:
    """A NOT with its time, or an UNTIL, as text, without the events of its OR's other sides."""
    absence = plan.absences[number + _is_side(number, plan)]
    return f"{'UNTIL' if absence.until else 'NOT'} {absence_line(absence, plan)}{_lasting(absence)}"


def _lasting(absence: Absence) -> str:
    """The time of a NOT as the language writes it, or ""."""
    if absence.duration is None:
        return ""
    return f" {'EVERY' if absence.every else 'FOR'} {duration(absence.duration)}"


def absence_line(absence: Absence, plan: MatchPlan) -> str:
    """The sequences of a NOT: `B b`, `C c then D d`, joined by `or`."""
    return " or ".join(
        " then ".join(f"{plan.components[one].types} {plan.components[one].variable}" for one in sequence)
        for sequence in absence.sequences
    )


def link_lines(plan: MatchPlan) -> list[str]:
    """Lines of the possible successions of components, each with its strategy and its NOTs."""
    found = positions(plan.pattern)
    names = variables_of(plan)
    lines = [f"begin -> {names[one]}" + _nots(absent, plan) for one, absent in found.first.items()]
    lines += [
        f"{names[link.source]} -> {names[link.target]}  {'again, ' * link.again}{skipping(link, plan)}"
        + _nots(link.absent, plan)
        for link in sorted(found.links, key=lambda link: (link.source, link.target))
    ]
    return lines + [f"{names[one]} -> match" + _nots(absent, plan) for one, absent in found.last.items()]


def skipping(link: Link, plan: MatchPlan) -> str:
    """The events that may be skipped along a link, as text."""
    return SKIPPING[(plan.continues if link.again else plan.begins)[link.target]]


def _nots(absent: frozenset[int], plan: MatchPlan) -> str:
    return "".join(f"  {absence_name(number, plan)}" for number in sorted(absent))


def condition_lines(plan: MatchPlan) -> list[str]:
    """Lines of the checks, each with its evaluation time; those of a NOT have its number."""
    names = variables_of(plan)
    lines = [f"{formula(check.expr, names)}  ({evaluation_time(check, plan)})" for check in plan.checks]
    for rule in plan.distinct:
        inside = f" of one iteration of the repetition around {names[rule.components[0]]}" if rule.loops else ""
        listed = ", ".join(names[component] for component in rule.components)
        lines.append(f"different {attribute_text(rule.attribute)}: {listed}{inside}")
    for number, absence in enumerate(plan.absences):
        if not absence.or_else:
            checks = _own_checks(number, plan)
            lines.extend(f"{formula(check.expr, names)}  (of {absence_name(number, plan)})" for check in checks)
    return lines


def _own_checks(number: int, plan: MatchPlan) -> list[Check]:
    """The checks of a NOT, without those on the events of its OR's other sides."""
    absence = plan.absences[number]
    if not _is_side(number, plan):
        return list(absence.checks)
    own = {component for sequence in plan.absences[number + 1].sequences for component in sequence}
    rivals = set(absence.components) - own
    return [check for check in absence.checks if not rivals & {leaf.component for leaf in reads(check.expr)}]


def strategy_line(plan: MatchPlan) -> str:
    """The strategy of the pattern, and those of steps that differ."""
    parts = [plan.strategy.value]
    for begin, later, part in zip(plan.begins, plan.continues, plan.components, strict=False):
        if begin is not plan.strategy:
            parts.append(f"{begin.value} for {part.variable}")
        if part.closure and later is not plan.strategy:
            parts.append(f"{later.value} for {part.variable}[i]")
    return ", ".join(parts)


# ---------------------------------------------------------------- for programs


def shape_json(shape: Shape, plan: MatchPlan) -> dict[str, Any]:
    """The pattern as nested JSON values."""
    match shape:
        case plans.Take(component=component):
            return {"event": plan.components[component].variable}
        case plans.Absent(number=number, since=since):
            counted = {"since": [plan.components[one].variable for one in sorted(since)]} if since else {}
            return {"not": number, **counted}
        case plans.Loop(body=body, low=low, high=high, until=until):
            ended = {} if until is None else {"until": until}
            return {"repeat": shape_json(body, plan), "low": low, "high": high, **ended}
        case plans.InOrder(parts=parts):
            return {"seq": [shape_json(part, plan) for part in parts]}
        case plans.Choice(parts=parts):
            return {"or": [shape_json(part, plan) for part in parts]}
        case plans.Interleaved(parts=parts, count=count):
            return {"and": [shape_json(part, plan) for part in parts], "count": count}


def _lasting_json(absence: Absence) -> dict[str, Any]:
    """The time of a NOT as JSON values."""
    return {"duration": absence.duration, "every": absence.every, "or_else": absence.or_else}


def outline_json(plan: MatchPlan) -> dict[str, Any]:
    """The content of `outline`, `link_lines` and `condition_lines` as JSON values."""
    names = variables_of(plan)
    found = positions(plan.pattern)
    return {
        "pattern": shape_json(plan.pattern, plan),
        "begins": [names[component] for component in found.first],
        "links": [
            {
                "from": names[link.source],
                "to": names[link.target],
                "strategy": (plan.continues if link.again else plan.begins)[link.target].value,
                "not": sorted(link.absent),
            }
            for link in found.links
        ],
        "ends": [names[component] for component in found.last],
        "conditions": [
            {"expression": formula(check.expr, names), "text": check.text, "asked": evaluation_time(check, plan)}
            for check in plan.checks
        ],
        "distinct": [
            {"attribute": rule.attribute, "variables": [names[component] for component in rule.components]}
            for rule in plan.distinct
        ],
        "absences": [
            {
                "sequences": [[names[component] for component in sequence] for sequence in absence.sequences],
                "conditions": [formula(check.expr, names) for check in absence.checks],
                **({} if absence.duration is None else _lasting_json(absence)),
                **({"until": True} if absence.until else {}),
            }
            for absence in plan.absences
        ],
    }

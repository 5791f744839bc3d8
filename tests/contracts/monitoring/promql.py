"""What an expression of PromQL reads: metrics with the labels that are named of them, and how counters are used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import promql_parser as promql

from saffron.runtime.telemetry.metric_kinds import Counter, Histogram
from saffron.runtime.telemetry.metric_names import METRICS

TARGET = frozenset({"namespace", "pod", "job"})
"""Labels that Prometheus puts to what it scrapes."""
_GROWTH = frozenset({"rate", "increase"})
FIRST_COUNT = re.compile(
    r"(increase\((\w+)\[(\w+)\]\) > 0)\s+or \(\2 > 0 unless last_over_time\(\2\[1h\] offset \3\) > 0\)"
)
"""What fires for a counter that grows, and for one that begins above 0 within the same time."""
_OWNERS = frozenset({"stream", "topic", "query"})
"""Labels of which one says whose partition it is that the label `partition` has the number of."""


@dataclass(frozen=True)
class Exported:
    """One series as /metrics shows it."""

    labels: frozenset[str]
    grows: bool


def exported() -> dict[str, Exported]:
    """By name, all that services export."""
    found: dict[str, Exported] = {}
    for metric in METRICS:
        labels = frozenset(metric.labels)
        if isinstance(metric, Histogram):
            found |= {f"{metric.name}_{end}": Exported(labels, True) for end in ("count", "sum")}
            found[f"{metric.name}_bucket"] = Exported(labels | {"le"}, True)
        elif isinstance(metric, Counter):
            found[f"{metric.name}_total"] = Exported(labels, True)
        else:
            found[metric.name] = Exported(labels, False)
    return found


def breaches(expr: str, known: dict[str, Exported]) -> list[str]:
    """What is wrong with an expression, as sentences."""
    tree = promql.parse(FIRST_COUNT.sub(r"\1", expr).replace("$__rate_interval", "5m"))
    return list(_breaches(tree, known, under=""))


def labels_of(expr: str, known: dict[str, Exported]) -> frozenset[str]:
    """Labels that its metrics have, those of their targets included."""
    names = [node.name for node in _nodes(promql.parse(expr.replace("$__rate_interval", "5m"))) if _selects(node)]
    return TARGET.union(*(known[name].labels for name in names if name in known))


def _breaches(node: Any, known: dict[str, Exported], under: str) -> Iterator[str]:
    """`under`: the function that a selector stands in."""
    if _selects(node):
        yield from _of_selector(node, known, under)
    if isinstance(node, promql.AggregateExpr) and node.modifier is not None:
        yield from _of_labels(node.modifier.labels, node, known)
    if isinstance(node, promql.BinaryExpr) and node.modifier is not None and node.modifier.matching is not None:
        yield from _of_labels(node.modifier.matching.labels, node, known)
    inside = node.func.name if isinstance(node, promql.Call) else under
    for child in _children(node):
        yield from _breaches(child, known, inside)


def _of_selector(node: Any, known: dict[str, Exported], under: str) -> Iterator[str]:
    if node.name not in known:
        yield f"nobody exports {node.name}"
        return
    for matcher in node.matchers.matchers:
        if matcher.name not in known[node.name].labels | TARGET:
            yield f"{node.name} has no label {matcher.name!r}"
    if known[node.name].grows != (under in _GROWTH):
        yield f"{node.name} stands in {under or 'no function'}"


def _of_labels(labels: list[str], node: Any, known: dict[str, Exported]) -> Iterator[str]:
    if "partition" in labels and not _OWNERS & set(labels):
        yield f"partitions of all streams are one by {', '.join(labels)}"
    for name in (one.name for one in _nodes(node) if _selects(one)):
        for label in set(labels) - TARGET - (known[name].labels if name in known else frozenset()):
            yield f"{name} has no label {label!r}"


def _selects(node: Any) -> bool:
    return isinstance(node, promql.VectorSelector)


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in _children(node):
        yield from _nodes(child)


def _children(node: Any) -> list[Any]:
    if isinstance(node, promql.BinaryExpr):
        return [node.lhs, node.rhs]
    if isinstance(node, promql.Call):
        return list(node.args)
    if isinstance(node, promql.MatrixSelector):
        return [node.vector_selector]
    return [node.expr] if hasattr(node, "expr") else []

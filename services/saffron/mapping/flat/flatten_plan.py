"""A source's definition as arrays for the flattening kernel. Named tuples: one compilation serves all definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.mapping.definition import AttributeRule, Envelope, OfMessage, Origin, SourceDefinition, TimeFormat
from saffron.mapping.kinds import As
from saffron.mapping.mapper import FIELDS, OWN, RESERVED
from saffron.mapping.paths import Path

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

NONE = -1
DROPPED, KEPT = 0, 1
ROLE_PLAIN, ROLE_NUMBER, ROLE_TEXT, ROLE_BOOLEAN, ROLE_TYPE, ROLE_TIME = range(6)
BY_CONSTANT, BY_FIELD, BY_MESSAGE = range(3)
_ROLES = {None: ROLE_PLAIN, As.NUMBER: ROLE_NUMBER, As.TEXT: ROLE_TEXT, As.BOOLEAN: ROLE_BOOLEAN}
_POWERS = {TimeFormat.SECONDS: 3, TimeFormat.MILLISECONDS: 0, TimeFormat.MICROSECONDS: -3, TimeFormat.NANOSECONDS: -6}
_MOST_NAMES, _LONGEST_PREFIX = 256, 1024
"""Names of a message that no rule names, and bytes of a path: beyond, the exact path reads it."""


class Plan(NamedTuple):
    """A tree of the names that rules name, n nodes (node 0 is the message), and k outputs.

    Children of a node are consecutive: node c is a child of j where first_child[j] <= c < first_child[j + 1].
    """

    first_child: Ints  # [n + 1]
    names: Bytes  # the nodes' names end to end
    bounds: Ints  # [n + 1] in `names`
    kept: Ints  # [n] KEPT: the leaf goes on under its own path, too
    first_use: Ints  # [n + 1] in `used`
    used: Ints  # outputs of the leaves; two spellings of a path share theirs
    role: Ints  # [k] ROLE_*
    output_names: Bytes  # `"name":` of each output
    output_bounds: Ints  # [k + 1]
    keeps: int  # 1: leaves that no rule names go on
    dotted: int  # 1: some rule names a path of several names
    type_by: int
    type_output: int
    type_map: int  # 1: `map_text` has the names
    constant: Bytes  # the type, as JSON without quotes
    map_text: Bytes  # name and type of each entry, end to end
    map_bounds: Ints  # [2 * entries + 1]
    time_by: int
    time_output: int
    unit: int  # 0: ISO 8601
    unit_power: int  # milliseconds are 10**unit_power of the number


class Scratch(NamedTuple):
    """The kernel's scratch arrays for the message at hand."""

    seen: Bytes  # [n] names of the tree that were there
    met: Bytes  # [k] outputs that were there
    guess: Ints  # [n] the child that followed the last one, last time
    seen_names: NDArray[np.uint64]  # hashes of other names; [0]: how many
    node: Ints  # [depth] NONE: no rule names anything below
    is_list: Bytes  # [depth]
    prefix: Bytes  # the path with a dot behind it
    prefix_end: Ints  # [depth]
    hash: NDArray[np.uint64]  # [depth] of the prefix
    list_name: Ints  # [2] bounds of the array's name
    type_at: Ints  # [2]
    ts: Ints  # [1]
    wide: Bytes  # [1] 1: some byte is not ASCII


class Output(NamedTuple):
    """n flat events. `exact` [n]: 1 where the exact path decides, and nothing was written. `size` [1]: bytes used."""

    text: Bytes
    starts: Ints
    ends: Ints
    exact: Bytes
    size: Ints


@dataclass
class _Node:
    """A name of the tree. `outputs`: numbers of outputs; `kept`: whether the leaf goes on under its own path."""

    kept: bool
    outputs: list[int] = field(default_factory=list)
    children: dict[str, _Node] = field(default_factory=dict)


def is_served(source: SourceDefinition) -> bool:
    """True if the kernel reads a source's messages; else the exact path reads all of them."""
    plain = source.envelope is Envelope.NONE and source.explode is None and source.where is None and source.csv is None
    timed = _is_path(source.time.origin) and isinstance(source.time.form, TimeFormat)
    rules = all(_is_path(rule.origin) for rule in source.attributes.values())
    typed = source.type.constant is not None or _is_path(source.type.origin)
    return plain and rules and typed and (timed or source.time.origin is OfMessage.TIME)


def _is_path(origin: Origin | None) -> bool:
    return isinstance(origin, Path) and all(isinstance(step, str) for step in origin.steps)


def plan_of(source: SourceDefinition) -> Plan:
    """The arrays of a source that `is_served`."""
    builder = _Builder(source)
    nodes = list(_breadth_first(builder.root))
    children = np.cumsum([1, *(len(node.children) for _, node in nodes)])
    names, bounds = _joined([name.encode() for name, _ in nodes])
    outputs = np.cumsum([0, *(len(node.outputs) for _, node in nodes)])
    used = [output for _, node in nodes for output in node.outputs]
    labels, label_bounds = _joined(builder.labels)
    texts, text_bounds = _joined(
        [part for pair in source.type.names.items() for part in (pair[0].encode(), _inner(pair[1]))]
    )
    time = source.time.form
    return Plan(
        children.astype(np.int64),
        names,
        bounds,
        np.array([node.kept for _, node in nodes], np.int64),
        outputs.astype(np.int64),
        np.array(used, np.int64),
        np.array(builder.roles, np.int64),
        labels,
        label_bounds,
        int(not source.only),
        int(any(len(steps) > 1 for steps in builder.paths)),
        BY_CONSTANT if source.type.constant is not None else BY_FIELD,
        _place(builder.roles, ROLE_TYPE),
        int(bool(source.type.names)),
        np.frombuffer(_inner(source.type.constant or ""), np.uint8),
        texts,
        text_bounds,
        BY_MESSAGE if source.time.origin is OfMessage.TIME else BY_FIELD,
        _place(builder.roles, ROLE_TIME),
        int(time is not TimeFormat.ISO),
        _POWERS.get(time, 0) if isinstance(time, TimeFormat) else 0,
    )


def scratch_of(plan: Plan) -> Scratch:
    """The kernel's notes for a plan."""
    nodes = len(plan.kept)
    return Scratch(
        np.zeros(nodes, np.uint8),
        np.zeros(len(plan.role), np.uint8),
        plan.first_child[:-1].copy(),
        np.zeros(_MOST_NAMES, np.uint64),
        np.zeros(MAX_DEPTH + 1, np.int64),
        np.zeros(MAX_DEPTH + 1, np.uint8),
        np.zeros(_LONGEST_PREFIX, np.uint8),
        np.zeros(MAX_DEPTH + 1, np.int64),
        np.zeros(MAX_DEPTH + 1, np.uint64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.uint8),
    )


def output_of(messages: int, size: int) -> Output:
    """Room for the events of so many messages, in so many bytes."""
    return Output(
        np.zeros(size, np.uint8),
        np.zeros(messages, np.int64),
        np.zeros(messages, np.int64),
        np.zeros(messages, np.uint8),
        np.zeros(1, np.int64),
    )


class _Builder:
    """The tree of a source's names."""

    def __init__(self, source: SourceDefinition) -> None:
        self.roles: list[int] = []
        self.labels: list[bytes] = []
        self.paths: list[tuple[str, ...]] = []
        self.root = _Node(kept=False)
        self._keeps = not source.only
        self._named = {".".join(_steps(rule)) for rule in source.attributes.values()} | set(source.attributes)
        for name, rule in source.attributes.items():
            self._add(_steps(rule), self._output(_ROLES[rule.kind], name))
            self._add(tuple(name.split(".")), None)
        roles = {}
        for origin, role in ((source.type.origin, ROLE_TYPE), (source.time.origin, ROLE_TIME)):
            if isinstance(origin, Path):
                steps = tuple(map(str, origin.steps))
                roles[".".join(steps)] = role
                self._add(steps, self._output(role, ""))
        for name in RESERVED:
            plain = name in self._named or name in roles or source.only
            if (
                name in FIELDS or name in self.root.children
            ):  # others are rare: the kernel leaves them to the exact path
                self._add((name,), None if plain else self._output(ROLE_PLAIN, OWN + name))

    def _output(self, role: int, name: str) -> int:
        self.roles.append(role)
        self.labels.append(orjson.dumps(name) + b":")
        return len(self.roles) - 1

    def _add(self, steps: tuple[str, ...], output: int | None) -> None:
        """Give the last name of a path an output; also where the rest of the path is one name with dots."""
        self.paths.append(steps)
        whole = ".".join(steps)
        node = self.root
        for number, step in enumerate(steps):
            rest = ".".join(steps[number:])
            self._use(self._child(node, rest, whole), output)
            if rest != step:
                node = self._child(node, step, ".".join(steps[: number + 1]))

    def _child(self, node: _Node, name: str, path: str) -> _Node:
        kept = self._keeps and path not in self._named and path not in RESERVED
        return node.children.setdefault(name, _Node(kept))

    def _use(self, node: _Node, output: int | None) -> None:
        if output is not None:
            node.outputs.append(output)


def _steps(rule: AttributeRule) -> tuple[str, ...]:
    return tuple(map(str, rule.origin.steps)) if isinstance(rule.origin, Path) else ()


def _breadth_first(root: _Node) -> Iterator[tuple[str, _Node]]:
    """Names and nodes, so that the children of each are consecutive."""
    queue = [("", root)]
    for name, node in queue:
        yield name, node
        queue.extend(node.children.items())


def _place(roles: list[int], role: int) -> int:
    """The output with a role; NONE where there is none."""
    return roles.index(role) if role in roles else NONE


def _joined(parts: list[bytes]) -> tuple[Bytes, Ints]:
    """Parts end to end, and their bounds."""
    bounds = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=bounds[1:])
    return np.frombuffer(b"".join(parts), np.uint8), bounds


def _inner(text: str) -> bytes:
    """A text as JSON, without its quotes."""
    return orjson.dumps(text)[1:-1]

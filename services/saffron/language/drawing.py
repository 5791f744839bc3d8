"""Automata and templates as SVG: states in a row, edges numbered, their formulas written out below.

Nothing overlaps by construction: states stand a fixed distance apart, loops rise above their own state, each arc
between distant states has a lane of its own below, and a label holds a number and a word, never a formula.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from xml.sax.saxutils import escape

from saffron.language.automaton import FINAL, State
from saffron.language.errors import printable
from saffron.language.formulas import formula
from saffron.language.plan import TrendPlan

RADIUS = 28
STEP = 150
"""Distance between the centres of neighbouring states."""
MARGIN = 60
TOP = 130
"""Height of the row of states: room for two loops and their labels above."""
LANE = 26
LINE = 18
"""Height of a line of the legend."""
CHARACTER = 7.3
"""Width of a character of the legend's font, 12 px monospace, rounded up."""
LETTERS = 7
"""Characters of a state's name that fit its circle."""

STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#222}"
    ".t{font-weight:bold}.s{fill:#fff;stroke:#222;stroke-width:1.5}.e{fill:none;stroke:#555;stroke-width:1.3}"
    ".l{text-anchor:middle;fill:#a33;font-size:11px}.n{text-anchor:middle}"
)


@dataclass(frozen=True)
class Arrow:
    """An edge from state `source` to `target` (indices), its word, and its formula."""

    source: int
    target: int
    word: str
    formula: str


@dataclass(frozen=True)
class Node:
    """A state; `double`: a match or a trend can end here; `entry`: one can begin here."""

    name: str
    double: bool
    entry: bool


def draw_automaton(states: tuple[State, ...], within: str, title: str) -> str:
    """The automaton of a match query."""
    names = [state.name for state in states] + [FINAL]
    index = {name: position for position, name in enumerate(names)}
    nodes = [Node(name, name == FINAL, position == 0) for position, name in enumerate(names)]
    arrows = [
        Arrow(
            index[state.name],
            index[move.target],
            move.kind,
            " AND ".join([*move.formula, *([within] if move.within else [])]) or "true",
        )
        for state in states
        for move in state.moves
        if move.formula != ("false",)
    ]
    return _draw(nodes, arrows, [], title)


def draw_template(plan: TrendPlan, title: str) -> str:
    """The template of an aggregate query."""
    names = [state.variable for state in plan.states]
    nodes = [Node(state.variable, state.end, state.start) for state in plan.states]
    arrows = [
        Arrow(
            part.source,
            part.target,
            "",
            " AND ".join(formula(e, names, conjunct=True) for e in part.conditions) or "true",
        )
        for part in plan.transitions
    ]
    notes = [
        f"{state.variable}: type = {state.type}" + "".join(f" AND {formula(e, names, conjunct=True)}" for e in local)
        for state, local in zip(plan.states, plan.local, strict=True)
    ]
    return _draw(nodes, arrows, notes, title)


def _draw(nodes: list[Node], arrows: list[Arrow], notes: list[str], title: str) -> str:
    """The whole document."""
    width = 2 * MARGIN + 2 * RADIUS + STEP * (len(nodes) - 1)
    width = max(width, 640)
    shapes: list[str] = []
    lane = 0
    loops = Counter(arrow.source for arrow in arrows if arrow.source == arrow.target)
    drawn: Counter[int] = Counter()
    for number, arrow in enumerate(arrows, start=1):
        label = f"{number} {arrow.word}".strip()
        if arrow.source == arrow.target:
            lean = 0 if loops[arrow.source] == 1 else 1 if drawn[arrow.source] else -1
            shapes.append(_loop(arrow.source, lean, label))
            drawn[arrow.source] += 1
        elif arrow.target == arrow.source + 1:
            shapes.append(_straight(arrow.source, label))
        else:
            shapes.append(_arc(arrow.source, arrow.target, lane, label))
            lane += 1
    shapes.extend(_node(position, node) for position, node in enumerate(nodes))
    bottom = TOP + RADIUS + 30 + LANE * (lane + 1 if lane else 0)
    legend = [
        f"{number:>2}  {arrow.word or f'{nodes[arrow.source].name} -> {nodes[arrow.target].name}':<8} {arrow.formula}"
        for number, arrow in enumerate(arrows, start=1)
    ]
    texts, height = _legend([*notes, *legend], bottom + LINE, width)
    head = f'<text class="t" x="{MARGIN // 2}" y="24">{escape(_fit(title, width - MARGIN))}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<title>{escape(printable(title))}</title><style>{STYLE}</style>"
        '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L10 5L0 10z" fill="#555"/></marker></defs>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{head}{"".join(shapes)}{"".join(texts)}</svg>\n'
    )


def _x(position: int) -> int:
    return MARGIN + RADIUS + STEP * position


def _node(position: int, node: Node) -> str:
    x = _x(position)
    inner = f'<circle class="s" cx="{x}" cy="{TOP}" r="{RADIUS - 4}"/>' if node.double else ""
    entry = (
        f'<path class="e" marker-end="url(#a)" d="M{x - RADIUS - 28} {TOP}L{x - RADIUS} {TOP}"/>' if node.entry else ""
    )
    name = node.name if len(node.name) <= LETTERS else node.name[: LETTERS - 1] + "…"
    text = f'<text class="n" x="{x}" y="{TOP + 4}">{escape(printable(name))}</text>'
    return f'{entry}<circle class="s" cx="{x}" cy="{TOP}" r="{RADIUS}"/>{inner}{text}'


def _straight(source: int, label: str) -> str:
    start, end = _x(source) + RADIUS, _x(source + 1) - RADIUS
    return (
        f'<path class="e" marker-end="url(#a)" d="M{start} {TOP}L{end} {TOP}"/>'
        f'<text class="l" x="{(start + end) // 2}" y="{TOP - 8}">{escape(label)}</text>'
    )


def _loop(position: int, lean: int, label: str) -> str:
    """A loop above its state: upright (lean 0), or one of two, leaning left (-1) and right (1, its label higher)."""
    peak, side = TOP - RADIUS - 44, 24 * lean
    left, right = _x(position) + side // 2 - 9, _x(position) + side // 2 + 9
    foot = TOP - RADIUS + 2
    return (
        f'<path class="e" marker-end="url(#a)" d="M{left} {foot}C{left + side - 10} {peak} {right + side + 10} {peak} '
        f'{right} {foot}"/>'
        f'<text class="l" x="{_x(position) + 32 * lean}" y="{peak - (12 if lean == 1 else 0)}">{escape(label)}</text>'
    )


def _arc(source: int, target: int, lane: int, label: str) -> str:
    """An arc below the row, in a lane of its own."""
    start, end, depth = _x(source), _x(target), TOP + RADIUS + LANE * (lane + 1)
    inset = (4 + 4 * (lane % 5)) * (1 if target > source else -1)
    return (
        f'<path class="e" marker-end="url(#a)" d="M{start + inset} {TOP + RADIUS}L{start + inset} {depth}'
        f'L{end - inset} {depth}L{end - inset} {TOP + RADIUS}"/>'
        f'<text class="l" x="{(start + end) // 2}" y="{depth - 4}">{escape(label)}</text>'
    )


def _legend(lines: list[str], top: int, width: int) -> tuple[list[str], int]:
    """The formulas, wrapped, and the height of the whole drawing."""
    columns = int((width - MARGIN) / CHARACTER)
    texts: list[str] = []
    y = top
    for line in lines:
        for part in textwrap.wrap(printable(line), columns, subsequent_indent=" " * 13) or [""]:
            texts.append(f'<text xml:space="preserve" x="{MARGIN // 2}" y="{y}">{escape(part)}</text>')
            y += LINE
    return texts, y + LINE


def _fit(title: str, width: int) -> str:
    columns = int(width / CHARACTER)
    clean = printable(title)
    return clean if len(clean) <= columns else clean[: columns - 1] + "…"

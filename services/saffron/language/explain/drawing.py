"""SVG drawings of automata and templates: states in a row, edges numbered, formulas in a legend below.

Nothing overlaps: states have a fixed distance, loops are above their state, and each arc between distant states has a
lane below. A label has a number and a word, never a formula.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from xml.sax.saxutils import escape

from saffron.carets import printable
from saffron.language.explain.automaton import FINAL, State
from saffron.language.explain.outline import absence_name, condition_lines, outline, skipping
from saffron.language.patterns.layout import paths
from saffron.language.patterns.links import Link, positions
from saffron.language.plan.match_plan import MatchPlan

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
OVER_LINES = ".l{paint-order:stroke;stroke:#fff;stroke-width:5px}"
"""The style of labels that lines may cross."""


@dataclass(frozen=True)
class Arrow:
    """An edge from state `source` to `target` (indices), with the word of its label and its formula.

    `both`: it has a head at each end. `legend`: its name in the legend; "": its word, or the names of its ends.
    """

    source: int
    target: int
    word: str
    formula: str
    both: bool = False
    legend: str = ""


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
    return draw(nodes, arrows, [], title)


def draw_pattern(plan: MatchPlan, title: str) -> str:
    """The possible successions of components in any pattern; below, the pattern's outline and its conditions."""
    found = positions(plan.pattern)
    place = {component: at for at, component in enumerate(paths(plan.pattern))}
    nodes = [
        Node(plan.components[component].variable, component in found.last, component in found.first)
        for component in place
    ]
    pairs = {(link.source, link.target): link for link in found.links}
    arrows = []
    for link in sorted(found.links, key=lambda link: (place[link.source], place[link.target])):
        back = pairs.get((link.target, link.source))
        word, text = _words(link, plan)
        both = back is not None and link.source != link.target and _words(back, plan) == (word, text)
        if not both or place[link.source] < place[link.target]:
            ends = place[link.source], place[link.target]
            arrows.append(Arrow(*ends, word, text, both, _ends(nodes, *ends, both)))
    conditions = condition_lines(plan)
    notes = [*outline(plan.pattern, plan), *([""] if conditions else []), *conditions, *([""] if arrows else [])]
    return draw(nodes, arrows, notes, title)


def _words(link: Link, plan: MatchPlan) -> tuple[str, str]:
    """The label of a link, which names its NOTs, and its line in the legend."""
    absent = sorted(number for number in link.absent if not plan.absences[number].or_else)
    word = ", ".join(absence_name(number, plan) for number in absent)
    return word, ("again, " if link.again else "") + skipping(link, plan) + (f", {word}" if word else "")


def draw(nodes: list[Node], arrows: list[Arrow], notes: list[str], title: str) -> str:
    """The SVG document: title, states, edges, and below them the notes and the legend of edges."""
    width = 2 * MARGIN + 2 * RADIUS + STEP * (len(nodes) - 1)
    width = max(width, 640)
    shapes: list[str] = []
    labels: list[str] = []
    lanes = _lanes(arrows)
    loops = Counter(arrow.source for arrow in arrows if arrow.source == arrow.target)
    drawn: Counter[int] = Counter()
    for number, arrow in enumerate(arrows, start=1):
        label = f"{number} {arrow.word}".strip()
        if arrow.source == arrow.target:
            lean = 0 if loops[arrow.source] == 1 else 1 if drawn[arrow.source] else -1
            shapes.append(_loop(arrow.source, lean, label))
            drawn[arrow.source] += 1
        elif number not in lanes:
            shapes.append(_straight(arrow, label))
        else:
            shapes.append(_arc(arrow, lanes[number]))
            labels.append(_arc_label(arrow, lanes[number], label))
    lane = max(lanes.values(), default=-1) + 1
    shapes += labels
    shapes.extend(_node(position, node) for position, node in enumerate(nodes))
    bottom = TOP + RADIUS + 30 + LANE * (lane + 1 if lane else 0)
    called = [arrow.legend or arrow.word or _ends(nodes, arrow.source, arrow.target) for arrow in arrows]
    legend = [
        f"{number:>2}  {name:<8} {arrow.formula}"
        for number, (name, arrow) in enumerate(zip(called, arrows, strict=True), start=1)
    ]
    texts, height = _legend([*notes, *legend], bottom + LINE, width)
    style = STYLE + (OVER_LINES if lanes else "")
    turned = "auto-start-reverse" if any(arrow.both for arrow in arrows) else "auto"
    head = f'<text class="t" x="{MARGIN // 2}" y="24">{escape(_fit(title, width - MARGIN))}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<title>{escape(printable(title))}</title><style>{style}</style>"
        '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="{turned}">'
        '<path d="M0 0L10 5L0 10z" fill="#555"/></marker></defs>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{head}{"".join(shapes)}{"".join(texts)}</svg>\n'
    )


def _ends(nodes: list[Node], source: int, target: int, both: bool = False) -> str:
    """The names of an edge's ends, as its name in the legend."""
    return f"{nodes[source].name} {'<->' if both else '->'} {nodes[target].name}"


def _lanes(arrows: list[Arrow]) -> dict[int, int]:
    """Number of an edge -> lane, for edges drawn as arcs; two arcs in a lane span no common state."""
    taken: list[list[tuple[int, int]]] = []
    lanes: dict[int, int] = {}
    for number, arrow in enumerate(arrows, start=1):
        if arrow.source == arrow.target or arrow.target == arrow.source + 1:
            continue
        low, high = sorted((arrow.source, arrow.target))
        free = (at for at, spans in enumerate(taken) if all(high < left or right < low for left, right in spans))
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes[number] = lane
    return lanes


def _x(position: int) -> int:
    """The x coordinate of a state's centre (px)."""
    return MARGIN + RADIUS + STEP * position


def _node(position: int, node: Node) -> str:
    """The SVG of a state: its circle, with its name cut to fit.

    A double state has a second circle, and an entry has an arrow.
    """
    x = _x(position)
    inner = f'<circle class="s" cx="{x}" cy="{TOP}" r="{RADIUS - 4}"/>' if node.double else ""
    # from above where another state stands on the left
    start, end = (
        ((x - RADIUS - 28, TOP), (x - RADIUS, TOP)) if position == 0 else ((x - 44, TOP - 44), (x - 21, TOP - 21))
    )
    entry = f'<path class="e" marker-end="url(#a)" d="M{start[0]} {start[1]}L{end[0]} {end[1]}"/>' if node.entry else ""
    name = node.name if len(node.name) <= LETTERS else node.name[: LETTERS - 1] + "…"
    text = f'<text class="n" x="{x}" y="{TOP + 4}">{escape(printable(name))}</text>'
    return f'{entry}<circle class="s" cx="{x}" cy="{TOP}" r="{RADIUS}"/>{inner}{text}'


def _heads(arrow: Arrow) -> str:
    """The attributes for an edge's arrowheads."""
    return 'marker-start="url(#a)" marker-end="url(#a)"' if arrow.both else 'marker-end="url(#a)"'


def _straight(arrow: Arrow, label: str) -> str:
    start, end = _x(arrow.source) + RADIUS, _x(arrow.target) - RADIUS
    return (
        f'<path class="e" {_heads(arrow)} d="M{start} {TOP}L{end} {TOP}"/>'
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


def _arc(arrow: Arrow, lane: int) -> str:
    """An arc below the row."""
    start, end, depth = _x(arrow.source), _x(arrow.target), TOP + RADIUS + LANE * (lane + 1)
    inset = (4 + 4 * (lane % 5)) * (1 if arrow.target > arrow.source else -1)
    return (
        f'<path class="e" {_heads(arrow)} d="M{start + inset} {TOP + RADIUS}L{start + inset} {depth}'
        f'L{end - inset} {depth}L{end - inset} {TOP + RADIUS}"/>'
    )


def _arc_label(arrow: Arrow, lane: int, label: str) -> str:
    middle, depth = (_x(arrow.source) + _x(arrow.target)) // 2, TOP + RADIUS + LANE * (lane + 1)
    return f'<text class="l" x="{middle}" y="{depth - 4}">{escape(label)}</text>'


def _legend(lines: list[str], top: int, width: int) -> tuple[list[str], int]:
    """The text elements of wrapped lines, from `top` on, and the height of the whole drawing."""
    columns = int((width - MARGIN) / CHARACTER)
    texts: list[str] = []
    y = top
    for line in lines:
        for part in textwrap.wrap(printable(line), columns, subsequent_indent=" " * 13) or [""]:
            texts.append(f'<text xml:space="preserve" x="{MARGIN // 2}" y="{y}">{escape(part)}</text>')
            y += LINE
    return texts, y + LINE


def _fit(title: str, width: int) -> str:
    """A title, cut to a width (px)."""
    columns = int(width / CHARACTER)
    clean = printable(title)
    return clean if len(clean) <= columns else clean[: columns - 1] + "…"

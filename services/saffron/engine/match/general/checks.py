"""The evaluation time of each condition of WHERE: the moment at which all that it reads is known (`plan.Check`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from saffron.engine.match.core.automaton import leaves
from saffron.language.plan.expressions import Aggregate, Attribute, Expr, Length, Scope, Which
from saffron.language.plan.pattern import Absence, Check

Components = frozenset[int]


@dataclass(frozen=True)
class Asked:
    """A check, and the components that it reads: all, as an event being taken, as a finished list."""

    check: Check

    @property
    def expr(self) -> Expr:
        return self.check.expr

    @cached_property
    def reads(self) -> Components:
        return frozenset(leaf.component for leaf in leaves(self.expr))

    @cached_property
    def taking(self) -> Components:
        return frozenset(leaf.component for leaf in leaves(self.expr) if _is_taking(leaf))

    @cached_property
    def finished(self) -> Components:
        return frozenset(leaf.component for leaf in leaves(self.expr) if _is_finished(leaf))

    def needed(self, component: int, taken: int | None) -> int:
        """The number of a component's events from which on a run has something to look back at; 0: nothing looks back.

        `taken`: the component whose event is being taken (None: the run is complete). The current event of the check is
        not counted if it is of `taken`; of any other component it is one of those that the run has.
        """
        back = self.back(component)
        return back + 1 if back and component != taken else back

    def back(self, component: int) -> int:
        """The number of a component's events that must come before the one being taken; with fewer, the check holds."""
        own = [leaf for leaf in leaves(self.expr) if leaf.component == component]
        backs = [leaf.back for leaf in own if isinstance(leaf, Attribute) and leaf.which is Which.PREVIOUS]
        backs += [1 for leaf in own if isinstance(leaf, Aggregate) and leaf.scope is Scope.BEFORE]
        return max(backs, default=0)

    @cached_property
    def numbered(self) -> Mapping[int, int]:
        """The number of events that a list must have for the check to apply, by component that is read as v[n]."""
        found: dict[int, int] = {}
        for leaf in leaves(self.expr):
            if isinstance(leaf, Attribute) and leaf.which is Which.NTH:
                found[leaf.component] = max(leaf.back, found.get(leaf.component, 0))
        return found

    @cached_property
    def events(self) -> Components:
        """The components of which it reads an event: where one is not bound the check holds. Others are empty then."""
        return frozenset(leaf.component for leaf in leaves(self.expr) if not _is_whole(leaf))

    @cached_property
    def is_local(self) -> bool:
        """True if the event being taken decides alone."""
        return len(self.reads) <= 1 and all(
            isinstance(leaf, Attribute) and leaf.which in (Which.SINGLE, Which.CURRENT) for leaf in leaves(self.expr)
        )


def joint(absence: Absence) -> tuple[Asked, ...]:
    """The conditions of a NOT that no event of it decides alone."""
    return tuple(asked for asked in map(Asked, absence.checks) if not asked.is_local)


def asked_of(absence: Absence, sequence: tuple[int, ...], positive: int) -> tuple[Asked, ...]:
    """The checks of `joint` that one sequence of a NOT decides: the NOT's other components have no event then.

    `positive`: the number of components that a match can bind, which come first.
    """
    known = {*range(positive), *sequence}
    return tuple(asked for asked in joint(absence) if asked.reads <= known)


def due(checks: tuple[Asked, ...], component: int, over: Components, newly: Components) -> list[Asked]:
    """The checks to evaluate when an event of `component` is taken. `over`: complete lists; `newly`: by this event."""
    return [
        asked
        for asked in checks
        if not asked.is_local
        and (component in asked.reads or asked.finished & newly)
        and asked.finished <= over
        and component not in asked.finished
    ]


def due_at_end(checks: tuple[Asked, ...], over: Components) -> list[Asked]:
    """The checks to evaluate on a complete match. `over`: lists that were complete before its last event."""
    return [asked for asked in checks if asked.finished - over]


def _is_taking(leaf: Attribute | Aggregate | Length) -> bool:
    if isinstance(leaf, Attribute):
        return leaf.which in (Which.CURRENT, Which.PREVIOUS)
    return isinstance(leaf, Aggregate) and leaf.scope is not Scope.CLOSED


def _is_finished(leaf: Attribute | Aggregate | Length) -> bool:
    return leaf.which is Which.LAST if isinstance(leaf, Attribute) else _is_whole(leaf)


def _is_whole(leaf: Attribute | Aggregate | Length) -> bool:
    """True if the leaf reads a finished list, which may be empty."""
    return isinstance(leaf, Length) or (isinstance(leaf, Aggregate) and leaf.scope is Scope.CLOSED)

"""The hooks of `QueryOperator`: the steps that each engine adds. An interface: its few defaults do nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from saffron.engine.events.block import Block
from saffron.engine.operators.operator import History, State
from saffron.engine.operators.standing import StandingQuery
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.trend_plan import TrendPlan

S = TypeVar("S", bound=StandingQuery[Any])
R = TypeVar("R")


class EngineHooks(ABC, Generic[S, R]):
    """The steps of an engine: `S` is a standing query of it, `R` the runs of a bound one.

    `_plans`: the plans that it runs. `_queries`: its standing queries.
    """

    _plans: ClassVar[type[MatchPlan | TrendPlan]]
    _queries: ClassVar[type[StandingQuery[Any]]]

    @abstractmethod
    def _reset(self, record: Mapping[str, Any] | None = None) -> None:
        """Set the operator's own state to that of the beginning, or to that of a `_record`."""

    @abstractmethod
    def _record(self) -> Mapping[str, Any]:
        """The part of a snapshot that is JSON."""

    @abstractmethod
    def _saved(self, runs: R) -> State:
        """The arrays of a query's runs, for a snapshot."""

    @abstractmethod
    def _restore(self, name: str, runs: R | None, arrays: State) -> None:
        """Restore the state of `_saved`; without runs the query could not be bound again."""

    @abstractmethod
    def _begin(self, block: Block) -> None:
        """Release the results of the last block, before a block is applied."""

    @abstractmethod
    def _advance(self, block: Block, begin: int, stop: int, position: int) -> None:
        """Give events begin..stop-1 to every active query; `position` is that of the next event."""

    @abstractmethod
    def _finish(self, block: Block) -> None:
        """Finish a block: all its events and controls have been applied."""

    @abstractmethod
    def _start(self, standing: S, plan: Any) -> R:
        """The runs of a plan. SaffronError: the plan cannot be run."""

    @abstractmethod
    def _pause(self, runs: R) -> None:
        """Forget the partial state of a query."""

    @abstractmethod
    def _drop(self, standing: S, runs: R) -> None:
        """Release the runs of a bound query that is removed, or added again."""

    @abstractmethod
    def _adopt(self, standing: S, runs: R) -> None:
        """Give a bound query a new schema. It keeps its runs if the schema is wider; else it starts again."""

    def _adopted(self) -> None:
        """Finish a change of schema: all bound queries have adopted it."""

    @abstractmethod
    def _close(self, runs: R) -> None:
        """Release the operator's resources that a failed query's runs hold."""

    @abstractmethod
    def _forget_all_of(self, standing: S) -> None:
        """Drop the state of a failed query beside its runs."""

    @abstractmethod
    def _settled(self) -> None:
        """React to a change of the queries in force, failures included: what they share is decided anew."""

    @abstractmethod
    def _replay(self, standing: S, runs: R, history: History, position: int) -> None:
        """Let the query see the past; its results stand at `position`."""

    def _readers_of(self, standing: S) -> Iterator[S]:
        """The queries that read a query's results."""
        yield from ()

    def _has_touched_others(self, standing: S) -> bool:
        """True if the query has affected other queries in the block at hand."""
        return False

"""The destination and the content of a query's results: PUBLISH and EMIT."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.plan.expressions import Expr
from saffron.language.plan.row import Row


@dataclass(frozen=True)
class Delivery:
    """EMIT VALUES and PUBLISH. They change neither which results there are, nor their ids.

    `values`: results have no events. `written`: False where only other queries read the results (INTO without PUBLISH).
    `topic`: that of PUBLISH, None for the topic of all results. `key`: of the messages there, None without KEY.
    `row`: the rows that the messages there are (AS); None: results as they are.
    """

    values: bool = False
    written: bool = True
    topic: str | None = None
    key: Expr | None = None
    row: Row | None = None


USUAL = Delivery()

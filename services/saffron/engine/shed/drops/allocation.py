"""The allocation of the work to be saved among queries, at the fewest wrong matches by weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from saffron.engine.shed.drops.loss_curve import LossCurve


@dataclass(frozen=True)
class Candidate:
    """A query that may lose events.

    - `worth`: its weight times its matches an event. `length`: events a match.
    - `cost`: the processing time of an event, above 0, comparable between queries.
    - `ratio`: measured matches lost for each that the curve promises, at most 1.
    - `errors`: of each lost match: 1, or up to 2 as a false match may be found in its stead (G10).
    - `begun`: share of events dropped -> share of partial matches that do not begin; None: taken from the loss.
    - `spare`: the share of events that the query cannot take. They go first and lose nothing.
    """

    curve: LossCurve
    worth: float
    cost: float
    length: float = 1.0
    ratio: float = 1.0
    errors: float = 1.0
    begun: LossCurve | None = None
    spare: float = 0.0

    def lost(self, share: float) -> float:
        """The share of matches lost where this share of events is dropped."""
        return as_measured(self.curve.at(share), self.ratio)

    def left(self, share: float) -> float:
        """The share of its work that is left where this share of events is dropped.

        Fewer events meet fewer partial matches, since the events that a match needs begin and advance them too.
        """
        if self.begun is not None:
            return (1 - share) * (1 - self.begun.at(share))
        return float((1 - share) * (1 - self.curve.at(share)) ** (1 / self.length))


def as_measured(promised: float, ratio: float) -> float:
    """The share of matches lost, by a model's promise (0 to 1) and the `ratio` of measured to promised losses. What is
    kept is raised to the ratio: small losses are multiplied by it, and large ones stay below 1 and in their order."""
    return float(1.0 - (1.0 - promised) ** ratio)


def allocate(queries: Mapping[str, Candidate], share: float) -> dict[str, float]:
    """The share of events to drop of each query, so that together the share `share` of the time is saved.

    What queries cannot take goes first, of each query the same part of it. Behind that, each curve is replaced by its
    lower convex hull, whose pieces are taken by ascending loss for the time they save.
    """
    if len(queries) == 1:
        return dict.fromkeys(queries, share)
    pieces = [
        (query.worth * query.errors * query.ratio * slope / query.cost, name, max(query.spare, begin), end)
        for name, query in queries.items()
        for slope, begin, end in query.curve.pieces
        if end > query.spare
    ]
    left = share * sum(query.cost for query in queries.values())
    spare = sum(query.spare * query.cost for query in queries.values())
    part = min(1.0, left / spare) if spare > 0 else 0.0
    shares = {name: part * query.spare for name, query in queries.items()}
    left -= part * spare
    for _, name, begin, end in sorted(pieces, key=lambda piece: piece[:3]):
        if left <= 0:
            break
        taken = min(end - begin, left / queries[name].cost)
        shares[name] += taken
        left -= taken * queries[name].cost
    return {name: min(1.0, one) for name, one in shares.items()}

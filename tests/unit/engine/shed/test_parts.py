"""The parts of shedding, each by its definition: shares, rates, draws, allocation, curves, means, traits, outages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.models.ages import A_BIN, AGES, LEFT_BINS
from saffron.engine.models.ages import SHARES as PARTS
from saffron.engine.models.markov import lookup, remaining_time_table
from saffron.engine.models.partial_match import partial_match_models
from saffron.engine.models.trainer import TransitionCounts, train_transitions
from saffron.engine.shed.allocation import Candidate, allocate
from saffron.engine.shed.arrivals import Arrivals
from saffron.engine.shed.chance import chance, exempt
from saffron.engine.shed.drop_share import drop_share
from saffron.engine.shed.harmless import LOST, Harmless
from saffron.engine.shed.loss_curve import SHARES, LossCurve
from saffron.engine.shed.means import Droppable, Means, best_split
from saffron.engine.shed.outage import DROP, KEEP, NORMAL, Outage
from saffron.engine.shed.partial import Worths
from saffron.engine.shed.partial_curve import PartialCurve, partial_curve
from saffron.engine.shed.settings import Overload
from saffron.engine.shed.traits import Traits, traits_of
from saffron.errors import InputError
from tests.reference.shedding import cheapest, partial_lost

# ------------------------------------------------------------ how many events


@given(
    backlog=st.floats(0, 1e6),
    rate=st.floats(0, 1e3),
    capacity=st.floats(0.01, 1e3),
    interval=st.floats(1, 1e4),
    slack=st.floats(0, 1e4),
)
def test_what_is_kept_can_just_be_done_in_time(
    backlog: float, rate: float, capacity: float, interval: float, slack: float
) -> None:
    share = drop_share(backlog=backlog, rate=rate, capacity=capacity, interval=interval, slack=slack)
    takes = (backlog + rate * interval) * (1 - share) / capacity
    assert 0 <= share <= 1
    assert takes <= (interval + slack) * (1 + 1e-6)
    assert share == 0 or takes == pytest.approx(interval + slack, rel=1e-5)


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 40)), min_size=2, max_size=50))
def test_the_rate_is_that_of_the_last_span(blocks: list[tuple[int, int]]) -> None:
    arrivals, at = Arrivals(100.0), 0.0
    times = []
    for events, gap in blocks:
        at += gap
        arrivals.arrived(events, at)
        times.append((at, events))
    assert arrivals.known == sum(events for events, _ in blocks)
    first = max((i for i, (when, _) in enumerate(times[:-1]) if when <= at - 100.0), default=0)
    first = min(first, len(times) - 2)
    span = at - times[first][0]
    expected = sum(events for _, events in times[first + 1 :]) / span if span else 0.0
    assert arrivals.rate(at) == pytest.approx(expected)


def test_what_waits_is_what_was_announced_or_came_since() -> None:
    arrivals = Arrivals()
    for at in range(0, 400, 10):
        arrivals.arrived(20, float(at))
    assert arrivals.rate(400.0) == pytest.approx(2.0)
    assert arrivals.waiting(100.0, 400.0) == 800
    arrivals.taken(790)
    assert arrivals.waiting(100.0, 400.0) == pytest.approx(200.0)
    arrivals.taken(20)
    assert arrivals.known == 0


# ------------------------------------------------------------ draws


@given(st.integers(0, 2**63 - 1), st.integers(0, 10**9))
def test_a_draw_is_of_the_event_not_of_the_block(seed: int, first: int) -> None:
    whole = chance(seed, np.arange(first, first + 64))
    parts = [chance(seed, np.arange(first + at, first + at + 16)) for at in range(0, 64, 16)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert ((whole >= 0) & (whole < 1)).all()


def test_draws_are_even_and_differ_by_seed() -> None:
    one, other = (chance(seed, np.arange(20_000)) for seed in (0, 1))
    assert abs(np.histogram(one, 10)[0] - 2000).max() < 200
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03


def test_whole_spans_are_exempt() -> None:
    marks = exempt(7, np.arange(100_000), 100, 0.05).reshape(-1, 100)
    assert (marks.all(axis=1) | ~marks.any(axis=1)).all()
    assert 0.03 < marks[:, 0].mean() < 0.07
    assert not exempt(7, np.arange(1000), 100, 0.0).any()


# ------------------------------------------------------------ over queries


def candidate(power: float, worth: float = 1.0, *, cost: float = 1.0, free: float = 0.0) -> Candidate:
    """Events up to the share `free` are worth nothing, and the others lose as much as a power says."""
    return Candidate(LossCurve(np.maximum(0.0, (SHARES - free) / (1 - free)) ** power), worth, cost)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.1, 4), st.floats(0.1, 5), st.floats(0.2, 4)), min_size=1, max_size=3),
    st.floats(0.05, 0.95),
)
def test_shares_save_what_is_wanted_at_the_least_loss(queries: list[tuple[float, float, float]], share: float) -> None:
    """Losses are powers of the share: convex ones bend, concave ones are all or nothing."""
    given_ = {f"q{i}": candidate(power, worth, cost=cost) for i, (power, worth, cost) in enumerate(queries)}
    shares = allocate(given_, share)
    total = sum(one.cost for one in given_.values())
    assert sum(shares[name] * one.cost for name, one in given_.items()) == pytest.approx(share * total)
    hulled = sum(
        one.worth * (shares[n] ** q[0] if q[0] >= 1 else shares[n])
        for (n, one), q in zip(given_.items(), queries, strict=True)
    )
    assert hulled <= cheapest([(max(1.0, q[0]), q[1], q[2]) for q in queries], share) + 0.02 * sum(
        q[1] for q in queries
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 0.9), st.floats(0.5, 2), st.floats(0.1, 5)), min_size=1, max_size=3),
    st.floats(0.0, 1.0),
)
def test_a_share_is_raised_as_far_as_no_more_is_lost(queries: list[tuple[float, float, float]], share: float) -> None:
    """Of each query some events are worth nothing, and the others as much as a power says."""
    given_ = {f"q{i}": candidate(power, worth, free=free) for i, (free, power, worth) in enumerate(queries)}

    def lost(one: float) -> float:
        return sum(given_[name].worth * given_[name].lost(part) for name, part in allocate(given_, one).items())

    most, step = lost(np.floor(share * 64) / 64) + LOST * sum(worth for _, _, worth in queries), 1 / 64
    raised = Harmless().share(share, lambda: given_)
    assert raised >= share
    assert raised == share or lost(raised) <= most
    assert raised + step > 1 or lost(raised + step) > most
    on_curves = [float(np.floor(free * 64) / 64) for free, _, _ in queries]
    if share < min(on_curves):
        assert raised > sum(on_curves) / len(queries) - step, "all that is worth nothing to any query"


def test_what_is_harmless_follows_what_is_known_now() -> None:
    known = Harmless()
    assert known.share(0.1, lambda: {"q": candidate(1.0, free=0.5)}) == 0.5
    assert known.share(0.1, lambda: {"q": candidate(1.0)}) == 0.5, "nothing new is known"
    known.forget()
    assert known.share(0.1, lambda: {"q": candidate(1.0)}) == 0.1


# ------------------------------------------------------------ partial matches


def counted(forward: int, dead: int = 3, window: int = 40) -> TransitionCounts:
    counts = TransitionCounts("q", 1, 4, window, True)
    for source in (1, 2):
        counts.add(source, source, 100)
        counts.add(source, source + 1, forward)
        counts.add(source, -1, dead)
    counts.add(0, 1, 50)
    return counts


@pytest.mark.parametrize("forward", [2, 10, 60])
def test_the_curve_of_partial_matches_is_that_of_a_walk(forward: int) -> None:
    model = train_transitions(counted(forward), (1, 1), {})
    utility = partial_match_models([model])["q"].utility
    curve = partial_curve(model, utility)
    assert (curve.saved[0], curve.lost[0], curve.saved[-1], curve.lost[-1]) == (0, 0, 1, 1)
    assert (np.diff(curve.saved) >= 0).all()
    for level in np.quantile(utility[:, 1:-1], [0.25, 0.5, 0.75]).tolist():
        saved, lost = partial_lost(model.matrix, utility <= level)
        assert curve.at(saved) == pytest.approx(lost, abs=0.06)


def test_the_curve_by_ages_is_that_of_dropping_the_least_useful_alive() -> None:
    counts = counted(10)
    for state in (1, 2):
        for left in range(LEFT_BINS):  # what has much left has hardly ever completed, by the ages that were seen
            age = left * A_BIN
            counts.followed[state, age] = counts.followed[state, AGES + age] = (40, 0 if left > 7 else 20 * PARTS)
    model = train_transitions(counts, (1, 1), {})
    table = partial_match_models([model])["q"]
    curve = partial_curve(model, table.utility)
    tables = table.utility, table.loss, remaining_time_table(model.matrix, np.ones(4), model.bin_size, 40)
    cells = [
        (lifted * worth, count * time, count * lifted * lost)
        for state in range(model.states)
        for age, (count, lifted) in enumerate(zip(model.seen[state], model.lift[state], strict=True))
        for left in [(age // A_BIN + 0.5) / LEFT_BINS * model.expected_events]
        for worth, lost, time in [[lookup(one, model.bin_size, state, left) for one in tables]]
    ]
    cells.sort(key=lambda cell: cell[0])
    for part in range(1, len(cells), 37):
        saved, lost = (sum(cell[k] for cell in cells[:part]) / sum(cell[k] for cell in cells) for k in (1, 2))
        assert curve.at(saved) == pytest.approx(lost, abs=0.02)
    assert curve.at(0.5) < 0.1 < train_transitions(counted(10), (1, 1), {}).expected[-1, 1]


def test_partial_matches_without_a_model_are_drawn() -> None:
    worths = Worths(seed=5)
    worths.use({}, {"q": 1.0})
    assert worths.of("q", "pspice") == {"utility": [], "loss": [], "bin": 1, "per_ms": 0.0, "by": "random", "seed": 5}
    assert worths.curve("q", "pspice") is None


def test_names_say_what_a_partial_match_is_worth() -> None:
    counts = counted(10)
    for count in (100, 300, 50):
        counts.add_time({(1, 1): count, (2, 2): 2 * count}, 10 * count + 4000 * count)
    model = train_transitions(counts, (1, 1), {})
    worths = Worths(seed=5)
    worths.use({"q": model}, {"q": 2.0})
    by_time, plain, drawn = (worths.of("q", by) for by in ("pspice", "pspice--", "pm-bl"))
    assert by_time["by"] == plain["by"] == "utility"
    assert by_time["utility"] != plain["utility"]
    assert drawn["by"] == "random"
    assert by_time["loss"] == drawn["loss"] == model.expected.tolist()
    live = model.completion[:, 1:-1] > 0
    ratio = np.array(plain["utility"])[:, 1:-1][live] / model.completion[:, 1:-1][live]
    assert np.allclose(ratio, ratio[0]), "w P, but for one factor"
    assert worths.of("q", "pspice") is by_time, "made once"
    worths.use({"q": model}, {"q": 3.0})
    assert worths.of("q", "pspice") is not by_time


# ------------------------------------------------------------ which means


def droppable(power: float) -> Droppable:
    return Droppable(PartialCurve(SHARES, SHARES**power), 1.0, 1.0)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize(("events", "partial"), [(1.0, 3.0), (3.0, 1.0), (2.0, 2.0), (0.3, 0.5)])
def test_what_is_saved_is_split_so_that_the_least_is_lost(share: float, events: float, partial: float) -> None:
    def lost(by_events: float) -> float:
        left = (1 - by_events) * (1 - by_events**events)
        rest = max(0.0, 1 - (1 - share) / left) if left else 0.0
        return float(1 - (1 - by_events**events) * (1 - rest**partial))

    split = best_split(share, {"q": candidate(events)}, {"q": droppable(partial)})
    assert lost(split) <= min(lost(one) for one in np.linspace(0, share, 17).tolist()) + 0.02


def test_a_match_that_may_be_found_otherwise_is_two_errors() -> None:
    """It is missed, and another is found that is none: events save less, until they lose half as much."""
    events, partial = candidate(1.0), {"q": droppable(1.5)}
    alone = best_split(0.3, {"q": events}, partial)
    twice = best_split(0.3, {"q": replace(events, errors=2.0)}, partial)
    assert alone > twice
    halved = Candidate(LossCurve(SHARES / 2), 1.0, 1.0, errors=2.0)
    assert allocate({"q": halved, "other": candidate(1.1)}, 0.2) == allocate(
        {"q": events, "other": candidate(1.1)}, 0.2
    )


def test_partial_matches_stay_where_fewer_events_make_fewer_of_them() -> None:
    alone = Means().split(0.5, lambda: ({"q": candidate(3.0)}, {"q": droppable(1.0)}))
    assert best_split(0.5, {"q": candidate(3.0)}, {"q": droppable(1.0)}) < 0.5
    assert alone == 1.0, "those that are there now would have to go"


def test_a_split_follows_what_is_known_now() -> None:
    means = Means()
    assert means.split(0.5, lambda: ({"q": candidate(8.0)}, {"q": droppable(0.1)})) > 0.8
    means.forget()
    assert means.split(0.5, lambda: ({"q": candidate(0.1)}, {"q": droppable(8.0)})) < 0.01


# ------------------------------------------------------------ queries


MATCH = "PATTERN SEQ(A a, B b) WITHIN 1 hour WEIGHT 3"
TREND = "RETURN COUNT(*) PATTERN A+ WITHIN 1 hour"
LIKELY = "PATTERN SEQ(A a, B b) WITHIN 1 hour CONFIDENCE >= 0.5"
GRAPHS = "PATTERN SEQ(A a, B b) WHERE skip-till-any-match WITHIN 1 hour OUTPUT COMPRESSED"


@pytest.mark.parametrize(
    ("text", "shed", "events", "partial"),
    [
        (MATCH, "auto", True, True),
        (MATCH, "none", False, False),
        (MATCH, "pspice--", False, True),
        (MATCH, "espice", True, False),
        (TREND, "auto", False, False),
        (TREND, "pspice", False, False),
        (TREND, "gspice-h", True, False),
        (LIKELY, "auto", True, False),
        (LIKELY, "pspice", False, False),
        (GRAPHS, "auto", True, False),
        (GRAPHS, "bl", True, False),
    ],
)
def test_a_record_says_what_a_query_may_lose(text: str, shed: str, events: bool, partial: bool) -> None:
    traits = traits_of({"name": "q", "text": text, "shed": shed})
    assert (traits.drops_events, traits.drops_partial_matches) == (events, partial)
    assert traits.weight == (3.0 if text == MATCH else 1.0)
    assert (traits.by == "none") is not (events or partial), "else it counts as exempt"


def test_what_does_not_bind_is_shed_like_any_other() -> None:
    assert traits_of({"name": "q", "text": "no query", "shed": "bl"}) == Traits("bl")
    assert traits_of({"name": "q"}) == Traits()


# ------------------------------------------------------------ outages


def test_an_outage_is_over_once_its_backlog_is_dropped() -> None:
    watch = Outage(Overload(1000.0))
    assert watch.taken(10.0, 5.0) == NORMAL
    assert watch.taken(8_000.0, 7_990.0) == DROP
    assert watch.taken(8_001.0, 1_500.0) == DROP
    assert watch.taken(8_002.0, 900.0) == NORMAL
    assert watch.taken(8_100.0, 990.0) == NORMAL, "an overload is none"
    assert watch.taken(8_200.0, 3_000.0) == NORMAL


def test_a_start_with_a_backlog_is_an_outage() -> None:
    assert Outage(Overload(1000.0)).taken(99_000.0, 98_000.0) == DROP
    assert Outage(Overload(1000.0, "catch-up")).taken(99_000.0, 98_000.0) == KEEP
    assert Outage(Overload(1000.0)).taken(99_000.0, 800.0) == NORMAL


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bound": 0.0}, "above 0 ms"),
        ({"bound": 1.0, "policy": "wait"}, "shed or catch-up, not 'wait'"),
        ({"bound": 1.0, "start": 1.0}, r"lie in \(0, 1\)"),
        ({"bound": 1.0, "seed": -1}, "a seed is a whole number from 0 to 9223372036854775807, not -1"),
        ({"bound": 1.0, "exempt": -0.1}, r"exempt, spared or followed is a share in \[0, 1\)"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Overload(**wrong)  # type: ignore[arg-type]


def test_a_record_says_where_windows_begin() -> None:
    sliding = traits_of({"name": "q", "text": "PATTERN SEQ(A a, B b) WITHIN 60 EVENTS SLIDE 20 EVENTS"})
    assert (sliding.slide, sliding.counts) == (20, True)
    assert traits_of({"name": "q", "text": MATCH}).slide is None


@pytest.mark.parametrize(
    ("text", "replaces"),
    [
        ("PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x = b.x } WITHIN 60 EVENTS", False),
        ("PATTERN SEQ(A a, B b) WHERE skip-till-next-match { a.x = b.x } WITHIN 60 EVENTS", True),
        ("PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x = b.x } WITHIN 60 EVENTS CONSUME b", True),
        ("PATTERN SEQ(A a, NOT C c, B b) WHERE skip-till-any-match { a.x = b.x } WITHIN 60 EVENTS", True),
        ("PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x = b.x } WITHIN 60 EVENTS OUTPUT FIRST", True),
        (TREND, True),
    ],
)
def test_where_all_matches_are_found_none_stands_for_another(text: str, replaces: bool) -> None:
    traits = traits_of({"name": "q", "text": text})
    assert (traits.replaces, traits.errors) == (replaces, 2.0 if replaces else 1.0)

"""Shedding on the virtual clock: arrivals, blocks, costs, and the closed loop around real engines."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.models.reader import records
from saffron.engine.models.transitions.model import TransitionModel, decode
from saffron.engine.shed.load.settings import Overload
from saffron.errors import InputError, SettingsError
from saffron.experiments.virtual import VirtualReplay, VirtualRun
from saffron.experiments.virtual_cost import FittedCost, Work, fit
from saffron.experiments.virtual_loop import Loop
from saffron.experiments.virtual_pace import Rate, cuts, recut
from saffron.experiments.virtual_truth import recall_error
from saffron.runtime.replay.fused import Engines, Query
from tests.unit.engine.shed.blocks import block, query

ABC = """QUERY abc PATTERN SEQ(A a, B b, C c)
WHERE skip-till-next-match { a.x < 7 } WITHIN 300 EVENTS"""
COUNTED = "QUERY counted RETURN COUNT(*) PATTERN A+ WITHIN 1 minute"


def stream(events: int, seed: int = 0) -> RawBatch:
    """Events of four types, one a second, with a number."""
    random = np.random.default_rng(seed)
    kinds, numbers = random.choice(list("ABCD"), events, p=[0.3, 0.3, 0.05, 0.35]), random.integers(0, 10, events)
    rows = zip(kinds.tolist(), numbers.tolist(), strict=True)
    return batch_of_values([orjson.dumps({"type": k, "ts": 1000 * i, "x": x}) for i, (k, x) in enumerate(rows)])


def shed(shedder: str, rate: str = "2x", texts: tuple[str, ...] = (ABC,), **run: Any) -> VirtualReplay:
    warn = run.pop("warn", lambda warning: None)
    settings_ = VirtualRun(Overload(1000.0), Rate.of(rate), shedder, truth=True, stated={"": 150_000.0}, **run)
    return VirtualReplay([Query(f"q{i}", text) for i, text in enumerate(texts)], settings_, warn=warn)


def ids(replay: VirtualReplay, events: int = 9_000) -> list[str]:
    chunks = [chunk for merged in replay.results([stream(events)]) for chunk in merged.json()]
    return [orjson.loads(text)["id"] for chunk in chunks for text in chunk]


# ------------------------------------------------------------ arrivals and blocks


def test_rates_are_events_a_second_or_times_the_capacity() -> None:
    assert Rate.of("20_000") == Rate(20_000.0)
    assert Rate.of("1.4x") == Rate(1.4, relative=True)
    assert Rate.of("1000").arrivals(3, 5.0).tolist() == [1.0, 2.0, 3.0]
    assert Rate.of("2x").arrivals(2, 500.0).tolist() == [1.0, 2.0]
    for wrong in ("fast", "0", "-1x", "x", "infx", "nan"):
        with pytest.raises(SettingsError, match="times the capacity"):
            Rate.of(wrong)


def test_a_profile_multiplies_the_rate_for_a_while() -> None:
    times = Rate(1000.0, profile=((0.01, 1.0), (0.01, 5.0))).arrivals(100, 0.0)
    counts = [int(((times > begin) & (times <= begin + 10)).sum()) for begin in (0, 10, 20, 30)]
    assert counts == [10, 50, 10, 10]


@given(st.lists(st.floats(0, 30), max_size=200))
def test_a_block_is_what_comes_within_five_ms(gaps: list[float]) -> None:
    times = np.cumsum(np.array(gaps)) if gaps else np.zeros(0)
    ends = cuts(times).tolist()
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else 0) == len(times)
    for begin, end in zip([0, *ends], ends, strict=False):
        assert times[end - 1] // 5 == times[begin] // 5


def test_a_block_has_a_size_that_engines_like() -> None:
    sizes = np.diff(cuts(np.linspace(0, 4.9, 20_000)), prepend=0)
    assert sizes.tolist() == [8192, 8192, 20_000 - 2 * 8192]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 30), unique=True, max_size=6), st.lists(st.integers(0, 9), max_size=3))
def test_blocks_cut_anew_are_the_same_stream(ends: list[int], positions: list[int]) -> None:
    controls = [query(position, "add", f"q{i}") for i, position in enumerate(sorted(positions))]
    blocks = [replace(block(0, 10, 0, *controls), opened={"q": (0, 4, 9)}), replace(block(10, 20, 13), end=True)]
    pieces = list(recut(blocks, sorted(ends)))
    assert np.concatenate([piece.columns.seq for piece in pieces]).tolist() == list(range(30))
    assert [control for piece in pieces for control in piece.controls] == controls
    assert [at for piece in pieces for at in piece.opened.get("q", ())] == [0, 4, 9]
    assert [piece.end for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    for piece, after in pairwise(pieces):
        assert piece.next_seq == after.first_seq
        assert piece.watermark <= int(after.columns.ts[0])
    assert [piece.next_seq for piece in pieces if piece.next_seq in ends] == [end for end in sorted(ends) if end > 0]


# ------------------------------------------------------------ costs


def test_costs_are_found_in_what_was_measured() -> None:
    random = np.random.default_rng(3)
    true = FittedCost(5_000.0, 20.0, {"q": (100.0, 7.0, 300.0), "r": (0.0, 30.0, 0.0)})
    samples = []
    for _ in range(300):
        events = int(random.integers(200, 2000))
        kept = {"q": events - int(random.integers(0, 150)), "r": events - int(random.integers(0, 150))}
        met = {name: float(random.integers(0, 50_000)) for name in kept}
        work = Work(events, kept, met, {name: int(random.integers(0, 40)) for name in kept})
        samples.append((work, sum(true.of(work).values()) * float(random.normal(1, 0.01))))
    samples[7] = (samples[7][0], 50 * samples[7][1])
    found = fit(samples)
    assert found.queries["q"][1] == pytest.approx(7.0, rel=0.1)
    assert found.queries["r"][1] == pytest.approx(30.0, rel=0.1)
    for work, measured in samples[20:40]:
        assert sum(found.of(work).values()) == pytest.approx(measured, rel=0.1)


# ------------------------------------------------------------ the closed loop


def test_the_bound_breaks_without_shedding_and_holds_with_it() -> None:
    unshed, by_partial = shed("none"), shed("pspice")
    every, some = ids(unshed), ids(by_partial)
    before, after = unshed.figures(), by_partial.figures()
    assert before["event_latency_ms"]["p999"] > 1000 > after["event_latency_ms"]["p999"]
    assert (before["recall"], before["precision"]) == (1.0, 1.0)
    assert set(some) < set(every), "partial matches make no false match"
    assert after["recall"] == pytest.approx(len(some) / len(every), abs=1e-6)
    assert after["precision"] == 1.0
    assert after["dropped_partial_matches"] > 0
    assert after["dropped_events"] == 0
    assert 1 - after["recall"] == pytest.approx(after["estimated_loss"]["abc"], rel=0.2, abs=0.005)


def test_a_query_that_is_shed_without_a_model_has_none_in_the_figures() -> None:
    one = shed("pm-bl", models=[])
    ids(one, 3_000)
    assert one.figures()["model"] == {"abc": None}


def test_the_bound_holds_in_a_sudden_burst() -> None:
    burst = Rate(0.7, True, ((1.0, 1.0), (2.0, 7.1)))
    run = VirtualRun(Overload(1000.0), burst, "auto", stated={"": 150_000.0})
    replay = VirtualReplay([Query("q", ABC)], run)
    assert ids(replay)
    assert replay.figures()["event_latency_ms"]["p999"] < 1000


@pytest.mark.parametrize(("own", "weight"), [({}, 3.0), ({"abc": 5.0}, 5.0)])
def test_recall_and_precision_count_queries_by_their_weights(own: dict[str, float], weight: float) -> None:
    asked = VirtualRun(Overload(1000.0, weights=own), Rate.of("2x"), "bl", truth=True, stated={"": 150_000.0})
    other = "QUERY other PATTERN SEQ(A a, B b, C c) WHERE skip-till-next-match { a.x > 6 } WITHIN 300 EVENTS"
    replay = VirtualReplay([Query("q0", f"{ABC} WEIGHT 3"), Query("q1", other)], asked)
    ids(replay)
    figures = replay.figures()
    abc, other = figures["queries"]["abc"], figures["queries"]["other"]
    right, true = abc["recall"] * abc["true"], abc["true"]
    recall = (weight * right + other["recall"] * other["true"]) / (weight * true + other["true"])
    assert figures["recall"] == pytest.approx(recall, abs=1e-5)
    assert abc["recall"] != pytest.approx(other["recall"], abs=0.01), "else weights change nothing"


@pytest.mark.parametrize("shedder", ["auto", "pm-bl", "bl"])
def test_a_stated_cost_and_a_seed_give_the_same_again(shedder: str) -> None:
    one, other = shed(shedder), shed(shedder)
    assert ids(one) == ids(other)
    measured = {"decode_seconds", "compile_seconds", "seconds", "events_per_second"}
    first, second = ({k: v for k, v in run.figures().items() if k not in measured} for run in (one, other))
    assert first == second
    assert first["event_latency_ms"]["p999"] < 1000


def test_aggregate_queries_are_exempt_unless_asked() -> None:
    schema = infer_schema([stream(100)])
    for name in ("gspice-h", "bl"):
        for aggregates, expected in ((False, "none"), (True, "gspice-h")):
            bound = shed(name, texts=(ABC, COUNTED), aggregates=aggregates)._bound(schema)
            assert {query.name: query.shed for query in bound} == {"abc": "gspice-h", "counted": expected}


def test_a_shedder_that_can_act_on_no_query_is_refused_and_else_told_on_which_it_cannot() -> None:
    schema = infer_schema([stream(100)])
    likely = "QUERY likely PATTERN SEQ(A a, B b) WITHIN 1 minute CONFIDENCE >= 0.5"
    for shedder, text in (("pspice", COUNTED), ("pm-bl", likely), ("bl", COUNTED)):
        with pytest.raises(InputError, match="nothing would be shed: "):
            shed(shedder, texts=(text,))._bound(schema)
    told: list[str] = []
    both = shed("pspice", texts=(ABC, likely), warn=told.append)._bound(schema)
    assert {query.name: query.shed for query in both} == {"abc": "pspice", "likely": "none"}
    assert [one for one in told if one.startswith("nothing is shed of likely: pspice drops partial matches, ")]
    assert shed("auto", texts=(COUNTED,), warn=told.append)._bound(schema)[0].shed == "none"
    assert "query counted aggregates: with --shed-aggregates" in told[-1]


def test_what_was_admitted_gives_the_same_results_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    run = Loop.run

    def recorded(self: Loop, blocks: Any, arrivals: Any) -> Any:
        again = Engines(replay._compile)
        again.matcher.restore(self.server.engines.matcher.snapshot())
        apply = self.shedder.apply

        def applied(given: Any, **arguments: Any) -> Any:
            admitted = apply(given, **arguments)
            kept.extend(text for chunk in again.apply(admitted).json() for text in chunk)
            return admitted

        monkeypatch.setattr(self.shedder, "apply", applied)
        yield from run(self, blocks, arrivals)

    monkeypatch.setattr(Loop, "run", recorded)
    replay = shed("auto")
    found = [text for merged in replay.results([stream(9_000)]) for chunk in merged.json() for text in chunk]
    assert replay.figures()["dropped_partial_matches"] + replay.figures()["dropped_events"] > 0
    assert found == kept


def test_models_that_were_trained_can_be_given_again() -> None:
    one = shed("pspice")
    first = ids(one)
    other = shed("pspice", models=one.models())
    assert ids(other) == first


def test_models_of_other_queries_are_refused() -> None:
    longer = "QUERY abc PATTERN SEQ(A a, B b, C c, D d) WITHIN 300 EVENTS"
    wider = "QUERY abc PATTERN SEQ(A a, B b, C c) WITHIN 400 EVENTS"
    other = ABC.replace("QUERY abc", "QUERY other")
    general = "QUERY abc PATTERN SEQ(A a, (B b | C c), C d) WITHIN 300 EVENTS"
    whole, partial = shed("auto"), shed("pspice")
    for one in (whole, partial):
        next(one.results([stream(9_000)]))
    for text, told in (
        (longer, "the model given for query abc is not of this query: it has 4 states, the query 5"),
        (general, "the model given for query abc is not of this query: it has 4 states, the query"),
        (wider, "its window is 300 events, the query's 400 events"),
        (other, "query other has no model among those given, which are of abc"),
    ):
        with pytest.raises(InputError, match=told):
            ids(shed("auto", texts=(text,), models=whole.models()))
    with pytest.raises(InputError, match="bl goes by models of events, and none is among those given"):
        ids(shed("bl", models=partial.models()))
    events = [(key, value) for key, value in whole.models() if b"/events" in key]
    unknown = "QUERY abc PATTERN SEQ(A a, B b, D d) WITHIN 300 EVENTS"
    with pytest.raises(InputError, match="its features know no events of type D"):
        ids(shed("bl", texts=(unknown,), models=events))
    key, value = whole.models()[0]
    with pytest.raises(InputError, match="record 1 of the models given: "):
        ids(shed("auto", models=[(key, value[:-9])]))
    assert ids(shed("auto", texts=(ABC, other.replace("A a", "D a")), models=[*whole.models(), *renamed(whole)]))


def renamed(replay: VirtualReplay) -> list[tuple[bytes, bytes]]:
    """Its model of transitions as one of a query "other" with as many states and the same window."""
    (model,) = [decode(value, key=key) for key, value in replay.models() if key == b"abc/transitions"]
    assert isinstance(model, TransitionModel)
    return records(replace(model, query="other"))


def test_what_cannot_be_replayed_under_a_bound_is_refused() -> None:
    with pytest.raises(InputError, match="a share between 0 and 1"):
        shed("auto", train=1.0)
    with pytest.raises(InputError, match="one partition"):
        VirtualReplay([Query("q", ABC)], VirtualRun(Overload(1.0), Rate(1.0)), partitions=2, key="x")
    with pytest.raises(InputError, match="no events to train on"):
        ids(shed("auto", train=0.001), 100)


def test_results_that_begin_alike_tell_no_more_than_one() -> None:
    alone = [(number, 1.0, number % 4 > 0) for number in range(400)]
    assert recall_error(alone) == pytest.approx((0.75 * 0.25 / 400) ** 0.5, rel=1e-4)
    clumped = [(number, 1.0, number % 4 > 0) for number in range(400) for _ in range(9)]
    assert recall_error(clumped) == recall_error(alone)
    assert recall_error([(1, 1.0, True), (2, 1.0, True)]) == recall_error([]) == 0.0


def test_what_is_known_of_the_truth_and_of_models_need_not_be_found_again() -> None:
    first = shed("auto")
    next(first.results([stream(9_000)]))
    assert first.truth is not None
    known = VirtualRun(
        Overload(1000.0), Rate.of("2x"), "auto", truth=first.truth, stated={"": 150_000.0}, models=first.models()
    )
    again, whole = VirtualReplay([Query("q0", ABC)], known), shed("auto")
    assert ids(again) == ids(whole)
    figures = [{key: one for key, one in run.figures().items() if "seconds" not in key} for run in (again, whole)]
    assert {**figures[0], "events_per_second": 0} == {**figures[1], "events_per_second": 0}
    assert again.figures()["virtual_seconds"] == whole.figures()["virtual_seconds"]

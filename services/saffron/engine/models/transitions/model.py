"""The models that the builder publishes and the shedder loads: their content, encoding and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from saffron.engine.models.transitions import markov
from saffron.engine.models.transitions.ages import AGES
from saffron.engine.models.transitions.latency import SHAPES, LatencyFunction
from saffron.engine.models.transitions.markov import Matrix
from saffron.engine.models.transitions.trials import Trials
from saffron.records.envelope import ModelError, Version, seal, unseal, version_of

TRANSITIONS = "transitions"
LATENCY = "latency"
LONGEST_WINDOW = 10_000_000
"""Events of a window beyond which its completion table is not computed further; no model has more."""

Offsets = Mapping[str, Mapping[str, int]]
"""topic -> partition -> the next offset: everything before it went into the model."""


@dataclass(frozen=True)
class TransitionModel:
    """The learned chances of a query's partial matches to complete (P3), and the time that they still cost (P4).

    `query_version`: version of the query that was observed. `states`: m, the last one completed. `window_size`,
    `window_events`: the query's window, in events or ms. `expected_events`: ws, the events that a partial match meets
    in a whole window.

    `matrix` [m, m]: T_q. `completion` [bins, m]: P after each multiple of `bin_size` events. `matches` [bins, m]:
    expected matches after as many events, where runs split; [0, m] where none does, since it is P then. `remaining_ns`
    [bins, m]: tau after as many events, ns; [0, m] where no times were measured. `met` [m]: events that runs met in
    each state; `observations`: of all states together.

    `lift` [m, AGES]: see `ages`. `seen` [m, AGES]: partial matches of each age. Both are [0, AGES] where none was
    tracked. `trials`: of its order, on partial matches that it was not learned from. Its key in the topic is
    "QUERY/transitions".
    """

    query: str
    query_version: int
    version: Version
    states: int
    window_size: int
    window_events: bool
    expected_events: float
    bin_size: int
    matrix: Matrix
    completion: Matrix
    matches: Matrix
    remaining_ns: Matrix
    met: tuple[int, ...]
    lift: Matrix
    seen: Matrix
    observations: int
    trained_through: Offsets
    trials: Trials = Trials()

    @property
    def key(self) -> bytes:
        return f"{self.query}/{TRANSITIONS}".encode()

    @property
    def expected(self) -> Matrix:
        """[bins, m]: matches expected of a partial match, which are lost where it is dropped."""
        return self.matches if len(self.matches) else self.completion

    @cached_property
    def length(self) -> int:
        """Events of a match, at least."""
        return markov.steps(self.matrix)

    @property
    def per_ms(self) -> float:
        """Turns the ms left of a window in time into expected events left; 0 for windows in events."""
        return 0.0 if self.window_events else self.expected_events / self.window_size

    def misfit(self, states: int | None, window: tuple[int, bool]) -> str:
        """The difference, in words, between the query that it was learned of and another one; "" where nothing says
        that it is.

        `states`: of the other query (None: not known). `window`: its size, and whether that is in events.
        """
        if states is not None and states != self.states:
            return f"it has {self.states} states, the query {states}"
        if window != (self.window_size, self.window_events):
            return f"its window is {_said(self.window_size, self.window_events)}, the query's {_said(*window)}"
        return ""

    def utility(self) -> dict[str, Any]:
        """The table that a drop order carries: {"utility": [bins][states], "bin": events, "per_ms": events a ms}."""
        return {"utility": self.completion.tolist(), "bin": self.bin_size, "per_ms": self.per_ms}

    def encode(self) -> bytes:
        """The record's value: equal models are equal bytes."""
        return seal(
            {
                "query": self.query,
                "query_version": self.query_version,
                "kind": TRANSITIONS,
                "version": list(self.version),
                "trained_through": self.trained_through,
                "observations": self.observations,
                "model": {
                    "states": self.states,
                    "window": {"size": self.window_size, "events": self.window_events},
                    "expected_events": self.expected_events,
                    "bin": self.bin_size,
                    "transition": self.matrix.tolist(),
                    "completion": self.completion.tolist(),
                    "matches": self.matches.tolist(),
                    "remaining_ns": self.remaining_ns.tolist(),
                    "met": list(self.met),
                    "lift": self.lift.tolist(),
                    "seen": self.seen.astype(np.int64).tolist(),
                    "trials": list(astuple(self.trials)),
                },
            }
        )


@dataclass(frozen=True)
class LatencyModel:
    """f (processing) and g (shedding) of a stream (P7), either None until observed. Key: "@STREAM/latency"."""

    stream: str
    version: Version
    processing: LatencyFunction | None
    shedding: LatencyFunction | None
    observations: int
    trained_through: Offsets

    @property
    def key(self) -> bytes:
        return f"@{self.stream}/{LATENCY}".encode()

    def encode(self) -> bytes:
        """The record's value: equal models are equal bytes."""
        functions = {"processing": self.processing, "shedding": self.shedding}
        return seal(
            {
                "stream": self.stream,
                "kind": LATENCY,
                "version": list(self.version),
                "trained_through": self.trained_through,
                "observations": self.observations,
                "model": {name: asdict(function) if function else None for name, function in functions.items()},
            }
        )


Model = TransitionModel | LatencyModel


def decode(value: bytes, *, key: bytes | None = None) -> Model:
    """The model in a record's value, checked.

    ModelError, by `reason`: "broken" (not as sealed), "incomplete" (a field is missing or does not fit the others),
    "query" (`key` belongs to another model).
    """
    content = unseal(value)
    version = version_of(content)
    model = _read(content, version)
    if key is not None and key != model.key:
        raise ModelError("query", f"the model is for {model.key.decode()}, not for {key.decode(errors='replace')}")
    return model


def _read(content: Mapping[str, Any], version: Version) -> Model:
    try:
        if content["kind"] == TRANSITIONS:
            return _read_transitions(content, version)
        if content["kind"] == LATENCY:
            return _read_latency(content, version)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError("incomplete", f"the model lacks a field or has a wrong one: {error!r}") from None
    raise ModelError("incomplete", f"the model's kind {content['kind']!r} is unknown here")


def _read_transitions(content: Mapping[str, Any], version: Version) -> TransitionModel:
    """The transition model in a record's content, with all shapes and ranges checked.

    KeyError, TypeError or ValueError: a field is missing or wrong. "lift", "seen" and "trials" may be missing, as
    records of older versions lack them.
    """
    tables = content["model"]
    states = int(tables["states"])
    model = TransitionModel(
        query=str(content["query"]),
        query_version=int(content["query_version"]),
        version=version,
        states=states,
        window_size=int(tables["window"]["size"]),
        window_events=bool(tables["window"]["events"]),
        expected_events=float(tables["expected_events"]),
        bin_size=int(tables["bin"]),
        matrix=_table(tables["transition"], states),
        completion=_table(tables["completion"], states),
        matches=_table(tables["matches"], states),
        remaining_ns=_table(tables["remaining_ns"], states),
        met=tuple(int(count) for count in tables["met"]),
        lift=_by_age(tables.get("lift", []), states),
        seen=_by_age(tables.get("seen", []), states),
        observations=int(content["observations"]),
        trained_through=offsets_of(content["trained_through"]),
        trials=_trials(tables.get("trials", (0.0, 0.0, 0.0))),
    )
    if len(model.matrix) != states or not len(model.completion):
        raise ValueError(f"{len(model.matrix)} rows of transitions, {len(model.completion)} bins for {states} states")
    for name, table in (("times", model.remaining_ns), ("matches", model.matches)):
        if len(table) not in (0, len(model.completion)):
            raise ValueError(f"{len(table)} bins of {name} for {len(model.completion)} bins of probabilities")
        if not (table >= 0).all():
            raise ValueError(f"{name} are below 0 or none")
    if not (model.lift >= 0).all() or not (model.seen >= 0).all():
        raise ValueError("factors or numbers by age are below 0 or none")
    if len(model.met) != states:
        raise ValueError(f"events met in {len(model.met)} states of {states}")
    if model.bin_size < 1 or model.window_size < 1 or not model.expected_events > 0:
        raise ValueError("bin, window and expected events must be above 0")
    if max(model.bin_size, model.expected_events) > LONGEST_WINDOW:
        raise ValueError(f"bin and expected events must be at most {LONGEST_WINDOW:,}")
    for name, table in (("transition", model.matrix), ("completion", model.completion)):
        if not ((table >= 0) & (table <= 1)).all():
            raise ValueError(f"a probability of {name} lies outside of [0, 1]")
    return model


def _read_latency(content: Mapping[str, Any], version: Version) -> LatencyModel:
    return LatencyModel(
        stream=str(content["stream"]),
        version=version,
        processing=_function(content["model"]["processing"]),
        shedding=_function(content["model"]["shedding"]),
        observations=int(content["observations"]),
        trained_through=offsets_of(content["trained_through"]),
    )


def _said(size: int, events: bool) -> str:
    return f"{size:,} {'events' if events else 'ms'}"


def _table(rows: Any, states: int) -> Matrix:
    table = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else states)
    if table.shape[1] != states:
        raise ValueError(f"rows of {table.shape[1]} numbers for {states} states")
    return table


def _by_age(rows: Any, states: int) -> Matrix:
    """A table by state and age; [0, AGES] in older models, which have none."""
    if not rows:
        return np.zeros((0, AGES))
    found = np.array(rows, dtype=np.float64)
    if found.shape != (states, AGES):
        raise ValueError(f"{found.shape} states and ages, for {states} of {AGES}")
    return found


def _trials(body: Sequence[float]) -> Trials:
    """The trials in a model's record. ValueError: they are not finite, or negative."""
    count, gains, squares = map(float, body)
    if not (count >= 0 and squares >= 0 and np.isfinite([count, gains, squares]).all()):
        raise ValueError(f"{count} trials, and {squares} as the squares of their gains")
    return Trials(count, gains, squares)


def offsets_of(body: Any) -> Offsets:
    """The offsets in a record's body."""
    return {topic: {part: int(offset) for part, offset in parts.items()} for topic, parts in body.items()}


def _function(body: Mapping[str, Any] | None) -> LatencyFunction | None:
    if body is None:
        return None
    function = LatencyFunction(str(body["shape"]), float(body["offset"]), float(body["slope"]), float(body["error"]))
    if function.shape not in SHAPES or not function.slope >= 0:
        raise ValueError(f"no latency function: {function}")
    return function

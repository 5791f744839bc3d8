"""The models that the builder publishes and the shedder loads: their content, encoding and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models import markov
from saffron.engine.models.envelope import ModelError, Version, seal, unseal, version_of
from saffron.engine.models.latency import SHAPES, LatencyFunction

TRANSITIONS = "transitions"
LATENCY = "latency"

Offsets = Mapping[str, int]
"""topic/partition -> the next offset: everything before it went into the model."""


@dataclass(frozen=True)
class TransitionModel:
    """How likely a partial match of a query is to complete (P3).

    `query_version`: version of the query that was observed. `states`: m, the last one completed.
    `window_size`, `window_events`: the query's window, in events or ms; `expected_events`: ws, the events that a partial
    match meets in a whole window. `matrix` [m, m]: T_q. `completion` [bins, m]: P after each multiple of `bin_size`
    events. `observations`: how many the counts hold. Its key in the topic is "QUERY/transitions".
    """

    query: str
    query_version: int
    version: Version
    states: int
    window_size: int
    window_events: bool
    expected_events: float
    bin_size: int
    matrix: NDArray[np.float64]
    completion: NDArray[np.float64]
    observations: int
    trained_through: Offsets

    @property
    def key(self) -> bytes:
        return f"{self.query}/{TRANSITIONS}".encode()

    def probability(self, state: int, remaining: float) -> float:
        """Probability that a partial match in `state` (0-based) completes with `remaining` events left."""
        return markov.lookup(self.completion, self.bin_size, state, remaining)

    def utility(self) -> dict[str, Any]:
        """What a drop order carries by content: {"utility": [bins][states], "bin": events, "per_ms": events a ms}.

        `per_ms` turns the ms left of a window in time into expected events left; 0 for windows in events.
        """
        per_ms = 0.0 if self.window_events else self.expected_events / self.window_size
        return {"utility": self.completion.tolist(), "bin": self.bin_size, "per_ms": per_ms}

    def encode(self) -> bytes:
        """The record's value: equal models are equal bytes."""
        return seal(
            {
                "query": self.query,
                "kind": TRANSITIONS,
                "query_version": self.query_version,
                "version": list(self.version),
                "states": self.states,
                "window": {"size": self.window_size, "events": self.window_events},
                "expected_events": self.expected_events,
                "bin": self.bin_size,
                "matrix": self.matrix.tolist(),
                "completion": self.completion.tolist(),
                "observations": self.observations,
                "trained_through": dict(self.trained_through),
            }
        )


@dataclass(frozen=True)
class LatencyModel:
    """f and g of a service on a stream (P7), either None until observed. Key: "@STREAM/SERVICE/latency"."""

    stream: str
    service: str
    version: Version
    processing: LatencyFunction | None
    shedding: LatencyFunction | None
    observations: int
    trained_through: Offsets

    @property
    def key(self) -> bytes:
        return f"@{self.stream}/{self.service}/{LATENCY}".encode()

    def encode(self) -> bytes:
        """The record's value: equal models are equal bytes."""
        return seal(
            {
                "kind": LATENCY,
                "stream": self.stream,
                "service": self.service,
                "version": list(self.version),
                "processing": _function_body(self.processing),
                "shedding": _function_body(self.shedding),
                "observations": self.observations,
                "trained_through": dict(self.trained_through),
            }
        )


Model = TransitionModel | LatencyModel


def decode(value: bytes, *, key: bytes | None = None, newer_than: Version | None = None) -> Model:
    """The model in a record's value, checked.

    ModelError, by `reason`: "broken" (not as sealed), "incomplete" (a field is missing or does not fit the others),
    "query" (`key` belongs to another model), "older" (its version is not above `newer_than`).
    """
    content = unseal(value)
    version = version_of(content)
    model = _read(content, version)
    if key is not None and key != model.key:
        raise ModelError("query", f"the model is for {model.key.decode()}, not for {key.decode(errors='replace')}")
    if newer_than is not None and version <= newer_than:
        raise ModelError("older", f"the model's version {list(version)} is not above {list(newer_than)}, in force now")
    return model


def _read(content: Mapping[str, Any], version: Version) -> Model:
    try:
        if content["kind"] == TRANSITIONS:
            return _read_transitions(content, version)
        if content["kind"] == LATENCY:
            return _read_latency(content, version)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError("incomplete", f"the model lacks a field or has a wrong one: {error!r}") from None
    raise ModelError("incomplete", f"the model's kind {content['kind']!r} is unknown here")


def _read_transitions(content: Mapping[str, Any], version: Version) -> TransitionModel:
    states = int(content["states"])
    model = TransitionModel(
        query=str(content["query"]),
        query_version=int(content["query_version"]),
        version=version,
        states=states,
        window_size=int(content["window"]["size"]),
        window_events=bool(content["window"]["events"]),
        expected_events=float(content["expected_events"]),
        bin_size=int(content["bin"]),
        matrix=np.array(content["matrix"], dtype=np.float64),
        completion=np.array(content["completion"], dtype=np.float64),
        observations=int(content["observations"]),
        trained_through=dict(content["trained_through"]),
    )
    if model.matrix.shape != (states, states) or model.completion.ndim != 2 or model.completion.shape[1] != states:
        raise ValueError(f"tables of {model.matrix.shape} and {model.completion.shape} for {states} states")
    if model.bin_size < 1 or not len(model.completion) or model.window_size < 1:
        raise ValueError("a bin, a window and the completion table must not be empty")
    inside = (model.completion >= 0) & (model.completion <= 1)
    if not inside.all():
        raise ValueError("a completion probability lies outside of [0, 1]")
    return model


def _read_latency(content: Mapping[str, Any], version: Version) -> LatencyModel:
    return LatencyModel(
        stream=str(content["stream"]),
        service=str(content["service"]),
        version=version,
        processing=_read_function(content["processing"]),
        shedding=_read_function(content["shedding"]),
        observations=int(content["observations"]),
        trained_through=dict(content["trained_through"]),
    )


def _function_body(function: LatencyFunction | None) -> dict[str, Any] | None:
    if function is None:
        return None
    return {
        "shape": function.shape,
        "offset": function.offset,
        "slope": function.slope,
        "error": function.error,
    }


def _read_function(body: Mapping[str, Any] | None) -> LatencyFunction | None:
    if body is None:
        return None
    if body["shape"] not in SHAPES:
        raise ValueError(f"unknown shape {body['shape']!r}")
    return LatencyFunction(str(body["shape"]), float(body["offset"]), float(body["slope"]), float(body["error"]))

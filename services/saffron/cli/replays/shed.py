"""The options of `saffron replay` that shed load on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import typer

from saffron.errors import InputError
from saffron.given_files import bytes_of
from saffron.language.cost.shedders import AUTO, refusal
from saffron.runtime.process.config import Settings

if TYPE_CHECKING:
    from saffron.experiments.virtual import VirtualReplay
    from saffron.experiments.virtual_models import Records
    from saffron.runtime.replay.fused import Query

TRAIN = 0.3
PANE = Settings.pane_events
POLICY: Final = "shed"
"""Where nothing else is said."""


@dataclass(frozen=True)
class ShedOptions:
    """The options as given on the command line. `cost`: NS or QUERY=NS each."""

    latency_bound: int | None
    rate: str | None
    shed: str
    models: Path | None
    save_models: Path | None
    train: float
    truth: bool
    pane: int
    seed: int
    policy: str
    cost: Sequence[str]
    aggregates: bool

    @property
    def given(self) -> list[str]:
        """The options that differ from their defaults."""
        says = {
            "--latency-bound": self.latency_bound is not None,
            "--rate": self.rate is not None,
            "--shed": self.shed != AUTO,
            "--models": self.models is not None,
            "--save-models": self.save_models is not None,
            "--train": self.train != TRAIN,
            "--truth": self.truth,
            "--pane": self.pane != PANE,
            "--seed": self.seed != 0,
            "--policy": self.policy != POLICY,
            "--cost": bool(self.cost),
            "--shed-aggregates": self.aggregates,
        }
        return [option for option, something in says.items() if something]

    @property
    def asked(self) -> bool:
        """Whether there is a bound to keep. BadParameter: an option needs one, or there is no such shedder."""
        if wrong := refusal(self.shed):
            raise typer.BadParameter(f"--shed: {wrong}")
        given = self.given
        if given and self.latency_bound is None:
            raise typer.BadParameter(f"{given[0]} goes with --latency-bound DURATION")
        return bool(given)

    def replay(self, queries: Sequence[Query], **settings: Any) -> VirtualReplay:
        """A replay on a virtual clock. `settings`: those of any replay. BadParameter: there is no rate."""
        from saffron.engine.models.features.features import Pane
        from saffron.engine.shed.load.settings import Overload
        from saffron.experiments.virtual import VirtualReplay, VirtualRun
        from saffron.experiments.virtual_pace import Rate

        if self.rate is None:
            raise typer.BadParameter("--latency-bound needs a --rate: events a second (20000), or 1.4x the capacity")
        run = VirtualRun(
            Overload(float(self.latency_bound or 0), self.policy, seed=self.seed),
            Rate.of(self.rate),
            self.shed,
            train=self.train,
            truth=self.truth,
            aggregates=self.aggregates,
            stated=_costs(self.cost),
            models=_read(self.models),
            pane=Pane(self.pane),
        )
        return VirtualReplay(queries, run, **settings)

    def save(self, models: Records) -> None:
        """Writes the trained models, one record per line."""
        if self.save_models is None:
            return
        lines = [orjson.dumps({"key": key.decode(), "value": value.decode()}) + b"\n" for key, value in models]
        try:
            self.save_models.write_bytes(b"".join(lines))
        except OSError as error:
            raise InputError(f"cannot write {self.save_models}: {error.strerror}") from error


def _costs(given: Sequence[str]) -> Mapping[str, float] | None:
    """ns per check by query, "" for all others; None if no cost is stated."""
    costs = {}
    for one in given:
        query, _, number = one.rpartition("=")
        try:
            costs[query] = float(number)
        except ValueError:
            costs[query] = -1.0
        if not 0 < costs[query] < float("inf"):
            raise typer.BadParameter(f"--cost {one}: give nanoseconds above 0, as NS or QUERY=NS")
    return costs or None


def _read(path: Path | None) -> Records | None:
    """The model records of a file that `save` has written; None without a file."""
    if path is None:
        return None
    records = []
    for number, line in enumerate(bytes_of(path).splitlines(), 1):
        try:
            record = orjson.loads(line)
            records.append((record["key"].encode(), record["value"].encode()))
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise InputError(f"{path}, line {number}: no record of a model, as --save-models writes them") from None
    if not records:
        raise InputError(
            f"{path} has no models: leave --models out to train, and --save-models writes what was trained"
        )
    return records

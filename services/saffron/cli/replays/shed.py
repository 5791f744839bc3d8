"""The options of `saffron replay` that shed load on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
import typer

from saffron.cli.parsed import duration_option, number_option
from saffron.errors import InputError
from saffron.given_files import bytes_of, require_writable
from saffron.language.cost.shedders import AUTO, refusal
from saffron.runtime.process.config import MOST_PANE, Settings

if TYPE_CHECKING:
    from saffron.experiments.virtual import VirtualReplay
    from saffron.experiments.virtual_models import Records
    from saffron.runtime.replay.fused import Query


@dataclass(frozen=True)
class ShedOptions:
    """The options of shedding on a virtual clock. `cost`: NS or QUERY=NS each."""

    latency_bound: Annotated[
        int | None, duration_option("Shed load to hold this, on a virtual clock (with --rate).", least=1)
    ] = None
    rate: Annotated[
        str | None, typer.Option(metavar="N|X", help="Events a second, or times the queries' own capacity (1.4x).")
    ] = None
    shed: Annotated[str, typer.Option(metavar="NAME", help="Which shedder acts; none lets the bound break.")] = AUTO
    models: Annotated[Path | None, typer.Option(metavar="FILE", help="Models to shed by; else trained here.")] = None
    save_models: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the trained models here.")] = None
    train: Annotated[float, number_option("Share of the events, the first ones, to train on.", above=0, below=1)] = 0.3
    truth: Annotated[bool, typer.Option("--truth", help="Add recall and precision to --stats.")] = False
    pane: Annotated[
        int, typer.Option(min=1, max=MOST_PANE, metavar="N", help="Events before one that decide its utility.")
    ] = Settings.pane_events
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of all that is drawn in shedding.")] = 0
    policy: Annotated[Literal["shed", "catch-up"], typer.Option(help="What to do after an outage.")] = "shed"
    cost: Annotated[
        list[str] | None, typer.Option(metavar="[QUERY=]NS", help="Of a check, instead of measured times.")
    ] = None
    shed_aggregates: Annotated[bool, typer.Option(help="Aggregate queries may lose events too.")] = False

    @property
    def given(self) -> list[str]:
        """The options that differ from their defaults."""
        differ = [one.name for one in fields(self) if getattr(self, one.name) not in (one.default, [])]
        return [f"--{name.replace('_', '-')}" for name in differ]

    @property
    def asked(self) -> bool:
        """True if there is a bound to keep. BadParameter: an option needs one, or there is no such shedder."""
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
        require_writable(self.save_models)
        run = VirtualRun(
            Overload(float(self.latency_bound or 0), self.policy, seed=self.seed),
            Rate.of(self.rate),
            self.shed,
            train=self.train,
            truth=self.truth,
            aggregates=self.shed_aggregates,
            stated=_costs(self.cost or []),
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

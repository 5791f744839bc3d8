"""Shedding on a virtual clock (`saffron replay --latency-bound`): the services' operators, time by arithmetic.

Events arrive at a given rate. One server takes them block by block, each for as long as its counts cost
(`virtual_cost`). The `ShedderOperator` before it and the engines in it are those of Kafka. The leading share of the
stream is for calibration and training; figures are of the rest. For a stated cost and a seed all is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import concat_columns
from saffron.engine.events.raw import RawBatch
from saffron.engine.match.general.watch import ONE_IN
from saffron.engine.models.features.choosing import PANE, SAMPLE, choose_features
from saffron.engine.models.features.features import FeatureSpec, Pane
from saffron.engine.models.reader import records
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.operator import ShedderOperator
from saffron.errors import InputError, SettingsError
from saffron.experiments.baselines import acting
from saffron.experiments.kind_rates import KindRates
from saffron.experiments.virtual_exempt import exempt
from saffron.experiments.virtual_figures import figures_of
from saffron.experiments.virtual_learning import Learning
from saffron.experiments.virtual_loop import Loop
from saffron.experiments.virtual_models import Records, require_fitting
from saffron.experiments.virtual_pace import Rate, cuts, recut
from saffron.experiments.virtual_server import Server
from saffron.experiments.virtual_training import Trained, train
from saffron.experiments.virtual_truth import Found, compared
from saffron.language.cost.shedders import AUTO, NONE
from saffron.language.plan.match_plan import MatchPlan
from saffron.runtime.replay.both import Merged
from saffron.runtime.replay.fused import Chain, Engines, Query
from saffron.runtime.replay.replay import Replay
from saffron.runtime.streams.unknown_names import no_query
from saffron.schema.schema import Schema

TRAINING_EVENTS, TRAINING_BLOCKS = 1_024, 128
"""Events of a block while training, at most; and how many blocks there should be, so that there are samples enough."""


@dataclass(frozen=True)
class VirtualRun:
    """The settings of a run.

    `overload`: the bound, and the policy. `rate`: of arrival. `shedder`: of every query on which it can act; aggregate
    queries are exempt unless `aggregates`. `train`: the leading share of the events. `truth`: compare with the same run
    without shedding, or with the results given. `stated`: ns a check, for all queries (""), or by name; None: measured.
    `models`: records of the `models` topic, of these queries, to use instead of models trained here; None: train.
    `rates`: of kinds of events, that came with the models. `pane`: of the features that are trained on.
    """

    overload: Overload
    rate: Rate
    shedder: str = AUTO
    train: float = 0.3
    truth: bool | Found = False
    aggregates: bool = False
    stated: Mapping[str, float] | None = None
    models: Records | None = None
    rates: Mapping[str, KindRates] = field(default_factory=dict)
    pane: Pane = PANE


class VirtualReplay(Replay):
    """A replay under a latency bound. Its results are those behind the training share.

    `trained`, once training is over; `truth`, where it is asked for. The whole stream is held in memory, as columns.
    """

    def __init__(self, queries: Sequence[Query], run: VirtualRun, **settings: Any) -> None:
        if not 0 < run.train < 1:
            raise InputError(f"a share between 0 and 1 of the events trains, not {run.train:g}")
        self._acting = acting(run.shedder, run.rates)
        super().__init__([replace(query, shed=self._acting.name) for query in queries], interpret=False, **settings)
        if self.partitions > 1:
            raise InputError("a latency bound is replayed on one partition: leave --partitions out")
        self._run = run
        if run.models is None:
            self._one_in = 1  # every block is observed
        self._unshed: dict[str, str] = {}
        self._figures: dict[str, Any] = {}
        self.trained: Trained | None = None
        self.truth: Found | None = None
        self._features: FeatureSpec | None = None

    def results(self, batches: Iterable[RawBatch]) -> Iterator[Merged]:
        """Results behind the training share, as the shed run finds them."""
        source = self._begun(batches)
        chain = self._chains[0]
        blocks = list(chain.blocks(source))
        total = blocks[-1].next_seq if blocks else 0
        share = int(total * self._run.train)
        each = max(1, min(TRAINING_EVENTS, share // TRAINING_BLOCKS))
        pieces = list(recut(blocks, [*range(each, share, each), share]))
        self._require_models(chain, pieces)
        server = Server(chain.engines, _slots(chain))
        trained = self.trained = self._train(chain, server, [one for one in pieces if one.next_seq <= share])
        arrivals = self._run.rate.arrivals(total - share, trained.capacity)
        rest = list(recut((one for one in pieces if one.next_seq > share), (cuts(arrivals) + share).tolist()))
        chain.engines.matcher.watch(ONE_IN)
        truth = self.truth = self._true(chain, rest)
        loop = Loop(server, self._shedder(chain, rest), trained.cost)
        found = Found(self.names)
        for merged in loop.run(rest, arrivals):
            self._results.update(merged.counts())
            self._peak = max(self._peak, sum(server.partial_matches().values()))
            if truth is not None:
                found.add(merged)
            yield merged
        chain.engines.raise_failure()
        self.seconds = trained.seconds + loop.seconds
        weights = {**self.weights, **self._run.overload.weights}
        self._figures = figures_of(loop, trained, self.names, weights)
        if truth is not None:
            self._figures |= compared(found, truth, weights)

    def figures(self) -> dict[str, Any]:
        return super().figures() | self._figures

    def models(self) -> Records:
        """The models that were trained, as records of the `models` topic."""
        return [] if self.trained is None else [one for model in self.trained.models for one in records(model)]

    @property
    def rates(self) -> Mapping[str, KindRates]:
        """Rates of kinds of events by query: trained, or given with models."""
        return self._run.rates if self.trained is None or self._run.models is not None else self.trained.rates

    # ------------------------------------------------------------ inside

    def _bound(self, schema: Schema | None) -> list[Query]:
        assert schema is not None, "a replay over files has one"
        bound = super()._bound(schema)
        unshed = self._unshed = exempt(self.plans, schema, self._acting.shedder, aggregates=self._run.aggregates)
        if unshed:
            self._warn(f"nothing is shed of {', '.join(unshed)}: {'; '.join(unshed.values())}")
        return [replace(query, shed=NONE) if query.name in unshed else query for query in bound]

    def _require_models(self, chain: Chain, blocks: Sequence[Block]) -> None:
        """Models that were given must be of the queries that are shed."""
        if self._run.models is not None and blocks:
            shed = [one for one in self.plans if isinstance(one, MatchPlan) and one.name not in self._unshed]
            states = chain.engines.matcher.states
            require_fitting(self._run.models, shed, states, self._acting.shedder, blocks[0].columns)

    def _train(self, chain: Chain, server: Server, blocks: Sequence[Block]) -> Trained:
        """The training share passes a shedder without a bound, which adds keys for those who observe events."""
        learning = self._learning(blocks)
        shedder = _standing(ShedderOperator(0, self.stream), chain, blocks)
        self._features = learning.spec
        if learning.spec is not None:
            shedder.watch(learning.spec)
        passed = (shedder.apply(block, now_ms=0) for block in blocks)
        trained = train(server, passed, self.stream, self._stated(), learning)
        server.found.clear()
        return trained

    def _learning(self, blocks: Sequence[Block]) -> Learning:
        """The features that a shedder of events learns from, chosen by a sample of the training share."""
        plans = [plan for plan in self.plans if isinstance(plan, MatchPlan)]
        sample = [block.columns for block in blocks if block.next_seq <= max(SAMPLE, blocks[0].next_seq)]
        if self._run.models is not None or not plans or not sample or not self._acting.shedder.events:
            return Learning(None, self._acting.shedder)
        assert self.schema is not None
        columns, seed = concat_columns(sample), self._run.overload.seed
        spec = choose_features(plans, self.schema, columns, pane=self._run.pane, seed=seed)
        return Learning(spec, self._acting.shedder)

    def _stated(self) -> Mapping[str, float] | None:
        """The stated ns of a check, by query; None if none is stated. SettingsError: a query lacks one, or is none."""
        stated = self._run.stated
        if stated is None:
            return None
        if unknown := sorted(stated.keys() - {*self.names, ""}):
            raise SettingsError(f"--cost {unknown[0]}={stated[unknown[0]]:g}: {no_query(unknown[0], self.names)}")
        missing = [name for name in self.names if name not in stated and "" not in stated]
        if missing:
            raise SettingsError(f"--cost: none is stated for {', '.join(missing)}; give one for all (--cost NS)")
        return {name: stated.get(name, stated.get("", 0.0)) for name in self.names}

    def _true(self, chain: Chain, rest: Sequence[Block]) -> Found | None:
        """The results of the same engines over the rest without shedding."""
        if isinstance(self._run.truth, Found):
            return self._run.truth
        if not self._run.truth:
            return None
        engines = Engines(self._compile, stream=self.stream)
        engines.matcher.restore(chain.engines.matcher.snapshot())
        engines.trends.restore(chain.engines.trends.snapshot())
        found = Found(self.names)
        for block in rest:
            found.add(engines.apply(block))
        engines.raise_failure()
        return found

    def _shedder(self, chain: Chain, rest: Sequence[Block]) -> ShedderOperator:
        """The shedder of a chain, with models, at the beginning of `rest`. InputError: it refuses a model."""
        shedders = acting(self._run.shedder, self.rates).shedders
        shedder = _standing(ShedderOperator(0, self.stream, self._run.overload, shedders=shedders), chain, rest)
        for offset, (key, value) in enumerate(self.models() if self._run.models is None else self._run.models):
            if refused := shedder.offer(key, value, offset):
                raise InputError(refused)
        if self._features is not None:
            shedder.watch(self._features)
        return shedder


def _standing(shedder: ShedderOperator, chain: Chain, blocks: Sequence[Block]) -> ShedderOperator:
    """A shedder that knows the chain's queries, in front of these blocks."""
    for block in chain.opening:
        shedder.resume(block)
    if blocks:
        begin = blocks[0]
        shedder.resume(replace(begin, controls=(), next_seq=begin.first_seq))
    return shedder


def _slots(chain: Chain) -> dict[str, int]:
    controls = (control.body for block in chain.opening for control in block.controls if control.kind == "query")
    return {str(body["name"]): int(body["slot"]) for body in controls}

"""The choice of the features whose keys blocks carry (G1): given, or from queries and the first events under them.

A choice holds until the set of queries that may lose events changes, or until their models know other features that
serve all of them: samples differ by partition, and models bring them together. The choice is in the stream (the record
"features", and every checkpoint), so that a successor goes on with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import concat_columns, conformed, slice_columns
from saffron.engine.events.columns import Columns
from saffron.engine.events.schema_record import schema_from_record
from saffron.engine.models.features.choosing import choose_features, covers
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.features import FeatureError, FeatureSpec, Pane
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.plans import Plans, wanted_in
from saffron.engine.shed.drops.view import View
from saffron.errors import SaffronError
from saffron.records.envelope import Version

SAMPLE_EVENTS = 4096
"""The number of events from which features are chosen."""


class Observing:
    """The features of one chain. `pane`: for choosing features; None: `watch` gives them. `seed`: of their keys."""

    def __init__(self, events: EventDrops, plans: Plans, pane: Pane | None, *, seed: int = 0) -> None:
        self._events = events
        self._plans = plans
        self._pane = pane
        self._seed = seed
        self._spec: FeatureSpec | None = None
        self._announced = False
        self._chosen_for: Mapping[str, int] = {}
        self._wanted: Mapping[str, int] = {}
        self._models: tuple[tuple[str, Version], ...] = ()
        self._sample: list[Columns] = []

    @property
    def body(self) -> dict[str, Any] | None:
        """The body of a record "features", and its part of a checkpoint; None while nothing is observed."""
        spec = self._spec
        if spec is None:
            return None
        return {"spec": spec.identity, "specification": spec.body(), "queries": dict(self._chosen_for)}

    def watch(self, spec: FeatureSpec) -> None:
        """Blocks carry the keys of these features from the next one on."""
        if self._spec is None or spec.identity != self._spec.identity:
            self._events.watch(spec)
            self._spec, self._announced = spec, False

    def resume(self, control: Control, view: View) -> None:
        """Take a record of the own output; features announced there stay in force. `view`: with this record applied."""
        body = control.body if control.kind == "features" else control.body.get("features")
        if control.kind not in ("features", "checkpoint") or not isinstance(body, Mapping):
            return
        try:
            spec = FeatureSpec.of(body["specification"])
        except (KeyError, TypeError, ValueError):
            return
        if self._pane not in (None, spec.pane):
            self._announced = False  # it is another one's: features are chosen and announced again
            return
        self.watch(spec)
        chosen = body.get("queries")  # version 0.1.0 does not say for which queries they were chosen
        self._announced, self._chosen_for = True, wanted_in(view) if chosen is None else dict(chosen)

    def take(self, block: Block, view: View, models: Mapping[str, EventModel]) -> None:
        """Take a block. `view`: the queries in force at its beginning; `models`: of events, that fit these queries."""
        if self._pane is None:
            return
        wanted = wanted_in(view)
        versions = tuple((name, one.version) for name, one in models.items() if name in wanted)
        if wanted != self._wanted:
            self._wanted, self._sample, self._models = wanted, [], ()
        if versions != self._models:
            self._models = versions
            self._adopt([models[name].spec for name, _ in versions], view)
        if wanted and wanted != self._chosen_for and len(block.columns) and view.schema is not None:
            missing = SAMPLE_EVENTS - sum(map(len, self._sample))
            self._sample.append(slice_columns(block.columns, 0, min(missing, len(block.columns))))
            if len(block.columns) >= missing:
                self._choose(self._found(view))

    def news(self, position: int) -> list[Control]:
        """The record that announces the features to readers, unless it was announced."""
        body = self.body
        if body is None or self._announced:
            return []
        self._announced = True
        return [Control(position, "features", body)]

    # ------------------------------------------------------------ inside

    def _adopt(self, specs: Sequence[FeatureSpec], view: View) -> None:
        """Models of queries say which features they know: so all partitions come to the same ones. Some queries may
        never have a model (too few matches): then those of the others are taken if they do for all."""
        if len({one.identity for one in specs}) != 1 or specs[0].pane != self._pane:
            return
        if len(specs) == len(self._wanted) or self._covers(specs[0], view):
            self._choose(specs[0])

    def _choose(self, spec: FeatureSpec | None) -> None:
        self._chosen_for, self._sample = self._wanted, []
        if spec is not None:
            self.watch(spec)

    def _found(self, view: View) -> FeatureSpec | None:
        """Features for the queries wanted, None where nothing can be known of them."""
        try:
            asked = [*self._plans.of(view).values()]
            if self._pane is None or not asked or view.schema is None:
                return None
            schema = schema_from_record(view.schema)  # it may have grown since the first parts
            sample = concat_columns([conformed(part, schema) for part in self._sample])
            return choose_features(asked, schema, sample, pane=self._pane, seed=self._seed)
        except (FeatureError, SaffronError):
            return None

    def _covers(self, spec: FeatureSpec, view: View) -> bool:
        if view.schema is None:
            return False
        try:
            return covers(spec, [*self._plans.of(view).values()], schema_from_record(view.schema))
        except SaffronError:
            return False

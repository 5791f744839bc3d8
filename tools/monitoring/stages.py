"""Dashboard 2: where the time goes, stage by stage."""

from __future__ import annotations

from saffron.runtime.telemetry.metric_names import (
    BACKPRESSURE,
    BLOCKS,
    BUSY,
    EVENT_TIME_LAG,
    EVENTS_APPLIED,
    EVENTS_IN,
    IN_FLIGHT,
    QUERY_FAILED,
    QUEUEING_LATENCY,
    RESTARTS,
    ROUTE_LAG,
    ROUTE_WATERMARK,
    ROUTED_EVENTS,
    ROUTES_WAITING,
    SILENCE,
    SNAPSHOT_AGE,
    SNAPSHOT_DURATION,
    STAGE_LATENCY,
    STATE_BYTES,
    WATERMARK,
)
from tools.monitoring.expressions import gauge, increase, quantile, rate
from tools.monitoring.panel import PLACE, POD, Dashboard, Panel, Query

STAGES = Dashboard(
    "saffron-stages",
    "Saffron: stages",
    "Rate, duration and utilisation of every stage that a block of events passes.",
    (
        Panel(
            "p99 by stage",
            "How long a block takes in each stage. The largest one is where to look; commit: the broker's disk, or too"
            " long a commit interval.",
            "s",
            (Query(quantile(0.99, STAGE_LATENCY, "stage"), "{{stage}}"),),
        ),
        Panel(
            "Median by stage",
            "The same for the block in the middle. p99 far above it: pauses, not load.",
            "s",
            (Query(quantile(0.5, STAGE_LATENCY, "stage"), "{{stage}}"),),
        ),
        Panel(
            "Events by service",
            "Events a second that windowing and shedder took in, and matcher and greta applied. A service below the one"
            " before it falls behind.",
            "cps",
            (
                Query(rate(EVENTS_IN, "job"), "{{job}} in"),
                Query(rate(EVENTS_APPLIED, "job"), "{{job}} applied"),
            ),
        ),
        Panel(
            "Blocks written",
            "Blocks a second by topic. Many small ones (see events): raise SAFFRON_FLUSH_MS.",
            "cps",
            (Query(rate(BLOCKS, "topic"), "{{topic}}"),),
        ),
        Panel(
            "Busy",
            "Share of time that a service's loop spends working. Near 100 %: it is the bottleneck.",
            "percentunit",
            (Query(gauge("max", BUSY, "job", "pod"), POD),),
        ),
        Panel(
            "Back pressure",
            "Share of time spent waiting for credit of readers, or room in a full queue. Near 100 %: look downstream.",
            "percentunit",
            (Query(gauge("max", BACKPRESSURE, "job", "pod"), POD),),
        ),
        Panel(
            "p99 of the wait in front of the shedder",
            "The queue stands here. Growing: readers behind cannot keep up.",
            "s",
            (Query(quantile(0.99, QUEUEING_LATENCY, "stream", "partition"), PLACE),),
        ),
        Panel(
            "Events in flight",
            "Forwarded by the shedder and not yet applied by the slowest reader. At SAFFRON_CREDIT_EVENTS: that reader"
            " is slow or dead.",
            "short",
            (Query(gauge("max", IN_FLIGHT, "stream", "partition"), PLACE),),
        ),
        Panel(
            "Event time behind the clock",
            "Now minus the largest event time passed on. Growing: the source is silent or behind. Large and steady:"
            " history is being replayed.",
            "s",
            (Query(gauge("max", EVENT_TIME_LAG, "stream", "partition"), PLACE),),
        ),
        Panel(
            "Watermark behind the clock",
            "Now minus the event time up to which a stream is complete, of the service furthest behind. One partition"
            " growing while others do not: it is silent, and holds windows open. Silence: how far time without events"
            " has moved it, where the stream has a `silence`.",
            "s",
            (
                Query(f"time() - {gauge('min', WATERMARK, 'stream', 'partition')}", PLACE),
                Query(gauge("max", SILENCE, "stream", "partition"), f"silence: {PLACE}"),
            ),
        ),
        Panel(
            "State",
            "Size of operators' state by service. Growing without end: a window too large for the rate.",
            "bytes",
            (Query(gauge("sum", STATE_BYTES, "job"), "{{job}}"),),
        ),
        Panel(
            "Snapshots",
            "For how long snapshots hold results up (p99), and how old the newest one of the worst partition is: so"
            " much a restart reads again.",
            "s",
            (
                Query(quantile(0.99, SNAPSHOT_DURATION, "job"), "{{job}} held up"),
                Query(gauge("max", SNAPSHOT_AGE, "job"), "{{job}} age"),
            ),
        ),
        Panel(
            "Streams made from others: events",
            "Events a second that streams with another key are given, and what their routes wait for: topic (one is"
            " missing), take-over (the last owner's transaction), registry (an answer of the schema registry).",
            "cps",
            (
                Query(rate(ROUTED_EVENTS, "stream"), "{{stream}}"),
                Query(f"{gauge('sum', ROUTES_WAITING, 'stream', 'reason')} > 0", "{{stream}} waits: {{reason}}"),
            ),
        ),
        Panel(
            "Streams made from others: behind the source",
            "Messages of each partition of the source that are not yet routed, and how far its event time is behind the"
            " clock. The partition furthest behind holds the new stream's watermark.",
            "short",
            (
                Query(gauge("max", ROUTE_LAG, "stream", "partition"), f"{PLACE} messages"),
                Query(f"time() - {gauge('min', ROUTE_WATERMARK, 'stream', 'partition')}", f"{PLACE} seconds"),
            ),
        ),
        Panel(
            "Restarts",
            "How often a service's loop was built anew (a broker that was away, a lost partition). Often: see its log.",
            "short",
            (
                Query(increase(RESTARTS, "job", "pod"), POD),
                Query(f"{gauge('max', QUERY_FAILED, 'query', 'stream')} > 0", "{{query}} has failed"),
            ),
            width=24,
            height=6,
        ),
    ),
    by_query=False,
)

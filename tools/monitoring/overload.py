"""Dashboard 3: drops under overload, their worth, and the losses."""

from __future__ import annotations

from saffron.runtime.telemetry.metric_names import (
    DECISION,
    ESTIMATED_FALSE,
    ESTIMATED_LOSS,
    ESTIMATED_MATCHES,
    PARTIAL_MATCHES,
    PROCESSING_LATENCY,
    QUEUEING_LATENCY,
    SHED_EVENTS,
    SHED_PARTIAL_MATCHES,
    SHED_UTILITY,
    SHEDDING_LATENCY,
)
from tools.monitoring.expressions import gauge, quantile, rate, ratio
from tools.monitoring.panel import PLACE, POD, Dashboard, Panel, Query

OVERLOAD = Dashboard(
    "saffron-overload",
    "Saffron: overload",
    "What the shedder decides, what is dropped, what that was worth, and what is lost by it.",
    (
        Panel(
            "Estimated loss",
            "Estimated share of complex events missed by dropping, since the processes started, of all partitions"
            " together. Too much: raise the bound, or add a core.",
            "percentunit",
            (Query(ratio(ESTIMATED_MATCHES, "query", some="lost", of="due"), "{{query}}"),),
        ),
        Panel(
            "Estimated false complex events",
            "Estimated share of the complex events found that would not be found if no event had been dropped, of all"
            " partitions together. Too much: have partial matches dropped instead (`--shed pspice`).",
            "percentunit",
            (Query(ratio(ESTIMATED_MATCHES, "query", some="false", of="found"), "{{query}}"),),
        ),
        Panel(
            "Estimated loss and false ones, by member",
            "The same by shedder, of the partitions that it has. Far apart: keys are unequal, so that some partitions"
            " have more than their share of the load.",
            "percentunit",
            (
                Query(gauge("max", ESTIMATED_LOSS, "query", "job", "pod"), f"{{{{query}}}} missed: {POD}"),
                Query(gauge("max", ESTIMATED_FALSE, "query", "job", "pod"), f"{{{{query}}}} false: {POD}"),
            ),
        ),
        Panel(
            "Utility of dropped partial matches",
            "Complex events that were expected of a dropped partial match, on average so far. High: what is dropped was"
            " worth keeping, so there is too little time for what is needed.",
            "short",
            (Query(gauge("max", SHED_UTILITY, "query"), "{{query}}"),),
        ),
        Panel(
            "Events dropped, by reason",
            "Events a second that were masked for a query: overload, or the backlog that an outage left behind.",
            "cps",
            (Query(rate(SHED_EVENTS, "query", "reason"), "{{query}}: {{reason}}"),),
        ),
        Panel(
            "Partial matches dropped",
            "Partial matches a second that drop orders took away.",
            "cps",
            (Query(rate(SHED_PARTIAL_MATCHES, "query"), "{{query}}"),),
        ),
        Panel(
            "Partial matches",
            "Live runs by query. Growing without end: a window too large for the rate, or a condition never holds.",
            "short",
            (Query(gauge("sum", PARTIAL_MATCHES, "query"), "{{query}}"),),
        ),
        Panel(
            "Work saved by dropping events",
            "The shedder's last decision: share of the work to be saved by dropping events. Near 100 % for long: add a"
            " core, or raise the bound.",
            "percentunit",
            (Query(gauge("max", DECISION, "stream", "partition", part="share"), PLACE),),
        ),
        Panel(
            "Learned times",
            "f, the time to process an event, and g, the time to shed, at the present number of partial matches. 0: no"
            " model yet.",
            "s",
            (
                Query(gauge("max", PROCESSING_LATENCY, "stream", "partition"), f"f {PLACE}"),
                Query(gauge("max", SHEDDING_LATENCY, "stream", "partition"), f"g {PLACE}"),
            ),
        ),
        Panel(
            "p99 of the wait in front of the shedder",
            "What the decision is about: at the bound, less a buffer, something must go.",
            "s",
            (Query(quantile(0.99, QUEUEING_LATENCY, "stream", "partition"), PLACE),),
        ),
    ),
)

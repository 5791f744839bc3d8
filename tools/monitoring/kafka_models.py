"""Dashboard 4: the client of Kafka, what came in unusable, and the models."""

from __future__ import annotations

from saffron.runtime.telemetry.metric_names import (
    CONSUMER_LAG,
    DEAD_LETTERS,
    FILTERED,
    INPUT_INCIDENTS,
    LATE_BY_SILENCE,
    LATE_EVENTS,
    LEFT_OUT_VALUES,
    LOST_OFFSETS,
    MISTYPED_VALUES,
    MODEL_AGE,
    MODEL_BATCHES,
    MODEL_BELIEF,
    MODEL_INPUT_RATE,
    MODEL_INPUT_REFUSED,
    MODEL_OFFSETS_BEHIND,
    MODEL_VERSION,
    REBALANCES,
    STREAMS_STANDING,
    TABLE_BAD_ROWS,
    TABLE_BYTES,
    TABLE_MISSES,
    TABLE_ROWS,
    TIMES_IN_SECONDS,
    TRANSACTION_ABORTS,
    UNREADABLE_RECORDS,
    WITHOUT_ARRAY,
)
from tools.monitoring.expressions import gauge, increase, rate
from tools.monitoring.panel import POD, Dashboard, Panel, Query

KAFKA_MODELS = Dashboard(
    "saffron-kafka-models",
    "Saffron: Kafka and models",
    "Is everything read, does every transaction stand, what could not be used, and do models follow the stream?",
    (
        Panel(
            "Lag by group",
            "Records not yet read, over all partitions. Growing: that service is too slow, or stands.",
            "short",
            (Query(gauge("sum", CONSUMER_LAG, "group", "topic"), "{{group}}: {{topic}}"),),
        ),
        Panel(
            "Lag of the worst partition",
            "Records not yet read in the partition that has most. Far above the others': keys are uneven.",
            "short",
            (Query(gauge("max", CONSUMER_LAG, "group"), "{{group}}"),),
        ),
        Panel(
            "Rebalances",
            "Changes of who reads which partition. Often: members time out; raise SAFFRON_SESSION_MS.",
            "short",
            (Query(increase(REBALANCES, "job", "pod"), POD),),
        ),
        Panel(
            "Transaction aborts",
            "Transactions that were aborted and done again. Some at a rebalance; often: see the service's log.",
            "short",
            (Query(increase(TRANSACTION_ABORTS, "job", "pod"), POD),),
        ),
        Panel(
            "Dead letters",
            "Messages a second that were no usable event, by reason. `saffron dlq list` shows them.",
            "cps",
            (Query(rate(DEAD_LETTERS, "reason"), "{{reason}}"),),
        ),
        Panel(
            "Topics that changed, and streams that stand",
            "Records that retention took unread; topics made anew or grown; reasons for which streams stand still."
            " `saffron doctor` says where, and what to do.",
            "short",
            (
                Query(increase(LOST_OFFSETS, "topic"), "lost: {{topic}}"),
                Query(increase(INPUT_INCIDENTS, "topic", "kind"), "{{kind}}: {{topic}}"),
                Query(gauge("sum", STREAMS_STANDING, "job"), "standing: {{job}}"),
            ),
        ),
        Panel(
            "Unreadable control records",
            "Messages on streams, queries and query-status that no reader understands. `saffron doctor` names them.",
            "short",
            (Query(increase(UNREADABLE_RECORDS, "topic"), "{{topic}}"),),
        ),
        Panel(
            "Late events and values that were not kept",
            "Events a second below the watermark on arrival (raise the stream's disorder bound; by silence: its"
            " silence), and values of another"
            " kind than the inferred schema's or beyond its 1,000 attributes (give the stream a schema). Filtered: what"
            " the condition of a merged stream's source did not pass, or what has no array to explode. Times in"
            " seconds: they lie in 1970, and would not in seconds.",
            "cps",
            (
                Query(rate(LATE_EVENTS, "stream"), "late: {{stream}}"),
                Query(rate(LATE_BY_SILENCE, "stream"), "late by silence: {{stream}}"),
                Query(rate(MISTYPED_VALUES, "stream"), "mistyped: {{stream}}"),
                Query(rate(LEFT_OUT_VALUES, "stream"), "left out: {{stream}}"),
                Query(rate(FILTERED, "stream"), "filtered: {{stream}}"),
                Query(rate(WITHOUT_ARRAY, "stream"), "without the array of explode: {{stream}}"),
                Query(rate(TIMES_IN_SECONDS, "stream"), "times in seconds: {{stream}}"),
            ),
        ),
        Panel(
            "Tables: memory and rows",
            "What each member of windowing holds of the tables that events are looked up in. Take fewer columns, or"
            " keep fewer rows.",
            "bytes",
            (
                Query(gauge("max", TABLE_BYTES, "stream", "table"), "{{stream}}: {{table}}"),
                Query(gauge("max", TABLE_ROWS, "stream", "table"), "rows of {{stream}}: {{table}}"),
            ),
        ),
        Panel(
            "Tables: what was not found",
            "Look-ups a second whose key no row has (is `key` the right attribute?), and rows that could not be read.",
            "cps",
            (
                Query(rate(TABLE_MISSES, "stream"), "not found: {{stream}}"),
                Query(gauge("max", TABLE_BAD_ROWS, "stream", "table"), "bad rows of {{stream}}: {{table}}"),
            ),
        ),
        Panel(
            "Age of models",
            "Time since a model was published. One that still fits the stream is not published anew, so that age alone"
            " is no fault; see the batches.",
            "s",
            (Query(gauge("max", MODEL_AGE, "query"), "{{query}}"),),
        ),
        Panel(
            "Batches learned from",
            "Batches of observations that the model builder has finished. None while load is shed: models grow old.",
            "short",
            (Query(increase(MODEL_BATCHES), "batches"),),
        ),
        Panel(
            "Observations",
            "Observation messages a second that the model builder takes, and those that no model can use.",
            "cps",
            (
                Query(gauge("sum", MODEL_INPUT_RATE), "taken"),
                Query(rate(MODEL_INPUT_REFUSED), "refused"),
            ),
        ),
        Panel(
            "Observations not yet read",
            "In the model builder's worst partition. Growing: batches take longer than SAFFRON_MODEL_INTERVAL_MS.",
            "short",
            (Query(gauge("max", MODEL_OFFSETS_BEHIND), "behind"),),
        ),
        Panel(
            "Versions of models in force",
            "The batch in which each model was learned. It never falls within one checkpoint of the model builder.",
            "none",
            (Query(gauge("max", MODEL_VERSION, "query", part="batch"), "{{query}}"),),
        ),
        Panel(
            "Belief in models",
            "How far learned orders of events and partial matches are believed; the rest is dropped evenly. 0 for long:"
            " what trained the model holds no longer, or matches are too few to tell.",
            "percentunit",
            (Query(gauge("min", MODEL_BELIEF, "query", "means"), "{{query}} {{means}}"),),
        ),
    ),
    by_query=False,
)

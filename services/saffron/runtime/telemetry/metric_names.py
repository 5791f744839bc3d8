"""Every metric of every service: name, kind, labels, meaning, and remedy.

Labels have few values: a query, stream, topic, partition or reason, never a key or an id.

A counter of what is in the log counts it once it is there (`runtime.hops.when_written`): a step that fails and is done
again counts once. Help texts name the exceptions.
"""

from __future__ import annotations

from saffron.runtime.telemetry.metric_kinds import Counter, Gauge, Histogram, Metric

# ------------------------------------------------------------ is it on time?

DETECTION_LATENCY = Histogram(
    "saffron_detection_latency_seconds{query}",
    "from the message time of the last contributing event to the commit of the result. What a query finds in the past"
    " (`--from earliest`) is left out",
    "p99 above the bound: see saffron_stage_latency_seconds for the slow stage; shorten SAFFRON_COMMIT_MS",
)
LATENCY_BOUND = Gauge(
    "saffron_latency_bound_seconds{overload}",
    "the bound on detection latency (SAFFRON_LATENCY_BOUND_MS), and what is done where it cannot be held"
    " (SAFFRON_OVERLOAD)",
    "not the same everywhere: services were started with different settings",
)
OVERDUE_RESULTS = Counter(
    "saffron_overdue_results{query}",
    "results committed later than the bound on detection latency allows, without those of the past",
    "see saffron_stage_latency_seconds for the slow stage; shed load (SAFFRON_OVERLOAD), or add a core",
)
STAGE_LATENCY = Histogram(
    "saffron_stage_latency_seconds{stage}",
    "time of a block in one stage: windowing (from the message time of its oldest event until it is passed on),"
    " shedder (from windows to admitted), matcher_apply and greta_apply (from admitted until it is applied),"
    " matcher_commit and greta_commit (from there until its results are committed)",
    "the largest one is where to look; commit: the broker's disk, or too long a commit interval",
)
QUEUEING_LATENCY = Histogram(
    "saffron_queueing_latency_seconds{stream,partition}",
    "how long a block waited in front of the shedder",
    "growing: the readers behind cannot keep up; see saffron_partial_matches and saffron_busy_ratio",
)
EVENT_TIME_LAG = Gauge(
    "saffron_event_time_lag_seconds{stream,partition}",
    "now minus the largest event time passed on",
    "growing: the source is silent or behind",
)
WATERMARK = Gauge(
    "saffron_watermark_seconds{stream,partition}",
    "event time up to which the stream is complete (seconds since 1970)",
    "stuck while events come: a silent source holds it; give the stream an idle bound (`stream add --idle`)",
)

# ------------------------------------------------------------ throughput

EVENTS_IN = Counter(
    "saffron_events_in{stream,partition}",
    "events taken from the input, counted with the block that passes them on",
    "0: is anything produced?",
)
EVENTS_APPLIED = Counter(
    "saffron_events_applied{stream,partition}",
    "events applied by an operator, counted when the position behind them is committed",
    "compare with saffron_events_in",
)
ROUTED_EVENTS = Counter(
    "saffron_routed_events{stream,partition}",
    "events that a stream made from other topics was given, by partition of the source (TOPIC/N of several topics)",
    "0 while the source has events: see saffron_route_lag and saffron_routes_waiting",
)
FILTERED = Counter(
    "saffron_filtered_messages{stream,partition}",
    "messages, or elements of them, that the condition of a merged stream's source (`where`) did not pass",
    "all of them: is the condition right? (`stream check`)",
)
WITHOUT_ARRAY = Counter(
    "saffron_messages_without_array{stream,partition}",
    "messages of a merged stream's source that have no array of the name that `explode` has, and so no event",
    "all of them: is the name right? (`stream check`)",
)
TABLE_ROWS = Gauge(
    "saffron_table_rows{stream,table}",
    "rows of a table that attributes of a stream's events come from; each member holds the whole table",
    "0: is the table's topic or file the right one?",
)
TABLE_BYTES = Gauge(
    "saffron_table_bytes{stream,table}", "memory that a table takes", "take fewer columns, or keep fewer rows"
)
TABLE_BAD_ROWS = Gauge(
    "saffron_table_bad_rows{stream,table}",
    "messages or lines of a table that were no row since it was read, and are left out",
    "windowing's log says what is wrong with the last one",
)
TABLE_MISSES = Counter(
    "saffron_table_misses{stream,partition}",
    "look-ups in a table whose key no row has: the attribute is null",
    "all of them: is `key` the right attribute? (`add` in the definition)",
)
ROUTE_LAG = Gauge(
    "saffron_route_lag{stream,partition}",
    "messages of the source's partition that are not yet routed to the stream made from it",
    "growing: windowing is too slow (see saffron_busy_ratio), or the route waits (saffron_routes_waiting)",
)
ROUTE_WATERMARK = Gauge(
    "saffron_route_watermark_seconds{stream,partition}",
    "event time up to which the source's partition has been routed (seconds since 1970)",
    "the one furthest behind holds the new stream's watermark; silent: an idle bound (`stream add --idle`)",
)
ROUTES_WAITING = Gauge(
    "saffron_routes_waiting{stream,reason}",
    "partitions of the source that wait: for a transaction of the last owner to be over (take-over), a schema registry"
    " (registry), a topic that is missing (topic), or a table that is not loaded yet (table)",
    "take-over for more than some seconds: two members route the same; topic: `saffron stream add` again",
)
BLOCKS = Counter("saffron_blocks{topic}", "blocks written", "many small blocks: raise SAFFRON_FLUSH_MS")
COMPLEX_EVENTS = Counter("saffron_complex_events{query}", "complex events committed", "0: check the query with tail")
TRENDS = Counter("saffron_trends{query}", "trend results committed", "0: has a window closed yet? see the watermark")
LATE_EVENTS = Counter(
    "saffron_late_events{stream,partition}",
    "events below the watermark on arrival, sent to the dead letters; counted as these are",
    "raise the stream's disorder bound (`stream add --disorder`)",
)
LATE_BY_SILENCE = Counter(
    "saffron_late_by_silence{stream,partition}",
    "events below the watermark on arrival only because silence had raised it; counted as dead letters are",
    "the source was late, not silent: raise the stream's `silence` or `disorder` (`saffron stream set`)",
)
SILENCE = Gauge(
    "saffron_silence_seconds{stream,partition}",
    "how far silence has raised the watermark beyond what the events say",
    "growing: nothing comes to any partition of the stream; do its producers run?",
)
MISTYPED_VALUES = Counter(
    "saffron_mistyped_values{stream,partition}",
    "values of another kind than the inferred schema's, read as null; those of events that are held back count again"
    " when they are read again after a restart",
    "give the stream a schema (`stream add --schema`)",
)
UNREADABLE_RECORDS = Counter(
    "saffron_unreadable_records{topic}",
    "records of streams, queries and statuses that could not be read; those before them stay in force. Of what is there"
    " at the start, the newest of each key counts",
    "`saffron doctor` names what still cannot be read, and who may have written it",
)
LEFT_OUT_VALUES = Counter(
    "saffron_left_out_values{stream,partition}",
    "values of attributes that an inferred schema has no room for (it has at most 1,000); those of events that are held"
    " back count again when they are read again after a restart",
    "give the stream a schema with those that queries need (`stream add --schema`)",
)
TIMES_IN_SECONDS = Counter(
    "saffron_times_in_seconds{stream,partition}",
    "events whose time lies in 1970, and would lie between 1980 and 2100 if it is in seconds; those that are held back"
    " count again when they are read again after a restart",
    "`ts` of a plain stream is in milliseconds; in a definition correct `format` (`stream check` names the unit)",
)
DEAD_LETTERS = Counter(
    "saffron_dead_letters{reason}",
    "messages that were no usable event, and results too large to be sent; each process counts a message once, and"
    " two may count the same one where a partition changes its owner",
    "`saffron dlq list` shows them",
)

# ------------------------------------------------------------ topics

LOST_OFFSETS = Counter(
    "saffron_lost_offsets{topic,partition}",
    "records that retention took before this service had read them, counted with the next block or position written",
    "keep the topic for longer than its readers may be away: retention.ms",
)
INPUT_INCIDENTS = Counter(
    "saffron_input_incidents{topic,partition,kind}",
    "what happened to an input: lost (retention took unread records), remade (the topic was deleted and made anew),"
    " grown (partitions were added to it), truncated (it lost records that had been read)",
    "`saffron doctor` says where, and what to do",
)
STREAMS_STANDING = Gauge(
    "saffron_streams_standing",
    "problems that stop streams of this service until somebody fixes them; other streams go on",
    "`saffron status` names them",
)

# ------------------------------------------------------------ overload

PARTIAL_MATCHES = Gauge(
    "saffron_partial_matches{query,partition}", "live runs", "growing without end: a window too large for the rate"
)
SHED_EVENTS = Counter(
    "saffron_shed_events{query,reason}", "events dropped for a query", "expected under overload; else see the bound"
)
SHED_PARTIAL_MATCHES = Counter(
    "saffron_shed_partial_matches{query}", "partial matches dropped", "expected under overload; else see the bound"
)
SHED_UTILITY = Gauge(
    "saffron_shed_utility{query,partition}",
    "mean utility of the partial matches dropped so far: complex events that were expected of one",
    "high: what is dropped was worth keeping; raise the bound or add a core",
)
ESTIMATED_MATCHES = Gauge(
    "saffron_estimated_matches{query,part}",
    "complex events since the processes started, as estimated: part due, to be found if nothing had been dropped, and"
    " lost of these; part found, and false of these. Of several processes a share is the ratio of the sums",
    "lost or false near due or found: see saffron_estimated_loss_ratio and saffron_estimated_false_ratio",
)
ESTIMATED_LOSS = Gauge(
    "saffron_estimated_loss_ratio{query}",
    "estimated share of complex events missed by dropping events and partial matches, since the processes started:"
    " what the models in force expected of those dropped, corrected by a sample in which nothing is dropped; of the"
    " partitions of one process together (of several: saffron_estimated_matches)",
    "raise the bound or add a core",
)
ESTIMATED_FALSE = Gauge(
    "saffron_estimated_false_ratio{query}",
    "estimated share, of the complex events found, of those that would not be found if no event had been dropped, since"
    " the processes started: as the loss is, what the models in force expected, corrected by a sample; of the"
    " partitions of one process together",
    "high: a NOT loses its events, or later events take a step; have partial matches dropped (`--shed pspice`)",
)
DECISION = Gauge(
    "saffron_overload_decision{stream,partition,part}",
    "the shedder's last decision: part share, of the work to be saved by dropping events; part keep, partial matches"
    " that may stay (absent: all)",
    "share near 1 for long: add a core, or raise the bound",
)
PROCESSING_LATENCY = Gauge(
    "saffron_overload_processing_seconds{stream,partition}",
    "f: learned time to process an event at the present number of partial matches",
    "0: no model yet; is model-builder running?",
)
SHEDDING_LATENCY = Gauge(
    "saffron_overload_shedding_seconds{stream,partition}",
    "g: learned time to shed at the present number of partial matches",
    "0: nothing was dropped yet from which it could be learned",
)
IN_FLIGHT = Gauge(
    "saffron_events_in_flight{stream,partition}",
    "events forwarded and not yet applied by the slowest reader",
    "at SAFFRON_CREDIT_EVENTS: the reader is slow or dead",
)
BUSY = Gauge("saffron_busy_ratio", "share of time spent working", "near 1: this service is the bottleneck")
BACKPRESSURE = Gauge(
    "saffron_backpressure_ratio",
    "share of time spent waiting for credit or for room in a full queue",
    "near 1: look downstream",
)

# ------------------------------------------------------------ state, models, and the client

STATE_BYTES = Gauge(
    "saffron_state_bytes{stream,partition}", "size of operator state", "growing without end: see partial matches"
)
SNAPSHOT_DURATION = Histogram(
    "saffron_snapshot_duration_seconds",
    "time for which a snapshot holds results up: it is copied then, and written beside",
    "slow: many partial matches in a window",
)
SNAPSHOT_AGE = Gauge(
    "saffron_snapshot_age_seconds{stream,partition}",
    "time since the newest snapshot; 0 if nothing was applied since",
    "growing while events come: see the service's log; a restart reads so much again",
)
MODEL_AGE = Gauge("saffron_model_age_seconds{query}", "age of the model in force", "growing: is model-builder running?")
MODEL_VERSION = Gauge(
    "saffron_model_version{query,part}", "version in force: part epoch, part batch", "must never fall"
)
MODEL_BELIEF = Gauge(
    "saffron_model_belief{stream,partition,query,means}",
    "how far (0 to 1) the learned order is believed; means events, partial",
    "0 for long: what trained the model holds no longer, or matches are too few to tell",
)
MODEL_INPUT_RATE = Gauge(
    "saffron_model_input_rows_per_second",
    "observation messages taken by the model builder",
    "0 with queries running: does the matcher write observations?",
)
MODEL_BATCHES = Counter(
    "saffron_model_batches",
    "batches of observations that the model builder has learned from",
    "none while events come and load is shed: see the model builder's log; models in force grow old",
)
MODEL_OFFSETS_BEHIND = Gauge(
    "saffron_model_offsets_behind",
    "observation messages that the model builder has not yet read, in its worst partition",
    "growing: batches take longer than SAFFRON_MODEL_INTERVAL_MS; see its log",
)
MODEL_INPUT_REFUSED = Counter(
    "saffron_model_input_refused",
    "observations that no model can use (no JSON, unknown states, an older version of a query)",
    "some after a query was replaced; else some program writes to the observation topics",
)
CONSUMER_LAG = Gauge(
    "saffron_kafka_client_consumer_lag{stream,topic,partition,group}",
    "records not yet read, as the broker said last; no stream where the topic is of none",
    "growing: this service is too slow; see saffron_busy_ratio",
)
REBALANCES = Counter(
    "saffron_rebalances", "assignments of partitions changed", "often: members time out; raise SAFFRON_SESSION_MS"
)
TRANSACTION_ABORTS = Counter(
    "saffron_transaction_aborts", "transactions aborted and done again", "often: see the service's log"
)
QUERY_FAILED = Gauge(
    "saffron_query_failed{query,stream}",
    "1 for a query that was stopped on this member, since it ended with an exception, or the process with it",
    "saffron query show NAME says with what; saffron query replace NAME FILE, or remove NAME, ends it",
)
RESTARTS = Counter("saffron_restarts", "times the service's loop was built anew", "often: see the service's log")

METRICS: tuple[Metric, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))

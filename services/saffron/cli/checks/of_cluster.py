"""All checks of a running system, each a function of one look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from saffron.cli.checks.cluster import (
    clocks,
    dead_letters,
    formats,
    inputs,
    keys,
    merged,
    models,
    permissions,
    queries,
    records,
    schemas,
    services,
    silence,
    snapshots,
    tables,
    topics,
    transactions,
)
from saffron.cli.checks.cluster.listener import check_listener
from saffron.cli.checks.cluster.look import Look, look_at_topics, look_further
from saffron.cli.client import connection, hush
from saffron.cli.finding import Finding, error, ok
from saffron.errors import SettingsError, UnavailableError
from saffron.runtime.local.state import SystemState
from saffron.runtime.log.inspect import Inspector
from saffron.runtime.process.config import Settings

_OF_TOPICS = (topics.check_there, permissions.check_permissions)
"""Asked first: where these find errors, there is nothing further to look at."""
_OF_ALL = (
    topics.check_settings,
    topics.check_partitions,
    topics.check_retention,
    topics.check_replication,
    services.check_processes,
    services.check_heartbeats,
    services.check_progress,
    records.check_records,
    records.check_shared_topics,
    inputs.check_inputs,
    merged.check_merged,
    tables.check_tables,
    silence.check_silence,
    queries.check_queries,
    schemas.check_schemas,
    schemas.check_broken,
    schemas.check_losses,
    schemas.check_times,
    formats.check_formats,
    dead_letters.check_dead_letters,
    keys.check_keys,
    clocks.check_clocks,
    transactions.check_transactions,
    snapshots.check_snapshots,
    models.check_models,
)


def cluster_findings(settings: Settings, state: SystemState | None, clock: Callable[[], int]) -> Iterator[Finding]:
    """The findings on a broker and the system on it, or on our connection to it. `clock`: ms since 1970."""
    hush()
    try:
        try:
            inspector = Inspector(settings)
        except UnavailableError as failure:
            yield from check_listener(settings, failure)
            return
    except SettingsError as failure:
        yield error("security", str(failure), settings.bootstrap, "saffron config show --origin says where each is set")
        return
    yield ok("broker", f"answers, {inspector.brokers} in the cluster", settings.bootstrap)
    first = look_at_topics(inspector, settings, clock())
    found = [finding for check in _OF_TOPICS for finding in check(first)]
    yield from found
    if any(one.state == "error" for one in found):
        return
    with connection(settings) as client:
        yield from judge(look_further(first, inspector, client, state, clock))


def judge(look: Look) -> Iterator[Finding]:
    """The findings of all checks on one snapshot."""
    for check in _OF_ALL:
        yield from check(look)

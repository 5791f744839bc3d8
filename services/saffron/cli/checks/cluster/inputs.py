"""The check of input topics: their incidents, and obstacles that stop their streams."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, warning
from saffron.runtime.hops.incident_reports import incident_reports_of

_SAID_MS = 10_000
"""The age (ms) beyond which a report no longer counts: a silent service is another check's finding."""


def check_inputs(look: Look) -> Iterator[Finding]:
    """Findings on topics made anew, partitions added, records lost, and streams that wait for an operator."""
    words = [one for one in look.inputs if look.now - one.stamped < _SAID_MS]
    for trouble, service in sorted({(trouble, one.service) for one in words for trouble in one.troubles}):
        what, _, fix = trouble.rpartition(": ")
        yield error("streams", what, service, fix)
    for incident in incident_reports_of((row for one in words for row in one.inputs), look.streams):
        yield warning("inputs", incident.what, incident.where, incident.fix)

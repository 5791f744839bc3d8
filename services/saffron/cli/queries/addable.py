"""The checks of queries before commands write them, apart from other changes, as they import the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from saffron.cli.client import Client
from saffron.cli.queries.query_changes import QueryRefused
from saffron.cli.queries.texts import QueryText, bind_text
from saffron.control.checks import Checked, Refused, check_partitions
from saffron.control.checks import check as checked
from saffron.engine.operators.composition import makers_first
from saffron.language.cost.shedders import AUTO


def in_makers_order(texts: Sequence[QueryText]) -> list[QueryText]:
    """The queries under their final names, each after those whose results it reads."""
    named = {bind_text(one.text, None, one.name).plan.name: one.text for one in texts}
    if len(named) < len(texts):
        raise QueryRefused(f"two of the queries have the same name; the names are {', '.join(named)}")
    order = makers_first(lambda text, schema, name: bind_text(text, schema, name).plan, named)
    return [QueryText(name, named[name]) for name in order]


def require_addable(
    client: Client, texts: Sequence[QueryText], shedder: str = AUTO, beside: Mapping[str, str] = MappingProxyType({})
) -> list[Checked]:
    """Queries as they would be added one after the other; QueryError or QueryRefused: one cannot be.

    `beside`: texts of standing queries by name.
    """
    streams, standing = client.known_streams(), dict(beside)
    found = []
    for one in texts:
        try:
            query = checked(one.text, one.name, streams, standing)
            check_partitions(query.plan, streams.all()[query.plan.stream], client.log.partitions)
            query.require_shedder(shedder)
        except Refused as refused:
            raise QueryRefused(f"{one.name}: {refused}") from refused
        found.append(query)
        standing[query.name] = one.text
    return found

"""The query files and schema files of commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from saffron.given_files import query_of
from saffron.runtime.process import config
from saffron.runtime.process.own_modules import import_modules
from saffron.schema.schema import Schema

if TYPE_CHECKING:
    from saffron.language import Bound


@dataclass(frozen=True)
class QueryText:
    """A query as given. `name`: the file's stem, unless the text names itself (QUERY name)."""

    name: str
    text: str


def know_aggregates() -> None:
    """Loads the aggregates of the settings."""
    import_modules(config.load().settings.aggregates)


def read_texts(files: Sequence[Path], texts: Sequence[str], how: str = "name its file") -> list[QueryText]:
    """The queries of files and of `-e`. BadParameter: there is none. Aggregates of the settings are loaded.

    `how`: the way in which the command takes files, for errors.
    """
    know_aggregates()
    queries = [QueryText(path.stem, query_of(path)) for path in files]
    queries += [QueryText("query" if len(texts) == 1 else f"query{i}", text) for i, text in enumerate(texts, 1)]
    if not queries:
        raise typer.BadParameter(f"no query: {how}, or give its text with -e")
    return queries


def bind_text(text: str, schema: Schema | None, name: str) -> Bound:
    """The bound query of a text. Without a schema names are not checked."""
    # Here, for most commands on standing queries read none.
    from saffron.engine.operators.aggregates import registered
    from saffron.language import bind

    return bind(text, schema, name=name, lenient=schema is None, aggregates=frozenset(registered()))

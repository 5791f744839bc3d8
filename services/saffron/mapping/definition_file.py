"""The definition of a stream in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from saffron.given_files import text_of
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.tables.query_lookups import for_queries


def definition_at(path: str | os.PathLike[str], queries: Iterable[str] = ()) -> StreamDefinition:
    """The definition in a file, with the look-ups of `queries` (texts) in its tables. Their files lie beside it.

    InputError: the file cannot be read.
    """
    path = Path(path)
    return for_queries(read_definition(text_of(path)).beside(path.parent), queries)

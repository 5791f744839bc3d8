"""The arrays of the search as its machine code takes them: one address each tuple (`engine.kernels.addresses`)."""

from __future__ import annotations

from saffron.engine.kernels.addresses import Reference, arrays_of, reader
from saffron.engine.match.uncertain.search_state import Shape, Work

SHAPE = Reference("uncertain.Shape", arrays_of(Shape, {2: "order decided", 3: "sides"}))
WORK = Reference(
    "uncertain.Work", arrays_of(Work, {2: "heads links hashes buckets chains levels weights counts found"})
)

shape_in, work_in = reader(SHAPE), reader(WORK)
"""Readers of a named tuple's arrays from the table that a kernel is called with; in Python, of the tuple itself."""

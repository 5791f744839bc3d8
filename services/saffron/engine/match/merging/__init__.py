"""The merging of equivalent runs (N7): two runs of a key in the first closure that agree in all that later edges read.

Equivalent runs select the same events from there on, so one of them is enough. Its lane in the pool of runs leads. The
others are set aside as its followers, each with its own deadline, first event and chain in the match buffer. What the
leader takes from then on is in the buffer once, as a trunk for all of them. A match is read off the trunk down to where
its run was merged, then off the run's own chain. Where a run has to go on by itself, its chain is first copied over the
trunk (`chain`). Followers expire one by one; the leader is the youngest. The runs of a key are compared now and then as
others begin, more seldom while no runs merge.

A run is identified by its first event only in the first closure; further on, runs of one beginning differ by where
they split.
"""

from __future__ import annotations

from saffron.engine.match.merging import chain, merge

HELPERS = (chain, merge)
"""Modules of functions that generated kernels call."""

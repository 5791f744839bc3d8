"""Equivalent runs go on as one (N7): two runs of a key in the first closure, which agree in all that later edges read.

From there on they select the same events, so that one of them is enough: its lane in the pool of runs leads, the others
are set aside as its followers, each with its own deadline, first event and chain in the match buffer. What the leader
takes from then on stands in the buffer once, a trunk for all of them. A match is read off the trunk down to where its
run was merged, then off the run's own chain; where a run has to go on from there by itself, its chain is drawn on over
the trunk first (`chain`). Deadlines stay each run's own: followers expire one by one, the leader is the youngest. The
runs of a key are compared now and then as others begin, more seldom while that finds nothing.

Only in the first closure is a run its first event: further on, runs of one beginning differ by where they split.
"""

from __future__ import annotations

from saffron.engine.match.merging import chain, merge

HELPERS = (chain, merge)
"""Modules of what generated kernels call."""

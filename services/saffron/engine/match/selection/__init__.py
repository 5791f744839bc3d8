"""The selection of reported matches and of the time of report: CONSUME, OUTPUT and WITH TIMEOUTS, behind the kernels.

A match is *known* with its last event, or, if a trailing NOT follows it, when its window closes. Matches are selected
greedily in turns: ALL, FIRST and NON-OVERLAP in the order of results, LONGEST in that of first events. A match is taken
in its turn, except where

- its first event has a match already (FIRST, LONGEST),
- a match that was taken has consumed one of its events (CONSUME),
- it overlaps with a match that was taken (NON-OVERLAP, beside which CONSUME changes nothing).

A match is decided once no unknown match can come before it:

- LONGEST: when the window of the first event closes;
- in a plan with a trailing NOT, FIRST without CONSUME: likewise;
- in such a plan, CONSUME and COMPRESSED: when the window closes; without windows of its own, once the window that the
  match's last event would begin is over (all that comes before the match begins earlier, so all is known by then);
- in such a plan, NON-OVERLAP: once the last window that holds the match's last event is over, as it chooses over all
  windows of a key;
- in all other plans: when it is found.

Waiting matches are reported in the order (deadline, order of results), before the first event behind the deadline. The
boundaries of blocks have no effect.
"""

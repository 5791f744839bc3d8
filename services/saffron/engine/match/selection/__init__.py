"""Which of all matches are reported, and when: CONSUME, OUTPUT and WITH TIMEOUTS, behind the kernels.

A match is *known* with its last event, or, if a trailing NOT follows it, when its window closes. What chooses among
matches does so in turn: ALL, FIRST and NON-OVERLAP in the order of results, LONGEST in that of first events. In its
turn a match is taken unless its first event has one (FIRST, LONGEST), an event of it was consumed by one that was taken
(CONSUME), or it overlaps with one (NON-OVERLAP, beside which CONSUME changes nothing). It is decided once no unknown
one can come before it:

- LONGEST: when the window closes in which the first event lies;
- in a plan with a trailing NOT, FIRST without CONSUME: likewise;
- in such a plan, CONSUME and COMPRESSED: when the window closes; without windows of its own, once the window that the
  match's last event would begin is over (whatever comes before it begins earlier, so all is known by then);
- in such a plan, NON-OVERLAP: once the last window that holds the match's last event is over, as it chooses over all
  windows of a key.

In all other plans each match is decided as it is found. What waits is reported in the order (deadline, order of
results), before the event that is the first behind the deadline. Nothing of this depends on where blocks are cut.
"""

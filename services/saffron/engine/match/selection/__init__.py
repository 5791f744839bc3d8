"""Which of all matches are reported, and when: CONSUME, OUTPUT and WITH TIMEOUTS, behind the kernels.

A match is *known* with its last event, or, if a trailing NOT follows it, when its window closes. What chooses among
matches does so in the order of results, so it decides a match once no unknown one can come before it:

- CONSUME, in a plan with a trailing NOT: when the window closes; without windows of its own, once the window that the
  match's last event would begin is over (whatever comes before it begins earlier, so all is known by then);
- COMPRESSED, in such a plan: as CONSUME, so that all matches with one last event are together;
- NON-OVERLAP, in such a plan: once the last window that holds the match's last event is over, as it chooses over all
  windows of a key;
- FIRST, in such a plan, and LONGEST in every plan: when the window closes in which the first event lies; where both
  this and CONSUME wait without windows of their own, one window later.

In all other plans each match is decided as it is found. What waits is reported in the order (deadline, order of
results), before the event that is the first behind the deadline. Nothing of this depends on where blocks are cut.
"""

"""Match queries over imprecise time (X2, X6; SASE++ sections 2.3 and 5.3, algorithm 1, appendix A).

An event happens at one of the instants (ms) of its interval [lo, hi]; `schema.Distribution` says how likely each of
them is. An exact time is an interval of one instant. Events are independent.

**Confidence** of a match is the probability that its events' times
  - increase strictly in the order of the pattern: every event of a component is before every event of the next one, and
    the events of a *correlated* closure are in the order in which the match lists them;
  - lie in the window: last - first <= WITHIN, or all in the one window of SLIDE that the result names.
A closure is *correlated* when something reads the order of its events: b[i-1], b[..i-1], b[1], b[last], first, last.
Where nothing does, it is *uncorrelated*: its events may happen in any order, or at once, and the match lists them by
seq. This is the sum of the probabilities of all possible worlds in which the match is one. A match is reported if its
confidence is above 0 and at least that of CONFIDENCE; everything is matched by skip-till-any-match.

**How it is computed.** F(t) is the weight of the worlds of a prefix of the match, whose last event is at or before t.
One more event e gives F'(t) = F'(t - 1) + p_e(t) F(t - 1): one pass over its interval, so that a match costs the sum
of its intervals' lengths. Uniform times weigh 1 an instant and the product of the lengths divides at the end, so that
the arithmetic is that of whole numbers, exact as far as float64 goes (2^53), and rounded beyond.
An uncorrelated closure after a prefix that ends at s weighs the product of C_e(m) - C_e(s) over its events e, with C
their cumulative weights, where m is the last of its times: a table over m, with a row for each s that its intervals
reach, and one for all earlier s together.
WITHIN can fail only where latest - earliest exceeds it. If all else surely comes after the event that the match begins
with (or the uncorrelated closure), its weights are taken with F at x + WITHIN for every instant x at which it may
begin: one pass more. Else the prefix is computed anew for every such x, with no time beyond x + WITHIN (an uncorrelated
first closure begins at x: those with no time before x less those with none before x + 1). In a window of SLIDE all
intervals are cut at its bounds.

**When a match is found.** Its confidence depends on its own events alone, and nothing that comes later can undo it. So
it fires with the last of its events to arrive, that of the highest seq (seq is by (lo, arrival)), wherever that stands
in the pattern: answers do not depend on where blocks are cut, and wait for no watermark but that which orders events by
lo. The matches of one event stand by window, then in the order of the search: later events first.

**How they are found.** Events that fit a component are kept per key and component until no window that holds them can
hold a new one. A new event starts a search from the pattern's first component through all matches that have it, and no
later one; each step asks the conditions on its edge and then the confidence of the prefix, which never grows: below the
threshold the step ends (X6). An event that could only stand before others that it does not overlap starts no search.
"""

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
One more event e gives F'(t) = F'(t - 1) + p_e(t) F(t - 1): one pass over its interval; where e surely comes after the
prefix, or at one instant, a product instead, and no pass (`chance`). Uniform times weigh 1 an instant and the product
of the lengths divides at the end, so that the arithmetic is that of whole numbers, exact as far as float64 goes (2^53),
and rounded beyond.
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
hold a new one. A new event is taken as each component that it may be, in turn. First the other single events are bound,
in the order of `joins`: what an equality ties to one that is bound is looked up by its hash (`by_value`), all else is
scanned, newest first. Each must be possible beside each that is bound, as often as the threshold asks, and every
closure must have a candidate between its neighbours as soon as both are bound. Then the closures' events, depth first
in the pattern's order (`search`); each step asks the conditions on its edge, then the confidence of the path with the
single events behind the closure, which never grows: below the threshold the step ends (X6); and that the next closure
has an event left.

**What a block may cost.** With R events of a component in a window, s single components not tied by an equality, and M
matches: binding takes at most R^s steps for an event, and R more for each closure and binding. With one closure every
step of the path that its conditions and the confidence let pass is a match, so that there are at most R (M + 1)
confidences for each binding: the work is that of the output. Conditions on a finished closure, on what comes after it,
and on a later closure refuse paths that have been made: only these, of which there may be 2^R, are not paid for by
matches. A confidence takes as many operations as the match has events where no two of their intervals meet, else the
sum of the lengths of those that do; at a window's edge, times the length of the first event's. What has no bound but
2^R is M itself: CONFIDENCE, WITHIN and conditions on neighbours keep it small, and the planner warns (X7).
"""

"""Match queries over imprecise time (X2, X6; SASE++ sections 2.3 and 5.3, algorithm 1, appendix A).

An event happens at one of the instants (ms) of its interval [lo, hi], distributed by `schema.Distribution`. An exact
time is an interval of one instant. Events are independent.

**Confidence.** The confidence of a match is the probability that its events' times
  - increase strictly in the order of the pattern: every event of a component is before every event of the next one, and
    the events of a *correlated* closure are in the order in which the match lists them;
  - lie in the window: last - first <= WITHIN, or all in the one window of SLIDE that the result names.

A closure is *correlated* if an expression reads the order of its events: b[i-1], b[..i-1], b[1], b[last], first, last.
Otherwise it is *uncorrelated*: its events may happen in any order, or at once, and the match lists them by seq. The
confidence is the sum of the probabilities of all possible worlds in which the match is one. A match is reported if its
confidence is above 0 and at least that of CONFIDENCE. Everything is matched by skip-till-any-match.

**Computation.** F(t) is the weight of the worlds in which a prefix of the match ends at or before t. One more event e
gives F'(t) = F'(t - 1) + p_e(t) F(t - 1), in one pass over its interval. If e surely comes after the prefix, or has one
instant, it is a product without a pass (`chance`). Uniform times weigh 1 an instant, and the product of the lengths
divides at the end: the arithmetic is that of whole numbers, exact up to 2^53 in float64 and rounded beyond.

An uncorrelated closure after a prefix that ends at s weighs the product of C_e(m) - C_e(s) over its events e. C are
their cumulative weights, m is the last of their times. It is a table over m, with a row for each s that its intervals
reach, and one row for all earlier s.

WITHIN can fail only if latest - earliest exceeds it. Where all other events surely come after the first event (or after
an uncorrelated first closure), one more pass is enough. It takes the weights with F at x + WITHIN for every instant x
at which the match may begin. Otherwise the prefix is computed again for every such x, without times beyond. (An
uncorrelated first closure begins at x in the worlds with no time before x, less those with none before x + 1.) In a
window of SLIDE all intervals are cut at its bounds.

**Time of detection.** The confidence of a match depends on its own events alone, and no later event changes it. So the
match fires with its event of the highest seq (seq is by (lo, arrival)), at any place in the pattern. Answers do not
depend on the boundaries of blocks, and wait for no watermark but that which orders events by lo. The matches of one
event are ordered by window, then as the search finds them: later events first.

**Search.** Events that fit a component are kept per key and component until no window that holds them can hold a new
one. A new event is taken as each component that it may be, in turn. First the other single events are bound, in the
order of `joins`: with an equality to a bound event by hash (`by_value`), otherwise by a scan, newest first. Each must
be possible beside each bound event with the probability that the threshold asks. Every closure must have a candidate
between its neighbours once both are bound. Then the closures' events are searched depth first, in the pattern's order
(`search`). Each step tests three things:
  - the conditions on its edge;
  - the confidence of the path with the single events behind the closure, against the threshold (X6): it never grows;
  - whether the next closure has an event left.

**Cost of a block.** Let R be the events of a component in a window, s the single components not tied by an equality,
and M the matches. Binding takes at most R^s steps for an event, and R more for each closure and binding. With one
closure every step that passes its conditions and the threshold is a match. So there are at most R (M + 1) confidences
for each binding: the work is that of the output. Conditions on a finished closure, on events after it, and on a later
closure refuse finished paths. Of these there may be 2^R, and matches do not pay for them. A
confidence takes as many operations as the match has events if no two of their intervals meet, else the sum of the
lengths of those that do. At a window's edge it takes that times the length of the first interval. M itself has no bound
but 2^R: CONFIDENCE, WITHIN and conditions on neighbours keep it small, and the planner warns (X7).
"""

"""Match queries by definition: the whole language, slowly and obviously, from the syntax tree and nothing else.

`question.question(text)` takes a query apart; `answers.answers(question, events)` gives its results. A run is a tuple
of bindings, a position is an explicit state of the pattern tree (`positions`), windows are matched one by one.
`subsets` says skip-till-any-match once more, without runs. Use it on a dozen events.

Readings, where the definition of the language leaves a point open
------------------------------------------------------------------

Positions and choices
 1. Where a part is *reached* (before it takes its first event), each choice makes a run of its own: a side of OR, with
    or without a `?` or `*`, which part of an AND or ANY gives the next event. Such a run waits for exactly one
    component. Choices of AND and ANY are made anew after each of their events, so all interleavings are there.
 2. A run *sits* in a repetition once it has ended an iteration of it that may be followed by another (fewer than m).
    It is one run with many edges, no choice being made: edges that begin a further iteration, edges that begin what
    follows. n and m count iterations; with fewer than n only a further iteration can come; after m nothing sits: the
    run has left, and waits for what follows as behind a single component (choices by 1).
 3. It sits in the innermost repetition that has just ended an iteration. A further iteration of one around that
    begins "what follows": over A1 B2 A3 B4, `SEQ(A, B+)+` gives (1;2), (1,3;2,4), (1;2,4), (3;4).
 4. `{n}` is `{n,n}`; `?`, `{0,1}` and `{1}` are no repetitions, and the variable is one event, unless it is
    written as a list (`A{1} a[]`) and no repetition around makes it one. `*` is a choice of nothing
    or `+`. An iteration takes at least one event: a body that can be empty makes the repetition `{0,m}`.
 5. ANY(n, P) of one unit is `P{n}`, a list even for n = 1. ANY(n, P, Q, ...) is a choice of n of them, then their AND;
    parts may be patterns. DISTINCT holds for all events bound inside the ANY, within one iteration of the repetitions
    around it; an event without the attribute does not fit.
 6. In AND and ANY, when a part sits in a repetition, the whole sits: further iterations of that part as in 2, whatever
    any other part waits for is as what follows. So SEQ(P, Q) and SEQ(Q, P) are among the matches of P AND Q.
 7. A match binds at least one event. The pattern is over at each position where nothing more is needed (every prefix
    of a closure at its end). Runs with equal bindings, and matches with equal lists by variable, are one.

Strategies, edge by edge
 8. A run whose edge takes an event goes on with it; each edge of the run decides for itself whether it may also let the
    event pass: any-match always; contiguity never (partition contiguity: an event of another key); next-match unless
    the event was taken by the edge the run waits for (1), or by a further iteration of the innermost repetition it sits
    in (2, 3, 6). Edges that may not are dropped from the run that stays; a run without edges ends.
 9. s(x) governs edges to x, s(x[i]) edges that begin a further iteration with x, of a repetition of an event or of a
    group. A list of brackets that names every positive variable, none as x[i], is as no brackets. Strategies of
    negated variables mean nothing.
10. An edge takes an event if type, [attr], TIME, DISTINCT and every condition allow it (12). The first event of a run
    is subject to the same; a run begins at every event of its window.
11. [attr] holds for negated components too; [P.x] for those of type (else variable) P, negated or not. Partition
    contiguity's key: attributes that all positive components are asked for. Null is never equal.

Conditions
12. A condition is asked as soon as all that it reads is known, and then decides whether the edge takes the event; so
    that AND in any order, groups and options need no "last identifier", and on a flat SEQ it is N3's.
13. v[last], v[], v.len are known once the run has taken an event that comes after the outermost repetition around v
    (in a SEQ; in an AND, after the AND), or at the end of the pattern: N3's proceed, also for `{n}`, which might know
    it at once. v[1] is known with the first event.
    v[n] is known once the list has n events; v[i] beside it within one outermost repetition is refused.
14. v[i], v[i-k], v[..i-1]: the condition is asked of each event of the variable in the most repetitions (of several,
    the last of the pattern). Another variable read so beside it must lie in all of its own repetitions around that
    one, and v[i] is its event in the same iteration; v[i-k] and v[..i-1] count back from there in v's whole list. Until
    that iteration has bound it the condition waits; if it never does, it holds for that event.
    Refused: v[i] beside w[i] of another repetition; v[last], v[], v.len beside w[i] within one outermost repetition.
    (A binder may refuse more, as N3 does: v[i] beside what comes after its repetition, or in another part of an AND.
    Here the condition is then asked of all events of v, those taken before and after; `generate` leaves it out.)
15. A condition holds as a whole if a variable of which it reads an event is not bound, or if it looks back further
    than there are events. Of a list as a whole (v[], v.len) it reads the empty list then: count and length are 0, all
    other aggregates null. In RETURN an event that is not bound is null; lists are as in conditions.
16. User-defined aggregates get the values that are not null, in order; of none they are null.

NOT
17. Judged once a match is complete; it removes the match and changes no run's choices. Absence is of any choice of
    events (skip-till-any-match), whatever the strategy; under TIME STRICT "between" and the order inside are by ts.
    (So NOT P+ is NOT P, but where a condition reads the whole list, as in p.len > 2.)
18. Conditions that name a negated variable belong to its NOT: the forbidden match is one for which all of them hold,
    with the positive bindings at hand. Naming variables of two NOTs, such a condition holds for each. (A binder may
    refuse that, and all but v.x and v[i].x of a negated variable; `generate` leaves it out.)
19. Neighbours: inside its own SEQ (and iteration) the last event bound before it and the first after; if there is none,
    those of what surrounds that SEQ, an earlier or later iteration first. Without one at all it is leading or trailing,
    as where `SEQ(A?, NOT N, B)` skips its A. A NOT in a SEQ that bound nothing is not asked.
20. Without SLIDE and OPEN ON, a trailing NOT looks up to first + w (EVENTS: first + w - 1), both ends included.
21. Components without a variable are numbered A, A#2 over the positive ones first, then those inside NOT.

Windows, output
22. The order of results: last seq, first seq, all seqs, seqs by variable in pattern order (one that is not bound behind
    all others), window. Matches take turns in it, under LONGEST first event by first event; what one that is reported
    consumes serves in no role of a match whose turn comes later. Beside NON-OVERLAP, whose matches share no event,
    CONSUME changes nothing.
23. NON-OVERLAP: per partition key (11), over all windows; two matches overlap if their spans of positions do.
24. FIRST and LONGEST: per window and first event, among matches of which nothing is consumed; last ties by the order
    of results.
25. WITH TIMEOUTS: the runs that wait when their window (or the stream) ends and that no match continued; one for equal
    bindings, waiting for all variables that any of these runs waits for. A run that NOT refused is no match.
26. INTO: a result stands behind the last event of its match, or, where it is known only later, behind the last event
    of the stream up to that deadline, with the deadline as ts (EVENTS windows: the ts of that event). Known later are
    LONGEST and matches with a trailing NOT: when the window closes. In a pattern that may end in a NOT, FIRST and
    CONSUME are too, CONSUME (but for LONGEST) without windows one reach (20) after the last event; and NON-OVERLAP:
    when the last window that holds the last event closes. Such events break no contiguity when they are not taken, and
    open no window.
27. COMPRESSED is ALL: one result for each last event (and window).

Imprecise time (X2)
28. A world gives each event of the stream one time; order and adjacency are strict, so two events at one time are never
    in one match, except within an uncorrelated closure. The confidence of a match sums the worlds that have it.
29. A closure of an event (no group) is uncorrelated unless a condition or RETURN reads v[i-k], v[..i-1], v[1], v[last],
    first() or last() of it: its events are a set, listed by seq. Lists of correlated ones are in order of time, and
    another order is another match.
30. Windows are of the world's times, NOT is judged in each world, conditions read the world's ts. Refused: windows in
    EVENTS, CONSUME, NON-OVERLAP, FIRST, LONGEST, TIMEOUTS, which need one order.
31. GROUP BY and HAVING in a match query are refused.
"""

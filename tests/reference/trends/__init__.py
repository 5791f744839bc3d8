"""Aggregate queries by definition: every trend is enumerated, then counted and summed with integers and fractions.

`results.answers(text, events, reading)` gives a query's results by one of two readings that share the query's parts
(`asked`) and the sums, and nothing else: DEFINITION enumerates labelled sequences along the pattern tree (definition 1
of GRETA); TWIN asks tests/reference/match for the matches of the match twin. Their number is exponential: use them on
a dozen events. `generate.case(random.Random(seed))` makes a query as text and a stream for it.

Readings, beyond those of tests/reference/match, which hold here too
--------------------------------------------------------------------

 1. A trend is its events in order, each with its component. However many ways there are to parse it, it is one trend,
    admitted if one of them is. DISTINCT compares events that are not adjacent and is refused.
 2. The default strategy is skip-till-any-match; WITHIN alone is SLIDE = WITHIN. Windows are those of match queries.
 3. E in COUNT(E), SUM(E.x), NEXT(E).x is a variable, else the only component of a type; unnamed ones are A, A#2, ...
 4. A condition that reads one component alone, as A.x or a[i].x, is asked of each of its events.
 5. A.x beside NEXT(B).x is asked of each event of A that is directly followed, in its trend, by one of B: also across
    iterations, and not where another event stands between. It takes part in what skip-till-next-match may skip, as any
    condition on the event that comes. a[i-1].x, a[last].x, a.x, b[1].x are what they are in match queries; where
    events read so need not be adjacent, the reference answers and a binder may refuse.
 6. [attr] and GROUP BY are asked of negated components too. [P.x] is refused where it is asked of some events inside
    and some outside of a NOT, but not of all.
 7. A NOT's conditions read its own events alone: another NOT's, one inside it, or those of the trend are not adjacent
    to them, and are refused. NOT P+ is NOT P, whatever NEXT(P) asks.
 8. A leading NOT looks from the window's first event on (OPEN ON: the opener), a trailing one to its last.
 9. Contiguity counts each event of the window in order of (ts, arrival), also under TIME STRICT: of two events at one
    time neither can follow the other, and the one that arrived later stands between the other and what comes next. What
    a NOT rules out is a skip-till-any-match trend, strictly between by ts under TIME STRICT.
10. COUNT(E.x) counts the events of E with x not null; AVG is SUM over that count. SUM of nothing is 0, MIN, MAX, AVG
    of nothing are null, and what is computed with null is null. Aggregates are over the trends of all keys of a group.
11. HAVING is asked once a group has a trend; null is not true. Group attributes in RETURN stand in "group" alone.
12. AND stands outermost, between two patterns (of more it is refused), each with the conditions that name its variables
    (naming both sides: refused); [attr] and TIME hold for both, a step's strategy for its side. A trend of a side is
    its sequence of events: labels differ by nature, and two labellings of one sequence are one. Pairs are unordered,
    of two different trends of one key and window, at least one of each side. COUNT(*) alone; no pair, no result.
"""

"""Why, and why not: a slow interpreter of match plans that gives a reason for each decision.

bindings     what a run has taken, and in which iteration of each repetition
values       expressions of a plan over bindings, with the values that decided
conditions   which conditions an event can break, and the refusals of those that it does
absences     NOT: whether what must be absent is
interpreter  the events of one key, one by one: runs, decisions (as there), matches
likely       the same over imprecise time, with the confidence of each prefix (chance)
makers       the queries whose results another one reads (INTO), and the events that they are to it
trace        the outcome of each event: decisions grouped, of one match or of all
as_text      a trace as a table;  as_dict: as JSON
block_traces the trace of a key or of a match, from the blocks of a stream

It shares with the engine the places of a pattern (`patterns.positions`), and nothing else of how runs are kept:
plain Python over tuples, checked against the definition. It is for one key at a time.
"""

"""Why, and why not: a slow interpreter of match plans that gives a reason for each decision.

- `bindings`: the events that a run has taken, and in which iteration of each repetition.
- `values`: expressions of a plan over bindings, with the values that decided.
- `conditions`: the conditions that an event can break, and the refusals of those that it does.
- `absences`: whether a NOT holds.
- `interpreter`: the events of one key, one by one, with runs, decisions and matches.
- `likely`: the same over imprecise time, with the confidence of each prefix (`chance`).
- `makers`: the queries whose results another one reads (INTO), and the events that they are to it.
- `trace`: the outcome of each event, for one match or for all.
- `as_text`, `as_dict`: a trace as a table, and as JSON.
- `block_traces`: the trace of a key or of a match, from the blocks of a stream.

It shares with the engine the places of a pattern (`patterns.positions`), and nothing else. It is plain Python over
tuples, checked against the definition, for one key at a time.
"""

"""The Python API: what `import saffron` offers. It calls the folders beside it, and none of them calls it.

query       compile: a checked query that explains and draws itself
source      files, tables, data frames and dicts as raw batches of events
results     replay: results as they come, counted, or as a table
result      one match, one trend: as a Python object
table       results as Arrow tables, their types from the plan
timeline    a match's events over time, drawn;  html: what notebooks show
backfill    backfill: queries over history, on Spark
aggregate   @aggregate: user-defined aggregates (engine.aggregates keeps them)
"""

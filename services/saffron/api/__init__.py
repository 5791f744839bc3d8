"""The Python API of `import saffron`. It calls the folders beside it, and none of them calls it.

query       compile: a checked query, with its explanation and drawing
source      files, tables, data frames and dicts as raw batches of events
live        open: events fed by hand, and their results at once
subscribe   subscribe: results from Kafka, as they come
results     replay: results one by one, counted, or as a table
result      a match or a trend as a Python object
table       results as Arrow tables, with types from the plan
timeline    a drawing of a match's events over time;  html: HTML for notebooks
backfill    backfill: queries over history, on Spark
aggregate   @aggregate: user-defined aggregates (engine.operators.aggregates keeps them)
function    @function: user-defined functions of values (schema.functions.own keeps them)
"""

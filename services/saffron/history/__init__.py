"""The engine over history on Spark (`saffron backfill`): pure parts, tested without Spark, and one job that joins them.

files      what is read, in which order, as pieces of raw events
decoding   these as rows: events, dead letters, and a tally
rows       events between Arrow and columns
numbering  the numbers that events would have in one run over everything
spread     by which attributes a query's events may be spread, or why not
running    the engine over numbered events
tasks      what tasks of Spark do with all of this
output     results and dead letters as files
backfill   the job
session    where it runs; progress: how far it is; plainly: Spark's errors as ours
"""

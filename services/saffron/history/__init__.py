"""The engine over history on Spark (`saffron backfill`): pure parts, tested without Spark, and one job of them.

files          input files in the order of arrival, as pieces of raw events
written        types of Parquet columns that Spark has not
decoding       pieces to rows: events, dead letters, and a tally
rows           events between Arrow and columns
numbering      numbers of events, as in one run over all of them
partitioning   the attributes by which a query's events can be partitioned
running        the engine over numbered events
tasks          the functions that Spark's tasks run
output         results and dead letters as files
backfill       the job
session        Spark's session; progress: of its tasks; spark_errors: Spark's errors as Saffron's
"""

"""The model builder: a Spark Structured Streaming job that learns from the observation topics and publishes models.

prepare    the files that a first start would wait for: Spark's connector and class archive (`saffron.spark`)
settings   Spark's settings: small local mode, or those of spark-submit
rows, feature_rows    observations of a batch, summed by Spark: of partial matches and times, of features of events
books      the state kept from batch to batch: counts, offsets, bases of published models
query_book, latency_book, feature_book    the state of one query, of one stream's latency, of one query's features
decay      halving of old counts
store      the books' files in the checkpoint: batch B always starts from the file of B - 1
policy, due    thresholds for publishing a model, and their evaluation
batch      one batch: update books, train, publish
withdrawals    tombstones for models of removed queries
publisher, writer    records to the topic `models`
job        the streaming query
reporter   health, metrics and log of the job
main       wiring, signals, restarts of the query
"""

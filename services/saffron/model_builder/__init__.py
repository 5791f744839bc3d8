"""The model builder: a Spark Structured Streaming job that learns from the observation topics and publishes models.

prepare    what a first start would wait for: Spark's connector and class archive (`saffron.spark` has both)
settings   what Spark is told: small local mode, or as spark-submit says
rows       what Spark computes: observations of a batch, summed
feature_rows, feature_book    the same two of what events were good for, by their features
books      what is kept from batch to batch: counts, offsets, what was published
query_book, latency_book    the same of one query's partial matches, of one stream's times
decay      what is older than a half-life counts half
store      the books' files in the checkpoint: batch B always starts from the file of B - 1
policy, due    when a model is worth publishing: the numbers, and what is judged by them
batch      one batch: books forward, train, publish
withdrawals    models of queries that were removed are withdrawn
publisher, writer    models, and other records, into their topic
job        the streaming query, started again when the broker was away
main       wiring, metrics, health, signals
"""

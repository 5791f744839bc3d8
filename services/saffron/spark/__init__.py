"""The start of Spark, for the model builder and for the backfill of history.

gateway    the JVM, as a child process, or the one of spark-submit
archive    an archive of loaded classes, which halves the JVM's start
jars       Spark's Kafka connector, fetched by lock file
session    a session on the JVM
"""

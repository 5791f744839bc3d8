"""Spark, started the same way by all that use it: the model builder and the backfill of history.

gateway    the JVM, as a process of ours; or the one that submitted us
archive    classes parsed and linked ahead, with which the JVM starts in half the time
jars       Spark's Kafka connector, fetched by lock file
session    a session on the JVM
"""

"""Rows in a database: results go through a real worker of Kafka Connect into PostgreSQL (`python -m sinks`)."""

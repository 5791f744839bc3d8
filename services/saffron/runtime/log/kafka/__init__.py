"""The log on a Kafka cluster, by librdkafka (confluent-kafka)."""

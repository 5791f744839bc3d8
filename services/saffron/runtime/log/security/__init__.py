"""Encryption and authentication of Kafka clients: librdkafka, Java, Python."""

"""Results in Avro and Protobuf: one fixed schema a topic, a schema registry's wire format, and back to JSON."""

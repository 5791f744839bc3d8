"""Output formats of results: Avro and Protobuf in a schema registry's frame, and their conversion back to JSON."""

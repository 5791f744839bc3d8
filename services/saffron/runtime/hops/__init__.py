"""What services share that read partitions: chains from topic to topic, claims, blocks, states of input topics."""

"""The mapping of messages of several topics to events of one stream, by a definition in YAML."""

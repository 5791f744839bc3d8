"""Event types, attributes, kinds of values, numbers and times: what every other package knows of a stream."""

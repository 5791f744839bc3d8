"""The embedded broker, and the supervisor of `saffron up`."""

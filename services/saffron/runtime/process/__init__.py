"""Settings, user modules, and threads beside a service's loop."""

"""Files and messages of other formats as JSON events."""

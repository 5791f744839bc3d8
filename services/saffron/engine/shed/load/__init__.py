"""How much waits, and how long it takes: the overload detector (P7, G7)."""

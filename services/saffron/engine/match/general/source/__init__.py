"""The text of the kernel that walks a table of states: how runs begin, take events, end, and are refused by NOT."""

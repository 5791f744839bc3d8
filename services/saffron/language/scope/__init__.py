"""The scope of one query: its components, names of attributes, kinds of values, windows."""

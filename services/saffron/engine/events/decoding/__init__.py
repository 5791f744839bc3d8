"""JSON to columns: a kernel for the common form, a parser for the rest; inference and growth of schemas."""

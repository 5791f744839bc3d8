"""Messages flattened by a kernel, for the forms that it is sure of."""

"""The scalar functions of the query language: what each takes, gives and means, a row for each."""

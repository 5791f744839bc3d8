"""The loops of every trend query: GRETA's algorithms 2 and 3 over flat arrays.

A module holds plain functions; those behind its `# ---- template begins` are templates. `codegen.source` runs their
text as Python, or makes machine code for one query of it. `kernels.advance` is the entry point.
"""

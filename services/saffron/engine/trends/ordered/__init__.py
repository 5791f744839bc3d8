"""The ordered index of vertices: B+ trees with subtotals (T6)."""

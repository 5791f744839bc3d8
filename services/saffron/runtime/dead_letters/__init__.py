"""The desk of dead letters: what was put aside is listed, shown with its place, mended, and sent again."""

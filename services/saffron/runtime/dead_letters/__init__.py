"""Dead letters: listed, shown with the place of the error, corrected, and sent again."""

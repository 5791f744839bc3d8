"""How far learned orders are trusted."""

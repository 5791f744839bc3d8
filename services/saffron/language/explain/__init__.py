"""Plans told and drawn."""

"""What dropping has lost."""

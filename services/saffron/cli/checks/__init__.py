"""`saffron doctor`: faults, their places, and fixes."""

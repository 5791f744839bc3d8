"""`saffron doctor`: what is wrong, where, and the fix."""

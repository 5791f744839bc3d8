"""The trust in learned orders, from trials."""

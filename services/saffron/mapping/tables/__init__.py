"""Tables of a stream: what they hold, and how events get attributes of them."""

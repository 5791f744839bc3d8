"""Tables of a stream: their rows, and the attributes that events get from them."""

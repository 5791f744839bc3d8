"""How the messages of a company's topics become events of one stream, by a definition in YAML."""

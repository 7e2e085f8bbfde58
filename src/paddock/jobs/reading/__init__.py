"""Commands and scripts of containers, as far as jobs read them. Pure."""

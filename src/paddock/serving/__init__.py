"""HTTP servers whose clients hold nothing for ever: connections have a bound, and heads and bodies a time. Beside
them, by which proxy another's server is reached."""

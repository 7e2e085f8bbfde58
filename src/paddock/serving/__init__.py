"""HTTP servers whose clients hold nothing for ever: connections have a bound, and heads and bodies a time."""

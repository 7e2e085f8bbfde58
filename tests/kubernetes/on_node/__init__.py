"""A package, as its node is of that scope: it is gone when a test of another folder wants the machine's one node."""

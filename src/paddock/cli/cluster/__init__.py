"""Where a command goes: local cluster or context, what is served there, and its refusals."""

"""Who asks, and what they may do: users, tokens of service accounts, and RBAC. Pure but for the key of `tokens`."""

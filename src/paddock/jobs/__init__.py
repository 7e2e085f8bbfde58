"""Training jobs and the decisions about them. Pure: no I/O, no clock, no randomness.

`model` has the values, `apis` read manifests and write statuses, `frameworks` know roles and environment variables,
each module of `policies` decides one thing, and `plan` alone combines the decisions.
"""

"""What a training job is and what to do about it. Pure: no I/O, no clock, no randomness.

`model` holds the values, `apis` turn manifests into them and status back, `frameworks` know roles and environments,
`policies` decide one thing each, and `plan` is the only place that puts the decisions together.
"""

"""Bare machines: one bash script for each machine, which checks it, starts its ranks, and stops them. PURE.

`place` is what `--to bare` is, `script` writes the data of a job as bash, and `machine`, `processes` and `commands`
hold the text that is the same in each script: who the machines are, what a rank's process is, what a user types.
"""

"""Policies: one file each. `jobs.plan` asks them in order and takes the first verdict.

A policy reads the job, the recorded status and what is observed, and returns a `Verdict` or None. It changes nothing
and deletes nothing: `plan` records a verdict and acts on it in the next pass.
"""

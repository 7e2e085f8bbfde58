"""What each policy makes of a job: one policy, one file. `jobs.plan` asks them in order, and the first word counts.

A policy reads the job, the recorded status and what is observed, and returns a `Verdict` or None. It changes nothing
and deletes nothing: `plan` records a verdict and acts on it in the next pass.
"""

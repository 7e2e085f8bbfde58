"""What a console in a cluster keeps of all its jobs: their records and logs, beyond pods and jobs.

The keeper follows jobs and pods with an account of its own; a reader is shown what is kept by their own token alone.
"""

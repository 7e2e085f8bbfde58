"""The child process that fetches one dataset: `python -m paddock.datasets.fetch`.

It reads one `Request` (datasets/fetching.py) from standard input, or from the variable PADDOCK_FETCH in a Job's pod,
and prints one line of JSON for each report. It can be ended at any moment, also by SIGKILL, and goes on where it was.
"""

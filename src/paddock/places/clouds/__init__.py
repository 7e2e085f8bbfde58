"""Training services of clouds: an entry script that all nodes of a job start, and the file that creates the job.

A service starts one image and one command on several nodes and tells each node, by variables of its own, which one it
is. `entry` turns that into the rank's command and environment, `platforms` says what each service tells, and
`modelarts`, `pai`, `aihc` and `bml` write the files. No service could be reached: the scripts were run with the
variables that their public pages name, the files were only read against those pages.
"""

"""What ran on this machine, kept: one record for each run of a job, and its logs, beyond the job and its pods.

`records` has the values and their files, `logs` finds the log files of a run, `retention` decides what is kept,
`changes` compares two manifests, `keeper` writes the records of a local cluster. Knows `paddock.kube` alone: what reads
a job's status or a line of a log is passed in by `paddock.app.history`.
"""

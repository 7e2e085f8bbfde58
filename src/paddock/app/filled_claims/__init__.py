"""Claims of a cluster that a command fills before it sends a job: with packages, or with a working directory.

`contents` names them by what is in them, `manifests` builds claim and pod, `paddock_fill` is the pod's program, `told`
reads what it prints, `reach` says which pods can mount a claim, `mounts` gives them to a job's pods. All of these are
pure, but the program. `cli.submit.filled_claims` asks the cluster.
"""

"""Datasets: fetched once, verified, mounted read-only by whoever names them.

`definition` reads the object, `sources` its address; `manifests` and `changes` are what somebody says of a new one,
or of one that is there; `states` is its status; `library` is the controller. A child process fetches
(`datasets.fetch`): on the laptop a process of this machine (`local`), on a cluster a Job's pod (`cluster`). The room
knows Kubernetes' values and controllers; no jobs of training, and no client.
"""

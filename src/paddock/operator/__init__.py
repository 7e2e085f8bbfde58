"""The operator: reconciles every training job with its manifest, as `paddock.jobs.plan` decides.

operator       watches, queues, starts reconciles           informers  the caches of jobs and their children
controller     one reconcile: read, decide, record, act     observe    the children of one job: owned or foreign
apply          sends the actions of a plan                  record     status patches, and what the server kept of them
pruned_status  kinds whose status fields the server drops   election   leader election by a Lease
metrics        what is counted, for Prometheus              job_metrics    of it, what jobs go through, by namespace
transitions    what a status write records of a job         tally          counts each of these once

Work queue, caches and event recorder are in `paddock.controllers`.
"""

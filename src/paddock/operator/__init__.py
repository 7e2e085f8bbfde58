"""The operator: brings every training job to where its manifest wants it, by what `paddock.jobs.plan` decides.

operator    what is watched, whose turn it is      queue    deduplicated, delayed, backed off
views       caches as one view of all children     observe  one job's children: ours, or in our way
controller  one pass: read, decide, record, act    record   what of a status is written, and read back
apply       how actions are sent                   events   what `kubectl describe` shows
halts       kinds whose status the server drops
"""

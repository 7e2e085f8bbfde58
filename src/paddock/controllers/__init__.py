"""The parts of any Kubernetes controller: informers, keyed work queues, an event recorder. Terms are client-go's.

They use an `Api` and objects, and know nothing of HTTP, processes or training jobs.
"""

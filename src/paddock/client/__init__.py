"""Talk to any Kubernetes API: kubeconfig, requests as values, a thin client, the watch's cursor, a cache.

Nothing is imported here, so that `client.kubeconfig` stays cheap: the command line reads it without an HTTP library.
"""

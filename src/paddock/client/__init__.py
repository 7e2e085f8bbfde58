"""A client of any Kubernetes API: kubeconfig, requests as values, the HTTP connection, and watches that resume.

This file imports nothing, so the command line imports `client.kubeconfig` without an HTTP library.
"""

"""The embedded Kubernetes API: a small Kubernetes that knows nothing of training jobs, testable with kubectl alone."""

"""Tables, columns and cells for `kubectl get`."""

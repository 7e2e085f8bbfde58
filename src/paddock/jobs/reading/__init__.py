"""From text to manifests and typed fields, with the line of every value."""

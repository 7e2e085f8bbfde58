"""Kubernetes' validation rules, each written once: names, metadata, values against a schema, pods, volumes.

A rule yields `FieldError`s without words. Its users choose the codes that they refuse, and the words: the API server in
`apiserver.schema.field_errors`, checks before a manifest is sent in `preflight`.
"""

"""Schemas of served kinds: rules for a CRD's schema, the words of field errors, JSONPath of columns."""

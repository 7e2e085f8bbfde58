"""The text of a manifest as values: documents with lines, fields, edits that keep comments. Knows no kind. Pure."""

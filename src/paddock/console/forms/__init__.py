"""A form and a manifest as two views of one text."""

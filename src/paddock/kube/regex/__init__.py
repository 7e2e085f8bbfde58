"""Regular expressions of schemas as Kubernetes reads them: RE2's syntax, and a time that grows with the text alone.

`syntax` parses a pattern, `automaton` searches a text. Python's `re` has another syntax, and needs 2**n steps for some
patterns, such as `(a+)+$`, on a text of n characters.
"""

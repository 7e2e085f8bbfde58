"""The composition root: the only package that imports both the embedded cluster and the operator."""

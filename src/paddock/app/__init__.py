"""The composition root: the only room that knows both worlds, the embedded cluster and the operator."""

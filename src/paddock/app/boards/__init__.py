"""TensorBoard or VisualDL over what jobs have written, behind a proxy that lets in who has the one-time link."""

"""The documentation site: its reference, which is made from the code, and its pages as Sphinx reads them."""

"""The site: `stage` makes of the pages in docs those that Sphinx reads, one folder for each language."""

"""Files that jobs wrote, as they are looked at: their addresses, and what is shown of their content."""

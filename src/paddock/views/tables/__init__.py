"""What a page about jobs shows in its tables, as values. Pure."""

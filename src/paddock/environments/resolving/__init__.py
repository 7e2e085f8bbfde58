"""What uv says of requirements that it cannot meet, as values. Pure."""

"""What a followed job needs before it begins: environments that are built, datasets that are fetched."""

"""What jobs need to run: environments and datasets."""

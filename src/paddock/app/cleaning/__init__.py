"""What takes room on the disk and may go: which things there are, who needs them, and what comes free."""

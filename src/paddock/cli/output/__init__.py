"""What reaches the screen: tables, the live line, log lines, colours and language."""

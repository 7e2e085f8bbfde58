"""What the buttons of the console do: one module for each kind of object, a line in `registry` for each action."""

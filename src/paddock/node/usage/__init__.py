"""What pods and the node use: measured while they run, told to the API, and recorded beside the logs."""

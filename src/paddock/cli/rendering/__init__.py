"""`paddock render`: the job of a file, the files of a place, its machines."""

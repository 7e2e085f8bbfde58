"""The pages of docs/reference, made from the code: one pure function for each page, `write` puts them on the disk."""

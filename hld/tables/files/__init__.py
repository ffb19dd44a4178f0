"""Tables in files: the kind of file, the dialect of its text, and its rows in chunks of any size."""

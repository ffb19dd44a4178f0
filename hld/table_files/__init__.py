"""Tables in files: which kind of file it is, how its text is to be read, and its rows in pieces of any size."""

"""Pages for people: one self-contained file of HTML about a test, about synthetic rows, about many segments."""

"""Does a detector keep what it promises, on the user's own rows?"""

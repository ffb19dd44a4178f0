"""The shell: ``hld fit``, ``hld test`` and the other commands, one file a group."""
from hld.command.parser import main

__all__ = ["main"]

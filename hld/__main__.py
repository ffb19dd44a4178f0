"""``python -m hld``: the command line, see `hld.command.parser`."""

from hld.command import run

if __name__ == "__main__":
    run()

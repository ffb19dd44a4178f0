"""``python -m hld``: the command line, see `hld.apps.command.parser`."""

from hld.apps.command import run

if __name__ == "__main__":
    run()

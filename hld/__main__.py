"""``python -m hld``: the command line, see `hld.command`."""
import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())

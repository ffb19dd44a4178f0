"""``python -m hld``: the command line, see `hld.command.parser`."""

import sys

from hld.command.parser import main

if __name__ == "__main__":
    sys.exit(main())

"""The shell: ``hld fit``, ``hld test`` and the other commands, one file for each group."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line: see `hld.command.parser`."""
    from hld.command.parser import main as run

    return run(arguments)

"""Several of Flower's commands in one process, because each alone takes seconds to be imported.

Run as a script, with lists of arguments as JSON lists. What the commands print goes to standard
output; the first that fails ends it.
"""

import json
import sys


def main() -> None:
    """Runs the commands one after the other."""
    import typer.main
    from flwr.cli.app import app

    command = typer.main.get_command(app)
    for text in sys.argv[1:]:
        command.main(args=json.loads(text), prog_name="flwr", standalone_mode=False)


if __name__ == "__main__":
    main()

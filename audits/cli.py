"""The `dp-assay` command."""


def main() -> int:
    """Runs the command line."""
    return 0

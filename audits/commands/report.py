"""`dp-assay report`."""

from audits.commands import Commands


def add(commands: Commands) -> None:
    """Adds the sub-command."""

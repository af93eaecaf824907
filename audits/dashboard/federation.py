"""Runs over holders: the coordinator's folder, and what its holders are to be told."""

import os
import shlex
import shutil
from pathlib import Path

from audits.dashboard.process import RunFolder
from audits.dashboard.settings import Settings

_LONGEST_SOCKET = 100  # bytes of a path, on every system


def invite(folder: RunFolder, experiment: str, settings: Settings) -> None:
    """Makes the coordinator's keys and an invitation for each holder, whole or not at all.

    Raises:
      ValueError: Holders cannot be asked for such an experiment.
    """
    from mechanisms import Experiment
    from mechanisms.federated import site

    if folder.federation.exists():
        return
    folder.make()
    folder.experiment.write_text(experiment, encoding="utf-8")
    partial = folder.path / "federation.partial"
    shutil.rmtree(partial, ignore_errors=True)
    made = Experiment.from_toml(experiment)
    door = site.door(folder.federation, made.clients - 1)
    if settings.where == "holders" and len(os.fsencode(door)) > _LONGEST_SOCKET:
        raise ValueError(
            f"`--folder` must be so short that the sockets in it have at most {_LONGEST_SOCKET} "
            f"bytes, got {door}."
        )
    site.prepare(partial, made, host=settings.host, port=settings.port)
    partial.rename(folder.federation)


def commands(folder: RunFolder, settings: Settings) -> list[str]:
    """What each holder is to do with its invitation."""
    found = sorted((folder.federation / "invitations").glob("*"), key=_number)
    if settings.where == "flower":
        command = "dp-assay join permission.toml --socket holder.sock --node node.toml"
        return [f"# carry {one} to holder {one.name}; there:\n{command}" for one in found]
    return [
        "dp-assay join "
        f"{shlex.quote(str(one / 'permission.toml'))} "
        f"--socket {shlex.quote(str(one / 'holder.sock'))}"
        for one in found
    ]


def _number(folder: Path) -> int:
    return int(folder.name) if folder.name.isdecimal() else -1

"""What a run runs on: records here, in files or made up, or holders that have their own; a seed."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from accountants import validate
from audits.dashboard.made_up import MOST_RECORDS, write_made_up
from audits.dashboard.process import RunFolder

ENDINGS = (".csv", ".npz")
Where: TypeAlias = Literal["here", "holders", "flower"]
WHERE: tuple[Where, ...] = ("here", "holders", "flower")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `dp-assay run` is asked for beside the experiment.

    Attributes:
      where: "here", all clients simulated in one process; "holders", processes of their own on this
        machine; "flower", holders on other machines.
      data: The file of the clients' records; "" for made-up ones.
      made_up: How many records each client gets, where they are made up.
      target: The name of the targets.
      client: The name of what says whose a record is.
      held_out: A file of records that no client holds, or "".
      seed: The seed of the simulation.
      limit: The ε that no client may exceed in the first scope; None for none. Holders have limits
        of their own.
      host: This machine's name, as holders on others reach it.
      port: Where the coordinator listens for them.
      listen: On which of this machine's addresses.
    """

    where: Where = "here"
    data: str = ""
    made_up: int = 200
    target: str = "target"
    client: str = "client"
    held_out: str = ""
    seed: int = 0
    limit: float | None = None
    host: str = "127.0.0.1"
    port: int = 8943
    listen: str = "127.0.0.1"

    def __post_init__(self) -> None:
        validate.one_of("where", self.where, WHERE)
        validate.count("port", self.port, maximum=65535)
        for name in ("host", "listen", "data", "target", "client", "held_out"):
            validate.text(name, getattr(self, name))
        validate.count("made_up", self.made_up, maximum=MOST_RECORDS)
        validate.count("seed", self.seed, minimum=0)
        if self.limit is not None:
            validate.positive("limit", self.limit)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Settings":
        """The settings that `fields` had, as `dataclasses.asdict` gives them."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in fields.items() if name in known})

    def arguments(self, folder: RunFolder) -> list[str]:
        """The command line; made-up records are written into the folder."""
        if self.where != "here":
            return self._serving(folder)
        if self.data:
            records: dict[str, object] = {
                "--data": self.data,
                "--target": self.target,
                "--client": self.client,
                "--held-out": self.held_out or None,
            }
        else:
            made = write_made_up(folder.path, folder.experiment, self.made_up, self.seed)
            records = dict(zip(("--data", "--held-out"), made, strict=True))
        options = records | {
            "--seed": self.seed,
            "--checkpoint": folder.checkpoint,
            "--progress": folder.progress,
            "--transcript": folder.transcript,
            "--limit": self.limit,
        }
        return ["run", str(folder.experiment), *_written(options), "--json"]

    def _serving(self, folder: RunFolder) -> list[str]:
        """The coordinator's command line."""
        options = {
            "--folder": folder.federation,
            "--seed": self.seed,
            "--progress": folder.progress,
            "--transcript": folder.transcript,
            "--held-out": self.held_out or None,
            "--target": self.target if self.held_out else None,
        }
        if self.where == "holders":
            return ["serve", str(folder.experiment), *_written(options), "--local", "--json"]
        options |= {"--host": self.host, "--port": self.port, "--listen": self.listen}
        return ["serve", str(folder.experiment), *_written(options), "--json"]


def _written(options: Mapping[str, object]) -> list[str]:
    """`--name=value`, so that no value is taken for an option; None leaves one out."""
    return [f"{name}={value}" for name, value in options.items() if value is not None]


def offered(folder: Path) -> list[str]:
    """The names of the files in a folder that may hold records, sorted."""
    try:
        found = [one.name for one in folder.iterdir() if one.suffix in ENDINGS and one.is_file()]
    except OSError:
        return []
    return sorted(found)

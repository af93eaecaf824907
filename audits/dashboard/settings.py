"""What a run runs on: records in files that were offered, or made-up ones; a seed; a limit."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accountants import validate
from audits.dashboard.made_up import MOST_RECORDS, write_made_up
from audits.dashboard.process import RunFolder

ENDINGS = (".csv", ".npz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `dp-assay run` is asked for beside the experiment.

    Attributes:
      data: The file of the clients' records; "" for made-up ones.
      made_up: How many records each client gets, where they are made up.
      target: The name of the targets.
      client: The name of what says whose a record is.
      held_out: A file of records that no client holds, or "".
      seed: The seed of the simulation.
      limit: The ε that no client may exceed in the first scope; None for none.
    """

    data: str = ""
    made_up: int = 200
    target: str = "target"
    client: str = "client"
    held_out: str = ""
    seed: int = 0
    limit: float | None = None

    def __post_init__(self) -> None:
        for name in ("data", "target", "client", "held_out"):
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
        # `--name=value`, so that no value is taken for an option.
        given = [f"{name}={value}" for name, value in options.items() if value is not None]
        return ["run", str(folder.experiment), *given, "--json"]


def offered(folder: Path) -> list[str]:
    """The names of the files in a folder that may hold records, sorted."""
    try:
        found = [one.name for one in folder.iterdir() if one.suffix in ENDINGS and one.is_file()]
    except OSError:
        return []
    return sorted(found)

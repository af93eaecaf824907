"""What a data owner allows: a small TOML file that the holder obeys, whoever asks for what."""

import math
import os
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from accountants import codec, validate
from mechanisms.experiment import Experiment
from mechanisms.experiment_file import KINDS
from mechanisms.primitives.noise import ReleaseNoise
from mechanisms.release import Contribution, ServerNoise
from mechanisms.scope import Scope, View

_FORMAT = "dp-assay/permission"
MECHANISMS = KINDS["mechanism"]
_BUDGET = {"epsilon", "delta", "relation", "unit", "view", "colluders"}


class PermissionRefusedError(ValueError):
    """Something that the owner of the data has not allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whom a holder obeys, in what, and up to which cost. All else is refused.

    Attributes:
      data: The file with the owner's records.
      target: The name of its targets.
      coordinator: Who may ask; for people.
      key: The file with the key that this coordinator has too.
      state: The folder in which the holder keeps its budget and what it knows of runs.
      mechanisms: The mechanisms that may be asked for, by their words in experiment files.
      most_clip_norm: The largest norm of a clipped contribution.
      least_noise: The smallest standard deviation of the noise that hides a message in the budget's
        view, over the clip norm.
      epsilon: What is never exceeded, over all runs.
      delta: Its δ.
      scope: About whom and against whom the budget speaks.
      most_steps: The most local steps for a message, so that nobody makes the holder compute for
        ever.
      experiment: The one experiment that is allowed, where the owner has read it. Then plain
        composition keeps the books. Otherwise whoever asks may choose parameters after a look at
        earlier answers, and a privacy filter does (it admits less).
      client: The number that the holder has in that experiment.
      trial_seed: For trials only: noise may then be a simulation's, and follows from this seed.
    """

    data: Path
    target: str
    coordinator: str
    key: Path
    state: Path
    mechanisms: tuple[str, ...]
    most_clip_norm: float
    least_noise: float
    epsilon: float
    delta: float
    scope: Scope
    most_steps: int = 100_000
    experiment: Experiment | None = None
    client: int | None = None
    trial_seed: int | None = None

    def __post_init__(self) -> None:
        for name in ("data", "key", "state"):
            validate.instance(name, getattr(self, name), Path)
        validate.text("target", self.target)
        validate.text("coordinator", self.coordinator)
        for word in validate.sequence("mechanisms", self.mechanisms, validate.text):
            validate.one_of("mechanisms", word, sorted(MECHANISMS))
        validate.positive("most_clip_norm", self.most_clip_norm)
        validate.positive("least_noise", self.least_noise)
        validate.positive("epsilon", self.epsilon)
        validate.open_unit("delta", self.delta)
        validate.instance("scope", self.scope, Scope)
        validate.count("most_steps", self.most_steps)
        if (self.experiment is None) != (self.client is None):
            raise ValueError("`experiment` and `client` must be given together, or neither.")
        if self.experiment is not None:
            validate.instance("experiment", self.experiment, Experiment)
            most = self.experiment.clients - 1
            validate.count("client", self.client, minimum=0, maximum=most)
        if self.trial_seed is not None:
            validate.count("trial_seed", self.trial_seed, minimum=0)

    @property
    def adaptive(self) -> bool:
        """Whether parameters may follow from earlier answers."""
        return self.experiment is None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Permission":
        """The permission in a TOML file; names of files in it are beside it."""
        file = validate.file_name("path", path)
        try:
            body = codec.check_values("text", tomllib.loads(file.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"`path` must be TOML, got: {error}.") from error
        body = codec.check_format(_FORMAT, body)
        budget = codec.expect(dict, "budget", body.pop("budget", None))
        known = {field.name for field in fields(cls)} - {"epsilon", "delta", "scope"}
        optional = {"experiment", "client", "trial_seed", "target", "state", "most_steps"}
        _expect("permission", body, known, known - optional)
        _expect("budget", budget, _BUDGET, {"epsilon", "delta"})
        defaults, folder = Scope(), file.parent
        body |= {"target": body.get("target", "target"), "state": body.get("state", "state")}
        for name in ("data", "key", "state"):
            body[name] = folder / validate.file_name(name, body[name])
        if "experiment" in body:
            body["experiment"] = Experiment.load(
                folder / validate.file_name("experiment", body["experiment"])
            )
        body["mechanisms"] = tuple(codec.expect(list, "mechanisms", body["mechanisms"]))
        return cls(
            **body,
            epsilon=budget["epsilon"],
            delta=budget["delta"],
            scope=Scope(
                relation=codec.decode_relation(budget.get("relation", defaults.relation.name)),
                unit=budget.get("unit", defaults.unit),
                view=View(budget.get("view", "messages"), budget.get("colluders", 0)),
            ),
        )

    def check(self, experiment: Experiment, client: int) -> None:
        """Looks whether the holder may take part as this client.

        Raises:
          PermissionRefusedError: It may not; why, and what is allowed.
        """
        validate.instance("experiment", experiment, Experiment)
        if self.experiment is not None and (experiment, client) != (self.experiment, self.client):
            raise PermissionRefusedError(
                f"`experiment` must be the one that the owner has read, as client {self.client}."
            )
        mechanism = experiment.mechanism
        allowed = {MECHANISMS[word] for word in self.mechanisms}
        if type(mechanism) not in allowed:
            raise PermissionRefusedError(
                f"`mechanism` must be one of {sorted(self.mechanisms)}, got "
                f"{type(mechanism).__name__}."
            )
        noise: Any = getattr(mechanism, "noise", None)
        if self.trial_seed is None and not isinstance(noise, ReleaseNoise):
            raise PermissionRefusedError(
                f"`noise` must be ReleaseNoise, from the operating system, got {noise!r}."
            )
        steps = _steps(experiment)
        if steps > self.most_steps:
            raise PermissionRefusedError(f"`steps` must be at most {self.most_steps}, got {steps}.")
        layout = experiment.layout
        facts = mechanism.contributions(layout)
        own = facts[validate.count("client", client, minimum=0, maximum=len(facts) - 1)]
        if own.clip_norm > self.most_clip_norm:
            raise PermissionRefusedError(
                f"`clip_norm` must be at most {self.most_clip_norm:g}, got {own.clip_norm:g}."
            )
        hidden = self._noise(own, facts, mechanism.server_noise(layout))
        if hidden < self.least_noise * own.clip_norm:
            raise PermissionRefusedError(
                f"`noise_multiplier` must be at least {self.least_noise:g} in the view "
                f"{self.scope.view}, got {hidden / own.clip_norm:g}."
            )

    def _noise(
        self, own: Contribution, facts: tuple[Contribution, ...], server: ServerNoise
    ) -> float:
        """The standard deviation of the noise in what the budget's view shows of a message."""
        if self.scope.view.kind == "messages" or not own.summed:
            return own.noise_std
        total = sum((one.weight * one.noise_std) ** 2 for one in facts) + server.noise_std**2
        return math.sqrt(total) / own.weight


def _expect(what: str, body: dict[str, Any], known: set[str], needed: set[str]) -> None:
    unknown, missing = sorted(set(body) - known), sorted(needed - set(body))
    if unknown or missing:
        raise ValueError(
            f"`{what}` must have the fields {sorted(needed)}, and may have "
            f"{sorted(known - needed)}, got no {missing} but {unknown}."
        )


def _steps(experiment: Experiment) -> int:
    """The local steps of one message, by whoever takes them."""
    solver: Any = experiment.solver
    while solver is not None and hasattr(solver, "solver"):
        solver = solver.solver
    mechanism = experiment.mechanism
    places = [(mechanism, "steps"), (mechanism, "local_steps"), (solver, "steps")]
    return max(getattr(place, name, 1) for place, name in places)

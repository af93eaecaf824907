"""The questions of the form: one for each entry of an experiment's file, and when it counts.

A field's name is its place in the file. What a value may be the experiment itself says when it is
planned: nothing here knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["text", "number", "count", "numbers", "counts", "choice", "flag"]
_WITH_SOLVER = (
    "parameter_perturbation",
    "local_averaging",
    "virtual_clients",
    "central_noise",
    "noise_splitting",
)
_WITH_MEMORY = ("parameter_perturbation", "local_averaging", "virtual_clients", "central_noise")
_WITH_AGGREGATOR = (
    "parameter_perturbation",
    "local_averaging",
    "virtual_clients",
    "federated_averaging",
)
_WITH_RULE = ("dp_optimisation", "federated_averaging")
_MECHANISM, _SAMPLING = "mechanism.kind", "mechanism.sampling.kind"
SCOPES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One question of the form.

    Attributes:
      name: Its place in the file, with dots.
      label: The question.
      kind: What the answer is.
      default: What stands there at first.
      hint: A line below it.
      choices: Values and words, of a choice.
      when: The field counts only while these others have one of these values.
      optional: Left empty, it is left out.
    """

    name: str
    label: str
    kind: Kind = "number"
    default: str = ""
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Fields that belong together."""

    title: str
    fields: tuple[Field, ...]
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()


def _of(name: str, *values: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ((name, values),)


_RULES = (("sgd", "plain steps (SGD)"), ("adagrad", "Adagrad"), ("adam", "Adam"))


def _scope(number: int) -> Section:
    at = f"scopes.{number}"
    title = f"Certificate {number + 1}"
    relations = (
        ("ADD_OR_REMOVE_ONE", "one more or less"),
        ("REPLACE_ONE", "one has other values"),
        ("REPLACE_SPECIAL", "one contributes zero"),
    )
    nothing = (("", "none: not asked"),) if number else ()
    asked = _of(f"{at}.relation", *(value for value, _ in relations))
    return Section(
        title,
        (
            Field(
                name=f"{at}.relation",
                label="Neighbours differ in",
                kind="choice",
                default="" if number == 2 else relations[number][0],
                choices=nothing + relations,
            ),
            Field(
                name=f"{at}.unit",
                label="of whom",
                kind="choice",
                default="record",
                choices=(("record", "one record"), ("client", "one client, all its records")),
                when=asked,
            ),
            Field(
                name=f"{at}.view",
                label="The adversary sees",
                kind="choice",
                default="messages",
                choices=(
                    ("messages", "every message"),
                    ("aggregate", "a trusted aggregator's sums"),
                    ("colluding", "the sums, and all that some clients know"),
                ),
                when=asked,
            ),
            Field(
                name=f"{at}.colluders",
                label="How many clients collude",
                kind="count",
                default="1",
                when=asked + _of(f"{at}.view", "colluding"),
            ),
        ),
    )


SECTIONS: tuple[Section, ...] = (
    Section(
        "Experiment",
        (
            Field(name="name", label="Name", kind="text", default="a first experiment"),
            Field(name="clients", label="Clients", kind="count", default="5"),
            Field(name="rounds", label="Rounds", kind="count", default="5"),
            Field(
                name="delta",
                label="δ of the certificates",
                default="1e-5",
                hint="Well below one over the number of records.",
            ),
        ),
    ),
    Section(
        "Model",
        (
            Field(
                name="model.kind",
                label="Model",
                kind="choice",
                default="linear_regression",
                choices=(
                    ("linear_regression", "linear regression"),
                    ("logistic_regression", "logistic regression, two classes"),
                ),
            ),
            Field(name="model.dimension", label="Inputs", kind="count", default="2"),
            Field(
                name="model.noise_std",
                label="Standard deviation of the targets' noise",
                default="1",
                when=_of("model.kind", "linear_regression"),
            ),
            Field(name="prior.variance", label="Prior variance of each weight", default="4"),
        ),
    ),
    Section(
        "Privacy",
        (
            Field(
                name=_MECHANISM,
                label="Mechanism",
                kind="choice",
                default="dp_optimisation",
                choices=(
                    ("dp_optimisation", "DP optimisation: noise on gradients"),
                    ("parameter_perturbation", "parameter perturbation: noise on the update"),
                    ("local_averaging", "local averaging over parts of the data"),
                    ("virtual_clients", "virtual clients: each part a client"),
                    ("central_noise", "central noise, by a trusted server"),
                    ("federated_averaging", "federated averaging, perturbed"),
                    ("noise_splitting", "noise split over clients (a known flaw)"),
                ),
            ),
            Field(
                name="mechanism.clip_norm", label="Clip norm C", default="2", hint="L2, per unit."
            ),
            Field(
                name="mechanism.noise_multiplier",
                label="Noise multiplier σ",
                default="4",
                hint="The noise's standard deviation is σ times C.",
            ),
            Field(
                name="mechanism.steps",
                label="Local steps a round",
                kind="count",
                default="4",
                when=_of(_MECHANISM, "dp_optimisation"),
            ),
            Field(
                name=_SAMPLING,
                label="Batches",
                kind="choice",
                default="poisson",
                choices=(
                    ("poisson", "Poisson: each record by chance"),
                    ("balls_in_bins", "balls in bins"),
                    ("fixed_size", "fixed size, anew each step"),
                    ("shuffled", "shuffled epochs"),
                    ("all", "all records"),
                ),
                when=_of(_MECHANISM, "dp_optimisation"),
            ),
            Field(
                name="mechanism.sampling.sampling_rate",
                label="Sampling rate",
                default="0.25",
                when=_of(_MECHANISM, "dp_optimisation") + _of(_SAMPLING, "poisson"),
            ),
            Field(
                name="mechanism.sampling.steps_per_epoch",
                label="Steps of an epoch",
                kind="count",
                default="4",
                when=_of(_MECHANISM, "dp_optimisation") + _of(_SAMPLING, "balls_in_bins"),
            ),
            Field(
                name="mechanism.sampling.batch_size",
                label="Records of a batch",
                kind="count",
                default="50",
                when=_of(_MECHANISM, "dp_optimisation") + _of(_SAMPLING, "fixed_size", "shuffled"),
            ),
            Field(
                name="mechanism.sampling.size",
                label="Records of each client, public",
                kind="count",
                default="200",
                when=_of(_MECHANISM, "dp_optimisation") + _of(_SAMPLING, "fixed_size", "shuffled"),
            ),
            Field(
                name="mechanism.local_steps",
                label="Local steps a round",
                kind="count",
                default="5",
                when=_of(_MECHANISM, "federated_averaging"),
            ),
            Field(
                name="mechanism.rule.kind",
                label="Steps are",
                kind="choice",
                default="sgd",
                choices=_RULES,
                when=_of(_MECHANISM, *_WITH_RULE),
            ),
            Field(
                name="mechanism.rule.learning_rate",
                label="Learning rate",
                default="0.5",
                when=_of(_MECHANISM, *_WITH_RULE),
            ),
            Field(
                name="mechanism.objective_divisor",
                label="The objective is divided by",
                default="400",
                hint="A nominal number of records per client, public.",
                when=_of(_MECHANISM, "dp_optimisation"),
            ),
            Field(
                name="mechanism.trusted_aggregator",
                label="A trusted aggregator adds the messages up, and each client adds its share "
                "of the noise",
                kind="flag",
                when=_of(_MECHANISM, *_WITH_AGGREGATOR),
            ),
            Field(
                name="mechanism.memory",
                label="A client's own factor",
                kind="choice",
                default="remembers",
                choices=(
                    ("remembers", "remembers the noise"),
                    ("forgets", "forgets the noise"),
                    ("resets", "is reset from time to time"),
                ),
                when=_of(_MECHANISM, *_WITH_MEMORY),
            ),
            Field(
                name="mechanism.reset_every",
                label="Rounds between resets",
                kind="count",
                default="1",
                when=_of(_MECHANISM, *_WITH_MEMORY) + _of("mechanism.memory", "resets"),
            ),
            Field(
                name="parts",
                label="Parts of each client's data",
                kind="count",
                default="2",
                when=_of(_MECHANISM, "local_averaging", "virtual_clients"),
            ),
            Field(
                name="assignment",
                label="Records are cut into parts",
                kind="choice",
                default="position",
                choices=(("position", "by their place in the file"),),
                when=_of(_MECHANISM, "local_averaging", "virtual_clients"),
            ),
            Field(
                name="sizes",
                label="Records of each client, public",
                kind="counts",
                default="200, 200, 200, 200, 200",
                hint="With commas between them.",
                when=_of(_MECHANISM, "federated_averaging"),
            ),
            Field(
                name="mechanism.damping",
                label="Damping",
                default="0.3",
                hint="The share of a client's change that is sent.",
                when=_of(_MECHANISM, "dp_optimisation", *_WITH_SOLVER),
            ),
            Field(
                name="mechanism.precision_floor",
                label="Least precision of a message",
                optional=True,
                hint="Keeps the posterior proper whatever the noise is.",
                when=_of(_MECHANISM, *_WITH_SOLVER),
            ),
            Field(
                name="mechanism.noise.kind",
                label="Noise from",
                kind="choice",
                default="simulation",
                choices=(
                    ("simulation", "the seed: repeatable, fit for simulation only"),
                    ("release", "the operating system, discrete"),
                ),
            ),
        ),
    ),
    Section(
        "Local solver",
        (
            Field(
                name="solver.kind",
                label="Each client solves its problem",
                kind="choice",
                default="exact",
                choices=(
                    ("exact", "exactly (linear regression)"),
                    ("gradient", "by gradient steps"),
                ),
            ),
            Field(
                name="solver.steps",
                label="Steps",
                kind="count",
                default="50",
                when=_of("solver.kind", "gradient"),
            ),
            Field(
                name="solver.rule.kind",
                label="Steps are",
                kind="choice",
                default="adam",
                choices=_RULES,
                when=_of("solver.kind", "gradient"),
            ),
            Field(
                name="solver.rule.learning_rate",
                label="Learning rate",
                default="0.05",
                when=_of("solver.kind", "gradient"),
            ),
        ),
        when=_of(_MECHANISM, *_WITH_SOLVER),
    ),
    Section(
        "Schedule",
        (
            Field(
                name="schedule.kind",
                label="In a round, clients update",
                kind="choice",
                default="synchronous",
                choices=(
                    ("synchronous", "all at once"),
                    ("sequential", "one after the other"),
                    ("asynchronous", "when they are ready"),
                ),
            ),
            Field(
                name="schedule.rates",
                label="How often each is ready",
                kind="numbers",
                default="1, 1, 1, 1, 1",
                hint="A rate per client, with commas between them.",
                when=_of("schedule.kind", "asynchronous"),
            ),
            Field(
                name="schedule.updates",
                label="Updates a round",
                kind="count",
                default="1",
                when=_of("schedule.kind", "asynchronous"),
            ),
        ),
    ),
    *(_scope(number) for number in range(SCOPES)),
)
FIELDS: Mapping[str, Field] = {field.name: field for one in SECTIONS for field in one.fields}
DEFAULTS: Mapping[str, str] = {name: field.default for name, field in FIELDS.items()}

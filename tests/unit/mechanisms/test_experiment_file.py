"""Experiments in files: what is written is read back, and nothing else is."""

import dataclasses
import json
import tomllib
import typing

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from mechanism_cases import SCOPES, experiments

from mechanisms import (
    AdaptiveClip,
    DPOptimisation,
    Experiment,
    FlatClip,
    GuardedSolver,
    LayerClip,
    NoNoise,
    ParameterPerturbation,
    Prior,
    ReleaseNoise,
    SimulationNoise,
)
from mechanisms.experiment_file import KINDS
from pvi import (
    SGD,
    Adagrad,
    Adam,
    Asynchronous,
    ExactSolver,
    GradientSolver,
    LinearRegression,
    LogisticRegression,
    Sequential,
    StackedSolver,
    Synchronous,
)

PLAIN = experiments()["perturbation"]


def variants():
    """Experiments that together use every kind of the allow-list."""
    yield from experiments(rounds=3).values()
    gradient = GradientSolver(rule=Adam(learning_rate=0.01), steps=5)
    for solver in (gradient, StackedSolver(gradient), GuardedSolver(ExactSolver())):
        yield dataclasses.replace(PLAIN, solver=solver)
    for schedule in (Synchronous(), Sequential(shuffle=True), Asynchronous(rates=(0.1, 1.0, 3.0))):
        yield dataclasses.replace(PLAIN, schedule=schedule)
    for noise in (SimulationNoise(), ReleaseNoise(), NoNoise()):
        own = ParameterPerturbation(clip_norm=0.1, noise_multiplier=1 / 3, noise=noise)
        yield dataclasses.replace(PLAIN, mechanism=own)
    clips = (
        FlatClip(clip_norm=1.5),
        LayerClip(sizes=(1, 1), clip_norms=(0.5, 2.0)),
        AdaptiveClip(initial_norm=0.3, batch_size=2, count_std=1.0),
    )
    for clip in clips:
        for rule in (SGD(learning_rate=0.5), Adagrad(learning_rate=0.1), Adam(learning_rate=1e-3)):
            own = DPOptimisation(clip_norm=clip, noise_multiplier=2.0, steps=2, rule=rule)
            yield dataclasses.replace(PLAIN, mechanism=own, solver=None)
    yield dataclasses.replace(
        PLAIN,
        model=LogisticRegression(dimension=2),
        prior=Prior(mean=(0.0, 1e-300), variance=(2.0, 1e17)),
        solver=gradient,
        scopes=tuple(SCOPES),
        name='a "name"\nof two lines, with ε',
    )


VARIANTS = list(variants())


@pytest.mark.parametrize("number", range(len(VARIANTS)))
def test_what_is_written_is_read_back(number):
    experiment = VARIANTS[number]
    assert Experiment.from_toml(experiment.to_toml()) == experiment
    assert Experiment.from_json(experiment.to_json()) == experiment


def _inside(value):
    yield type(value)
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _inside(getattr(value, field.name))


def test_every_kind_of_the_allow_list_is_tried():
    used = {kind for experiment in VARIANTS for kind in _inside(experiment)}
    assert {kind for words in KINDS.values() for kind in words.values()} <= used


@given(
    sigma=st.floats(1e-100, 1e100),
    norm=st.floats(1e-100, 1e100),
    delta=st.floats(1e-300, 1, exclude_max=True),
    name=st.text(st.characters(codec="utf-8"), max_size=20),
)
def test_numbers_and_names_survive_to_the_last_bit(sigma, norm, delta, name):
    own = ParameterPerturbation(clip_norm=norm, noise_multiplier=sigma)
    experiment = dataclasses.replace(PLAIN, mechanism=own, delta=delta, name=name)
    assert Experiment.from_toml(experiment.to_toml()) == experiment
    assert Experiment.from_json(experiment.to_json()) == experiment


def changed(*path_and_value):
    *path, last, value = path_and_value
    body = tomllib.loads(PLAIN.to_toml())
    inner = body
    for key in path:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return body


NESTED: typing.Any = {"kind": "exact"}
for _ in range(12):
    NESTED = {"kind": "guarded", "solver": NESTED}

REFUSED = {
    "another format": (changed("format", "dp-assay/budget"), "format"),
    "a later version": (changed("version", 99), "version"),
    "no format": (changed("format", None), "format"),
    "unknown field": (changed("colour", "red"), "colour"),
    "unknown field inside": (changed("mechanism", "sigma", 1.0), "sigma"),
    "missing field": (changed("mechanism", "clip_norm", None), "clip_norm"),
    "missing rounds": (changed("rounds", None), "rounds"),
    "unknown kind": (changed("mechanism", "kind", "os.system"), "kind"),
    "kind of another role": (changed("mechanism", "kind", "exact"), "kind"),
    "kind that is no text": (changed("mechanism", "kind", 3), "kind"),
    "no kind": (changed("mechanism", "kind", None), "kind"),
    "table for a number": (changed("rounds", {"kind": "exact"}), "rounds"),
    "text for a number": (changed("rounds", "3"), "rounds"),
    "truth for a number": (changed("rounds", True), "rounds"),
    "number for a truth": (
        changed("schedule", {"kind": "sequential", "shuffle": 1}),
        "shuffle",
    ),
    "text for a table": (changed("mechanism", "parameter_perturbation"), "mechanism"),
    "number for a table": (changed("model", 1), "model"),
    "list for a table": (changed("prior", [1.0]), "prior"),
    "unknown relation": (changed("scopes", [{"relation": "SIMILAR"}]), "SIMILAR"),
    "unknown view": (changed("scopes", [{"view": "all"}]), "all"),
    "unknown unit": (changed("scopes", [{"unit": "planet"}]), "planet"),
    "unknown field of a scope": (changed("scopes", [{"who": "me"}]), "who"),
    "scope that is no table": (changed("scopes", ["messages"]), "scopes"),
    "one scope without a list": (changed("scopes", {"unit": "record"}), "scopes"),
    "colluders as text": (changed("scopes", [{"view": "colluding", "colluders": "1"}]), "collud"),
    "nested too deep": (changed("solver", NESTED), "nested"),
    "out of range": (changed("delta", 1.5), "delta"),
    "infinite noise": (
        changed("mechanism", "noise_multiplier", float("inf")),
        "finite numbers only, got inf",
    ),
    "too large to be a float": (
        changed("mechanism", "clip_norm", 10**400),
        "clip_norm|floats can reach",
    ),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_refused(name):
    body, message = REFUSED[name]
    for read, text in (
        (Experiment.from_toml, tomli_w.dumps(body)),
        (Experiment.from_json, json.dumps(body)),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            read(text)


@pytest.mark.parametrize("text", ["", "[[[", "{", "null", "[]", '"text"', "3", "a = 1\na = 2"])
def test_texts_that_hold_no_experiment(text):
    for read in (Experiment.from_toml, Experiment.from_json):
        with pytest.raises(ValueError, match=r"must"):
            read(text)


def test_a_kind_of_ones_own_is_not_written():
    class Own(ParameterPerturbation):
        pass

    experiment = dataclasses.replace(PLAIN, mechanism=Own(clip_norm=1.0, noise_multiplier=1.0))
    with pytest.raises(ValueError, match="to be written"):
        experiment.to_toml()


def test_files_are_read_by_their_ending(tmp_path):
    for ending, text in (("toml", PLAIN.to_toml()), ("json", PLAIN.to_json())):
        file = tmp_path / f"experiment.{ending}"
        file.write_text(text, encoding="utf-8")
        assert Experiment.load(file) == PLAIN
    with pytest.raises(ValueError, match="must end in"):
        Experiment.load(tmp_path / "experiment.yaml")
    with pytest.raises(FileNotFoundError):
        Experiment.load(tmp_path / "missing.toml")


def test_models_are_in_the_file():
    written = tomllib.loads(PLAIN.to_toml())
    assert written["model"] == {"kind": "linear_regression", "dimension": 1, "noise_std": 1.0}
    assert isinstance(PLAIN.model, LinearRegression)

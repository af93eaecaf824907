"""The form: each choice writes a file that is an experiment, and nothing else gets into it."""

import itertools
import tomllib

import pytest

from audits.dashboard import form
from audits.dashboard.fields import DEFAULTS, FIELDS
from audits.dashboard.form import FormError, to_toml
from mechanisms import Experiment
from mechanisms.experiment_file import KINDS

MECHANISMS = [value for value, _ in FIELDS["mechanism.kind"].choices]


def experiment(**changes):
    return Experiment.from_toml(to_toml(DEFAULTS | changes))


def test_the_form_as_it_is_first_shown_is_an_experiment():
    found = experiment()
    assert (found.clients, found.rounds, found.delta) == (5, 5, 1e-5)
    assert [str(scope) for scope in found.scopes] == [
        "record, ADD_OR_REMOVE_ONE, messages",
        "record, REPLACE_ONE, messages",
    ]


def test_every_mechanism_that_a_file_may_name_can_be_chosen():
    assert set(MECHANISMS) == set(KINDS["mechanism"])
    assert {v for v, _ in FIELDS["mechanism.sampling.kind"].choices} == set(KINDS["sampling"])
    assert {v for v, _ in FIELDS["schedule.kind"].choices} == set(KINDS["schedule"])
    assert {v for v, _ in FIELDS["model.kind"].choices} == set(KINDS["model"])
    assert {v for v, _ in FIELDS["mechanism.rule.kind"].choices} == set(KINDS["rule"])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_combination_of_choices_is_an_experiment(mechanism):
    names = ("schedule.kind", "solver.kind", "mechanism.sampling.kind", "mechanism.memory")
    choices = [[value for value, _ in FIELDS[name].choices] for name in names]
    for chosen in itertools.product(*choices):
        found = experiment(**{"mechanism.kind": mechanism}, **dict(zip(names, chosen, strict=True)))
        assert type(found.mechanism) is KINDS["mechanism"][mechanism]


def test_what_was_typed_is_what_the_file_says():
    found = experiment(
        **{
            "name": 'a "quoted" name\n[mechanism]',
            "mechanism.noise_multiplier": " 7.25 ",
            "schedule.kind": "asynchronous",
            "schedule.rates": "1, 2;3,0.5, 1,",
            "scopes.1.relation": "",
            "scopes.2.relation": "REPLACE_SPECIAL",
            "scopes.2.unit": "client",
            "scopes.2.view": "colluding",
            "scopes.2.colluders": "2",
        }
    )
    assert found.name == 'a "quoted" name\n[mechanism]'
    assert found.mechanism.noise_multiplier == 7.25
    assert found.schedule.rates == (1.0, 2.0, 3.0, 0.5, 1.0)
    assert [str(scope) for scope in found.scopes][1:] == ["client, REPLACE_SPECIAL, colluding(2)"]


def test_fields_of_other_choices_and_unknown_ones_are_left_out():
    text = to_toml(DEFAULTS | {"mechanism.memory": "nonsense", "mechanism.evil": "1", "sizes": "x"})
    body = tomllib.loads(text)
    assert "memory" not in body["mechanism"]
    assert "evil" not in body["mechanism"]
    assert "sizes" not in body


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("clients", "five", "whole number"),
        ("clients", "", "whole number"),
        ("clients", "1" * 5000, "whole number"),
        ("delta", "1e-5x", "a finite number"),
        ("delta", "nan", "a finite number"),
        ("prior.variance", "-inf", "a finite number"),
        ("mechanism.kind", "os.system", "one of dp_optimisation"),
        ("scopes.0.relation", "EVIL", "one of ADD_OR_REMOVE_ONE"),
    ],
)
def test_what_no_field_can_hold_is_refused_by_its_name(name, text, words):
    with pytest.raises(FormError, match=rf"`{name}` must be .*{words}"):
        to_toml(DEFAULTS | {name: text})


@pytest.mark.parametrize("name", ["delta", "mechanism.clip_norm", "prior.variance"])
@pytest.mark.parametrize("text", ["-1", "0"])
def test_numbers_that_no_experiment_has_are_refused_by_the_experiment(name, text):
    with pytest.raises(ValueError, match=rf"`{name.split('.')[-1]}`") as refused:
        experiment(**{name: text})
    assert form.named_in(str(refused.value), DEFAULTS) == name


def test_a_choice_hides_exactly_the_fields_that_it_leaves_out():
    """The style sheet and the file follow the same conditions."""
    rules = form.hiding_rules()
    for field in FIELDS.values():
        for other, allowed in field.when:
            for value, _ in FIELDS[other].choices:
                hidden = (
                    f'form:has([name="{other}"] option[value="{value}"]:checked) '
                    f'[data-when~="{form.condition(other, allowed)}"]'
                )
                assert (hidden in rules) is (value not in allowed)

"""A transcript's public JSON is read back for its cost, and nothing else is taken for one."""

import json

import pytest

from mechanisms import Layout, ParameterPerturbation, Scope, certify
from mechanisms.transcript_file import from_public_json, public_json

PLAN = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0).plan(Layout(clients=2), rounds=3)


def document():
    return json.loads(public_json(PLAN, [Scope()]))


def test_what_is_read_costs_what_was_written():
    found = from_public_json(json.dumps(document()))
    assert certify(found, Scope(), [1e-5]).points == certify(PLAN, Scope(), [1e-5]).points


def _changed(**changes):
    return document() | changes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps(_changed(version=2)),
        json.dumps(_changed(more=1)),
        json.dumps(_changed(sources=1)),
        json.dumps(_changed(sources=[])),
        json.dumps(_changed(sources=[{"type": "os.system"}])),
        json.dumps(_changed(releases=[1])),
        json.dumps(_changed(releases=[document()["releases"][0] | {"sender": 7}])),
        json.dumps(_changed(releases=[document()["releases"][0] | {"source": -1}])),
        json.dumps(_changed(releases=[document()["releases"][0] | {"source": 1.5}])),
        json.dumps(_changed(releases=[document()["releases"][0] | {"group": 9}])),
        json.dumps(_changed(releases=[document()["releases"][0] | {"round": "1"}])),
        json.dumps(_changed(releases=[{"round": 1}])),
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises((ValueError, TypeError)):
        from_public_json(text)

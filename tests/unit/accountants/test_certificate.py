import json
import math
from importlib import resources

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import Bounds, Certificate, FourierAccountant, RenyiAccountant, seals


def make(**changes) -> Certificate:
    fields = {
        "event": dpa.GaussianDpEvent(1.0),
        "neighboring_relation": NeighboringRelation.REPLACE_ONE,
        "points": ((1e-5, 1.0, 2.0), (1e-6, 1.5, math.inf)),
        "method": "by hand",
        "assumptions": ("none",),
    }
    return Certificate(**(fields | changes))


def test_round_trip_keeps_everything_including_infinity():
    certificate = make()
    again = Certificate.from_json(certificate.to_json())
    assert again == certificate
    assert again.bounds(1e-6) == Bounds(1.5, math.inf)
    assert "Infinity" not in certificate.to_json()
    assert dict(again.versions).keys() == {"dp-accounting", "dp-assay", "numpy", "scipy"}


def test_bounds_of_an_unrecorded_delta():
    with pytest.raises(ValueError, match=r"`delta` must be one of those recorded, .*, got 0\.1"):
        make().bounds(0.1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"points": ()}, "`points` must hold at least one"),
        ({"points": ((0.0, 1.0, 2.0),)}, "`delta` must be"),
        ({"points": ((1e-5, 2.0, 1.0),)}, "0 <= lower <= upper"),
        ({"points": ((1e-5, -1.0, 1.0),)}, "0 <= lower <= upper"),
        ({"points": ((1e-5, 0.0, math.nan),)}, "`points` must be a finite number"),
        ({"neighboring_relation": "REPLACE_ONE"}, "`neighboring_relation` must be"),
    ],
)
def test_impossible_certificates_are_refused(changes, reason):
    with pytest.raises((ValueError, TypeError), match=reason):
        make(**changes)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("format", "other", "`format`, `version` must be"),
        ("neighboring_relation", "SOMETHING", "`neighboring_relation` must be one of"),
        ("points", [[1e-5, 1.0]], r"\(delta, lower, upper\)"),
        ("method", 3, "`method` must be a str"),
        ("versions", [], "`versions` must be a dict"),
        ("event", {"type": "os.system"}, "`type` must be one of"),
        ("surplus", 1, "must have the fields"),
        ("unit", "house", "`unit` must be one of"),
        ("date", "yesterday", "`date` must be a day"),
        ("tolerance", 2.0, "`tolerance` must be in"),
        ("version", 3, "`format`, `version` must be"),
        ("sampling", [], "`sampling` must hold at least one"),
    ],
)
def test_tampered_documents_are_refused(key, value, reason):
    body = json.loads(make().to_json()) | {key: value}
    if key not in ("format", "version"):  # an edit alone is noticed by the checksum
        with pytest.raises(ValueError, match="its sha256 is another content's"):
            Certificate.from_json(json.dumps(body))
    with pytest.raises(ValueError, match=reason):
        Certificate.from_json(json.dumps(seals.sealed(body)))


def test_a_certificate_describes_its_ledger():
    accountant = RenyiAccountant().compose(dpa.GaussianDpEvent(1.0), 3)
    certificate = accountant.certify([1e-5])
    assert RenyiAccountant().compose(certificate.event).get_epsilon_bounds(1e-5) == (
        certificate.bounds(1e-5)
    )


def test_a_file_of_format_1_is_still_read():
    body = json.loads(make().to_json())
    new = ("unit", "engine", "tolerance", "sampling", "noise_multiplier", "date", "sha256")
    old = {key: value for key, value in body.items() if key not in new} | {"version": 1}
    old = Certificate.from_json(json.dumps(old))
    assert old.date == ""
    assert old.points == make().points
    assert old.sampling == make().sampling


def test_the_file_says_what_is_most_often_false():
    step = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.0))
    certificate = FourierAccountant(tolerance=1e-7).compose(step, 1000).certify([1e-5])
    body = json.loads(certificate.to_json())
    assert body["sampling"][0].startswith("Poisson sampling")
    assert "divided by C" in body["noise_multiplier"]
    assert (body["engine"], body["tolerance"], body["unit"]) == ("contour", 1e-7, "record")


def test_the_schema_describes_the_file():
    jsonschema = pytest.importorskip("jsonschema")
    text = resources.files("accountants").joinpath("certificate.schema.json").read_text("utf-8")
    validator = jsonschema.Draft202012Validator(json.loads(text))
    body = json.loads(make().to_json())
    validator.validate(body)
    for key in body:
        assert not validator.is_valid({k: v for k, v in body.items() if k != key})
    assert not validator.is_valid(body | {"points": [[1e-5, -1.0, 2.0]]})


@pytest.mark.parametrize("slip", [1e-5, 1])
def test_a_single_delta_is_refused_with_what_was_meant(slip):
    accountant = FourierAccountant().compose(dpa.GaussianDpEvent(1.0))
    with pytest.raises(TypeError, match=rf"Did you mean \[{slip!r}\]\?"):
        accountant.certify(slip)

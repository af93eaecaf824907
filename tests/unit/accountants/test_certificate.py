import json
import math

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import Bounds, Certificate, RenyiAccountant


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
    ],
)
def test_tampered_documents_are_refused(key, value, reason):
    body = json.loads(make().to_json()) | {key: value}
    with pytest.raises(ValueError, match=reason):
        Certificate.from_json(json.dumps(body))


def test_a_certificate_describes_its_ledger():
    accountant = RenyiAccountant().compose(dpa.GaussianDpEvent(1.0), 3)
    certificate = accountant.certify([1e-5])
    assert RenyiAccountant().compose(certificate.event).get_epsilon_bounds(1e-5) == (
        certificate.bounds(1e-5)
    )

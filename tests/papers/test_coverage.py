"""What of the papers is here: it names what exists, and all that exists is named."""

from pathlib import Path

import pytest

from audits.papers import CLAIMS
from audits.papers.coverage import Item, coverage
from audits.papers.studies import STUDIES

ROOT = Path(__file__).parents[2]
ITEMS = coverage()


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"{item.paper}, {item.place}")
def test_what_is_named_exists(item):
    assert [path for path in item.where if not (ROOT / path).exists()] == []
    assert set(item.claims) <= set(CLAIMS)
    assert set(item.studies) <= set(STUDIES)
    assert {CLAIMS[name].paper for name in item.claims} <= {item.paper, "Thesis"}
    assert item.how != "faithful" or item.where or item.claims or item.studies


def test_each_entry_and_each_study_is_about_something_of_a_paper():
    assert {name for item in ITEMS for name in item.claims} == set(CLAIMS)
    assert {name for item in ITEMS for name in item.studies} == set(STUDIES)


def test_a_place_is_there_once():
    places = [(item.paper, item.place, item.what) for item in ITEMS]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"how": "missing"}, "`how` must be one of faithful"),
        ({"paper": "Nobody"}, "`paper` must be one of Workshop"),
        ({"how": "open"}, "`words` must be given unless"),
        ({"words": "but"}, "`words` must be given unless"),
    ],
)
def test_an_item_without_its_reason_is_refused(change, named):
    whole = {"paper": "TUM", "place": "Fig. 0", "what": "a thing", "how": "faithful"}
    Item(**whole)
    with pytest.raises(ValueError, match=named):
        Item(**whole | change)

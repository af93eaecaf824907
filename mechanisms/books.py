"""What a budget allows and what has been spent of it, as values and as a file's text."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import dp_accounting as dpa

from accountants import CombinedFilter, GaussianFilter, RenyiFilter, codec, validate
from accountants.filters import PrivacyFilter
from mechanisms.projection import add_entry
from mechanisms.scope import Scope, View

# With the kind of filter in it; all budgets that the format before could hold are written in it,
# where `adaptive` meant a Rényi filter.
_FORMAT, _FORMAT_BEFORE = "dp-assay/budget-3", "dp-assay/budget-2"
FILTERS: Mapping[str, type[PrivacyFilter]] = {
    "combined": CombinedFilter,
    "gaussian": GaussianFilter,
    "renyi": RenyiFilter,
}
"""What can keep the books of adaptive parameters."""
_FIELDS = {
    "target_epsilon",
    "delta",
    "relation",
    "unit",
    "view",
    "limits",
    "adaptive",
    "identity",
    "generation",
    "spent",
    "distances",
    "receipts",
    "checksum",
}


class BudgetFileError(ValueError):
    """A budget's file that is damaged, gone, another budget's, or older than what was seen."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Releases that are paid for before they are made.

    Attributes:
      client: Whose.
      event: What is released each time.
      count: How often.
      distance: How far discrete noise is from the continuous one that the event stands for, in
        total variation over all of these releases; see `discrete_gaussian`.
    """

    client: int
    event: dpa.DpEvent
    count: int = 1
    distance: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "client", validate.count("client", self.client, minimum=0))
        object.__setattr__(self, "count", validate.count("count", self.count))
        validate.instance("event", self.event, dpa.DpEvent)
        object.__setattr__(self, "distance", validate.closed_unit("distance", self.distance))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a budget allows; it never changes. See `Budget`."""

    target_epsilon: float
    delta: float
    scope: Scope = field(default_factory=Scope)
    limits: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    adaptive: bool = False
    filter_kind: str | None = None

    def __post_init__(self) -> None:
        validate.positive("target_epsilon", self.target_epsilon)
        validate.open_unit("delta", self.delta)
        validate.instance("scope", self.scope, Scope)
        if validate.flag("adaptive", self.adaptive):
            kind = "combined" if self.filter_kind is None else self.filter_kind
            object.__setattr__(
                self, "filter_kind", validate.one_of("filter_kind", kind, list(FILTERS))
            )
        elif self.filter_kind is not None:
            raise validate.refusal("filter_kind", "left out unless adaptive", self.filter_kind)
        own = validate.mapping("limits", self.limits)
        object.__setattr__(self, "limits", dict(_own_limit(*entry) for entry in own.items()))

    def limit(self, client: int) -> tuple[float, float]:
        """The client's (ε, δ)."""
        return self.limits.get(client, (self.target_epsilon, self.delta))


def _own_limit(client: Any, limit: Any) -> tuple[int, tuple[float, float]]:
    pair: tuple[Any, ...] = validate.sequence("limits", limit)
    if len(pair) != 2:
        raise validate.refusal("limits", "(ε, δ) of single clients", limit)
    return (
        validate.count("limits", client, minimum=0),
        (validate.positive("limits", pair[0]), validate.open_unit("limits", pair[1])),
    )


Ledger = tuple[tuple[dpa.DpEvent, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """What has been spent. Later books include earlier ones.

    Attributes:
      identity: A random name, given once.
      generation: How often something was booked.
      spent: For each client, events with counts.
      distances: For each client, the total variation of its discrete noise.
      receipts: For each payer, how often it booked for which clients together.
    """

    identity: str
    generation: int = 0
    spent: Mapping[int, Ledger] = field(default_factory=dict)
    distances: Mapping[int, float] = field(default_factory=dict)
    receipts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def ledger(self, client: int) -> Ledger:
        """What the client has spent."""
        return self.spent.get(client, ())

    def distance(self, client: int) -> float:
        """How far the client's discrete noise is from the one that is accounted for."""
        return self.distances.get(client, 0.0)

    def plus(self, charge: Charge) -> "Books":
        """The books with a charge more, of the same generation."""
        client = charge.client
        entries = list(self.ledger(client))
        add_entry(entries, charge.event, charge.count)
        distances = dict(self.distances)
        if charge.distance:
            distances[client] = min(1.0, self.distance(client) + charge.distance)
        return replace(self, spent={**self.spent, client: tuple(entries)}, distances=distances)

    def signed(self, payer: str, clients: Sequence[int]) -> "Books":
        """The next generation, with the payer's receipt."""
        own = dict(self.receipts.get(payer, {}))
        group = receipt(clients)
        own[group] = own.get(group, 0) + 1
        receipts = {**self.receipts, payer: own}
        return replace(self, generation=self.generation + 1, receipts=receipts)

    def includes(self, earlier: "Books") -> bool:
        """Whether nothing of the earlier books is missing here."""
        if self.identity != earlier.identity or self.generation < earlier.generation:
            return False
        if self.generation == earlier.generation:
            return _encode(self) == _encode(earlier)
        return all(
            self.receipts.get(payer, {}).get(group, 0) >= times
            for payer, groups in earlier.receipts.items()
            for group, times in groups.items()
        )


def receipt(clients: Sequence[int]) -> str:
    """The name of a group of clients that are paid for together."""
    return ",".join(str(client) for client in sorted(clients))


def to_json(terms: Terms, books: Books) -> str:
    """Terms and books as versioned JSON under a checksum."""
    body = {
        "target_epsilon": terms.target_epsilon,
        "delta": terms.delta,
        "relation": terms.scope.relation.name,
        "unit": terms.scope.unit,
        "view": [terms.scope.view.kind, terms.scope.view.colluders],
        "limits": {str(client): list(pair) for client, pair in terms.limits.items()},
        "adaptive": terms.adaptive,
    } | _encode(books)
    kind = _FORMAT_BEFORE
    if terms.filter_kind not in (None, "renyi"):
        kind, body = _FORMAT, body | {"filter": terms.filter_kind}
    return codec.dump_document(kind, body | {"checksum": _checksum(body)})


def _encode(books: Books) -> dict[str, Any]:
    return {
        "identity": books.identity,
        "generation": books.generation,
        "spent": {
            str(client): [[codec.encode_event(event), count] for event, count in entries]
            for client, entries in books.spent.items()
        },
        "distances": {str(client): far for client, far in books.distances.items()},
        "receipts": {payer: dict(groups) for payer, groups in books.receipts.items()},
    }


def from_json(text: str | bytes) -> tuple[Terms, Books]:
    """What `to_json` was given.

    Raises:
      BudgetFileError: The text is anything else.
    """
    try:
        return _from_json(text if isinstance(text, str) else text.decode("utf-8"))
    except BudgetFileError:
        raise
    except Exception as error:
        raise BudgetFileError(f"a budget must be one that `to_json` wrote, got: {error}") from error


def _from_json(text: str) -> tuple[Terms, Books]:
    document = codec.read_json(text)
    before = isinstance(document, dict) and document.get("format") == _FORMAT_BEFORE
    body = codec.check_format(_FORMAT_BEFORE if before else _FORMAT, document)
    codec.expect_keys("budget", body, _FIELDS if before else _FIELDS | {"filter"})
    if body.pop("checksum") != _checksum(body):
        raise BudgetFileError("a budget's checksum must be that of its content: it is damaged")
    kind, colluders = codec.expect(list, "view", body["view"])
    limits: dict[str, Any] = codec.expect(dict, "limits", body["limits"])
    terms = Terms(
        target_epsilon=body["target_epsilon"],
        delta=body["delta"],
        scope=Scope(
            relation=codec.decode_relation(body["relation"]),
            unit=body["unit"],
            view=View(kind, colluders),
        ),
        limits={int(client): (pair[0], pair[1]) for client, pair in limits.items()},
        adaptive=codec.expect(bool, "adaptive", body["adaptive"]),
        filter_kind=_filter_kind(body),
    )
    books = Books(
        identity=codec.expect(str, "identity", body["identity"]),
        generation=validate.count("generation", body["generation"], minimum=0),
        spent={
            validate.count("client", int(client), minimum=0): tuple(
                (codec.decode_event(event), validate.count("count", count))
                for event, count in entries
            )
            for client, entries in body["spent"].items()
        },
        distances={
            int(client): validate.non_negative("distances", distance)
            for client, distance in body["distances"].items()
        },
        receipts={
            payer: {group: validate.count("receipts", times) for group, times in groups.items()}
            for payer, groups in body["receipts"].items()
        },
    )
    return terms, books


def _filter_kind(body: Mapping[str, Any]) -> str | None:
    """The filter in a file's body; in the format before it was the Rényi filter."""
    if "filter" in body:
        return codec.expect(str, "filter", body["filter"])
    return "renyi" if body["adaptive"] else None


def _checksum(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()

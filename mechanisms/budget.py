"""A limit that is never exceeded: the cost is checked, and written down, before an update is made.

The Workshop's rule stops a client once its budget *is* exceeded (section 3): the last update has
been paid for by then, whatever it cost. Here an update that does not fit is not made.

Two ways to count. With parameters fixed in advance, what may be spent is known beforehand and plain
composition applies (`FourierAccountant`). If parameters are chosen after a look at earlier releases
(`adaptive=True`), a filter keeps the books instead (`accountants.filters`), one that is chosen when
the budget is made and never changes.
"""

import math
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import dp_accounting as dpa

from accountants import FourierAccountant, validate
from mechanisms import books as bookkeeping
from mechanisms.book_store import FileStore, MemoryStore, Store
from mechanisms.books import FILTERS, Books, BudgetFileError, Charge, Ledger, Terms
from mechanisms.primitives.discrete_gaussian import delta_slack
from mechanisms.primitives.sampling import repeated
from mechanisms.projection import SLACK_SHARE, bounds_with_slack
from mechanisms.scope import Scope


class BudgetExceededError(ValueError):
    """An update that would take a client beyond its limit."""


class Budget:
    """Per client, an (ε, δ) that its releases together never exceed.

    **Concurrent use.** Threads may share a budget. Processes may share one by its file, each with a
    `Budget.load` of its own: every booking takes a lock (`flock` on `NAME.lock`, one machine, a
    local file system), reads the file again, checks, and returns once the new file is on the disk.
    What was granted is in the file, also after `kill -9` or a power cut; what was booked by a
    process that died before it could say so stays booked, though nothing may have been released. A
    budget without a file belongs to the process that made it: another one's bookings are refused,
    and copies are.

    **Going back.** Books only grow. A file that lacks what this object, the lock's mark or a saved
    run has seen in it is refused. Not to be seen: a file put back together with its lock and
    everything else that remembers, and a copy under another name, which is a budget of its own.

    Args:
      target_epsilon: The ε of every client that `limits` does not name.
      delta: Its δ.
      scope: About whom and against whom; see `Scope`.
      limits: (ε, δ) of single clients.
      adaptive: Whether parameters may depend on earlier releases.
      filter_kind: Which filter then keeps the books: "gaussian" (exact, refuses all but plain
        Gaussians), "renyi" (anything that has Rényi divergences), or by default "combined" (both,
        with half of δ each: a little less than the better of the two admits).
      path: A file that is rewritten before `spend` returns, so that a run that dies after an
        update has still paid for it. `Budget.load` reads it. Must not exist yet.

    >>> budget = Budget(target_epsilon=5.0, delta=1e-5)
    >>> budget.spend(0, dpa.GaussianDpEvent(1.0))
    >>> budget.admits(0, dpa.GaussianDpEvent(1.0)), budget.admits(1, dpa.GaussianDpEvent(1.0))
    (False, True)
    """

    def __init__(
        self,
        *,
        target_epsilon: float,
        delta: float,
        scope: Scope | None = None,
        limits: Mapping[int, tuple[float, float]] | None = None,
        adaptive: bool = False,
        filter_kind: str | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        terms = Terms(
            target_epsilon=validate.positive("target_epsilon", target_epsilon),
            delta=validate.open_unit("delta", delta),
            scope=Scope() if scope is None else scope,
            limits={} if limits is None else limits,
            adaptive=adaptive,
            filter_kind=filter_kind,
        )
        books = Books(identity=secrets.token_hex(16))
        self._keep(terms, MemoryStore(books) if path is None else FileStore.new(path, terms, books))

    def _keep(self, terms: Terms, store: Store) -> None:
        self._terms = terms
        self._store = store
        self._payer = secrets.token_hex(8)

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        return self._store.path

    @property
    def target_epsilon(self) -> float:
        """The ε of every client that `limits` does not name."""
        return self._terms.target_epsilon

    @property
    def delta(self) -> float:
        """Its δ."""
        return self._terms.delta

    @property
    def scope(self) -> Scope:
        """About whom and against whom."""
        return self._terms.scope

    @property
    def limits(self) -> dict[int, tuple[float, float]]:
        """(ε, δ) of single clients."""
        return dict(self._terms.limits)

    @property
    def adaptive(self) -> bool:
        """Whether parameters may depend on earlier releases."""
        return self._terms.adaptive

    @property
    def filter_kind(self) -> str | None:
        """Which filter keeps the books if they may; None if not."""
        return self._terms.filter_kind

    @property
    def terms(self) -> Terms:
        """All that is allowed."""
        return self._terms

    @property
    def books(self) -> Books:
        """All that has been spent, by anyone who shares the budget."""
        return self._store.read()

    def limit(self, client: int) -> tuple[float, float]:
        """The client's (ε, δ)."""
        return self._terms.limit(_client(client))

    def ledger(self, client: int) -> Ledger:
        """What the client has spent: events with counts."""
        return self.books.ledger(_client(client))

    def epsilon_upper(self, client: int) -> float:
        """An upper bound of what the client has spent, at its δ."""
        return _epsilon(self._terms, self.books, _client(client))

    def admits(
        self, client: int, event: dpa.DpEvent, count: int = 1, *, distance: float = 0.0
    ) -> bool:
        """Whether `count` more releases of `event` fit at this moment; nothing changes.

        Args:
          client: Whose.
          event: What would be released each time.
          count: How often.
          distance: How far discrete noise is from the continuous one that the event stands for, in
            total variation over all of these releases; see `discrete_gaussian`.
        """
        charge = Charge(client, event, count, distance)
        return not self._over(self.books.plus(charge), [charge.client])

    def spend(
        self, client: int, event: dpa.DpEvent, count: int = 1, *, distance: float = 0.0
    ) -> None:
        """Books the releases; call it before they are made. The arguments are those of `admits`.

        Raises:
          BudgetExceededError: They do not fit; nothing is booked.
          BudgetFileError: The file is not what it was; nothing is booked.
        """
        if self.book([Charge(client, event, count, distance)]):
            epsilon, delta = self.limit(client)
            raise BudgetExceededError(
                f"`event` must fit client {client}'s budget (epsilon={epsilon}, delta={delta}), of "
                f"which {self.epsilon_upper(client):.6g} is spent, got {event} x {count}."
            )

    def book(self, charges: Sequence[Charge], *, payer: str | None = None) -> frozenset[int]:
        """Books all of the charges in one step, or none.

        Args:
          charges: One for each of the clients that release together.
          payer: Under whose name the receipt is kept; this object's own if not given.

        Returns:
          The clients that cannot pay; if there are none, all is booked.
        """
        charges = validate.sequence("charges", charges, _charge)
        payer = self._payer if payer is None else validate.text("payer", payer)
        clients = [charge.client for charge in charges]
        with self._store.alone() as keep:
            books = self._store.read()
            for charge in charges:
                books = books.plus(charge)
            over = self._over(books, clients)
            if charges and not over:
                keep(books.signed(payer, clients))
        return over

    def adopt(self, books: Books) -> None:
        """Begins where saved books end. Only for a budget without a file that is untouched.

        Raises:
          BudgetFileError: Something would be forgotten.
        """
        with self._store.alone() as keep:
            if self.path is not None or self._store.read().generation:
                raise BudgetFileError("only an unused budget without a file can take over books")
            keep(books)

    def _over(self, books: Books, clients: Sequence[int]) -> frozenset[int]:
        return frozenset(m for m in clients if _epsilon(self._terms, books, m) > self.limit(m)[0])

    def to_json(self) -> str:
        """The limits and all that has been spent, as versioned JSON under a checksum."""
        return bookkeeping.to_json(self._terms, self.books)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """A budget without a file, from what `to_json` wrote.

        Raises:
          BudgetFileError: The text is anything else.
        """
        if not isinstance(text, bytes):  # of a file as it is, which may not be UTF-8
            validate.text("text", text)
        terms, books = bookkeeping.from_json(text)
        budget = cls.__new__(cls)
        budget._keep(terms, MemoryStore(books))
        return budget

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Resumes the budget in the file, and goes on writing there.

        Raises:
          BudgetFileError: The file is damaged, or older than its lock remembers.
        """
        store = FileStore.open(path)
        budget = cls.__new__(cls)
        budget._keep(store.terms, store)
        return budget

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets a budget of the same file; without one there is nothing to share."""
        if self.path is None:
            raise TypeError(
                "a Budget without a `path` cannot be copied: each copy would grant all that is left"
            )
        return type(self).load, (self.path,)


def _client(client: Any) -> int:
    return validate.count("client", client, minimum=0)


def _charge(name: str, value: Any) -> Charge:
    return validate.instance(name, value, Charge)


def _epsilon(terms: Terms, books: Books, client: int) -> float:
    """An upper bound of the client's ε in the books; infinite where it cannot be admitted."""
    entries, distance = books.ledger(client), books.distance(client)
    if not entries:
        return 0.0
    epsilon, delta = terms.limit(client)
    if terms.filter_kind is not None:
        # A part of δ is set aside beforehand, so that the filter's own never changes.
        reserve = SLACK_SHARE * delta
        filtered = FILTERS[terms.filter_kind](
            target_epsilon=epsilon,
            delta=delta - reserve,
            neighboring_relation=terms.scope.relation,
        )
        total = dpa.ComposedDpEvent([repeated(event, count) for event, count in entries])
        if not filtered.admits(total) or delta_slack(epsilon, distance) > reserve:
            return math.inf
        filtered.spend(total)
        return filtered.epsilon_upper
    accountant = FourierAccountant(terms.scope.relation)
    for event, count in entries:
        accountant.compose(event, count)
    try:
        return float(bounds_with_slack(accountant, delta, distance).upper)
    except dpa.UnsupportedEventError:  # the grid is too coarse for this δ
        return math.inf

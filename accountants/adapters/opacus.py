"""Our accountant in Opacus's place, and what its loaders really do; needs opacus.

`register()` adds it to Opacus's registry, so that `PrivacyEngine(accountant="dp-assay")` uses it.
Opacus tells an accountant noise multiplier, rate and steps, and takes Poisson sampling for granted.
Whether the loader does that is looked at here: `describe_loader`, `training_event`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
from dp_accounting import NeighboringRelation
from opacus.accountants import IAccountant, register_accountant
from opacus.utils.uniform_sampler import (
    DistributedUniformWithReplacementSampler,
    UniformWithReplacementSampler,
)
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    WeightedRandomSampler,
)

from accountants import validate
from accountants.adapters.history import Row, history_event, rows_of
from accountants.bounds import Bounds
from accountants.certificate import Certificate
from accountants.events import ShuffledDpEvent
from accountants.fourier.accountant import FourierAccountant

NAME = "dp-assay"
_CLOSE = 1e-9
_ADD, _REPLACE, _ZERO = NeighboringRelation


class CertifiedAccountant(IAccountant):  # type: ignore[misc]
    """An Opacus accountant whose ε is the proved upper end of our interval.

    As all of Opacus's it answers for Poisson sampling and one record more or less; what its loader
    does, `training_event` says. `get_epsilon_bounds` gives both ends.

    >>> accountant = CertifiedAccountant()
    >>> for _ in range(1000):
    ...     accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    >>> round(accountant.get_epsilon(1e-5), 4)  # as dp-accounting's PLD accountant has it
    1.8282
    """

    def __init__(self) -> None:
        self.history: list[Row] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Adds one step."""
        noise = validate.positive("noise_multiplier", noise_multiplier)
        rate = validate.rate("sample_rate", sample_rate)
        if self.history and self.history[-1][:2] == (noise, rate):
            self.history[-1] = (noise, rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise, rate, 1))

    def accountant(self) -> FourierAccountant:
        """The steps so far, composed."""
        composed = FourierAccountant()
        if self.history:
            composed.compose(history_event(self.history, sampling="poisson"))
        return composed

    def get_epsilon_bounds(self, delta: float) -> Bounds:
        """An interval that contains ε(δ)."""
        return self.accountant().get_epsilon_bounds(validate.open_unit("delta", delta))

    def get_epsilon(self, delta: float) -> float:
        """The upper end of it."""
        return self.get_epsilon_bounds(delta).upper

    def certify(self, deltas: Sequence[float]) -> Certificate:
        """The steps so far as a certificate, for Poisson sampling."""
        return self.accountant().certify(deltas)

    def __len__(self) -> int:
        return sum(steps for *_, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name in Opacus's registry."""
        return NAME


def register() -> str:
    """Adds the accountant to Opacus's registry; gives its name. Twice does no harm."""
    register_accountant(NAME, CertifiedAccountant, force=True)
    return NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderReport:
    """How a loader draws its batches.

    Attributes:
      kind: A word of `accountants.sampling`, "in_order" or "with_replacement"; "unknown" where no
        accountant has an answer.
      words: What it does, in a sentence.
      batches: Batches in a pass over the loader.
      data_size: Records in its data set.
      rate: A record's chance to be in a batch, of Poisson sampling.
      share: A record's chance to be in any batch of a pass, of the others.
    """

    kind: str
    words: str
    batches: int
    data_size: int
    rate: float = 0.0
    share: float = 1.0


def describe_loader(loader: "DataLoader[Any]") -> LoaderReport:
    """What a loader does, from its samplers; nothing is drawn.

    Samplers are recognised by their exact type: a subclass may do anything, and is unknown.
    """
    validate.instance("loader", loader, DataLoader)
    try:
        size, batches = len(loader.dataset), len(loader)  # type: ignore[arg-type]
    except TypeError:
        words = "The data set has no length: a stream, in whatever order it comes."
        return LoaderReport(kind="unknown", words=words, batches=0, data_size=0)

    def report(kind: str, words: str, *, rate: float = 0.0, share: float = 1.0) -> LoaderReport:
        return LoaderReport(
            kind=kind, words=words, batches=batches, data_size=size, rate=rate, share=share
        )

    batcher = loader.batch_sampler
    if type(batcher) in (UniformWithReplacementSampler, DistributedUniformWithReplacementSampler):
        rate = float(batcher.sample_rate)  # type: ignore[union-attr]
        words = f"Poisson sampling: each record is in each batch with probability {rate:g}."
        return report("poisson", words, rate=rate)
    if type(batcher) is not BatchSampler:
        return report("unknown", f"Batches come from a {type(batcher).__name__}, unknown here.")
    sampler, batch = batcher.sampler, int(batcher.batch_size)
    dropped = size % batch if batcher.drop_last else 0
    share = 1.0 - dropped / size
    last = f"; the last {dropped} of a pass are left out" if dropped else ""
    match sampler:
        case RandomSampler() if type(sampler) is RandomSampler:
            if sampler.replacement:
                words = f"Batches of {batch} records, each drawn anew with replacement."
                return report("with_replacement", words)
            if sampler.num_samples != size:
                return report("unknown", "A pass has some of the records only, or some twice.")
            words = f"Shuffled: each record is in one batch of {batch} per pass{last}."
            return report("shuffled", words, share=share)
        case SequentialSampler() if type(sampler) is SequentialSampler:
            words = f"In order: the same batches of {batch} in every pass{last}."
            return report("in_order", words)
        case WeightedRandomSampler():
            words = (
                "Weighted: records are drawn with different probabilities, and the most likely one "
                "pays most. No accountant here has an event for that."
            )
            return report("unknown", words)
    return report("unknown", f"Records come from a {type(sampler).__name__}, unknown here.")


def training_event(
    accountant: IAccountant,
    loader: "DataLoader[Any]",
    *,
    relation: NeighboringRelation | None = None,
) -> tuple[dpa.DpEvent, NeighboringRelation]:
    """What a training with Opacus released, by its accountant's history and by its loader.

    Args:
      accountant: `engine.accountant`, after the training.
      loader: The loader that was iterated over: what `make_private` gave back.
      relation: Which data sets are neighbours; by default one record more or less for Poisson
        sampling, and one record zeroed out for shuffled batches and batches in order, where a
        record more or less would move the boundaries of all batches.

    Returns:
      The event, and the relation to read it under.

    Raises:
      ValueError: The loader does what no accountant can answer for, the history has other rates
        than the loader, or steps of shuffled batches are not whole passes.
    """
    validate.instance("accountant", accountant, IAccountant)
    rows, report = rows_of(accountant.history), describe_loader(loader)
    poisson = report.kind == "poisson"
    meant = (_ADD if poisson else _ZERO) if relation is None else relation
    validate.relation("relation", meant)
    if report.kind not in ("poisson", "shuffled", "in_order"):
        raise ValueError(f"`loader` must be one that can be accounted for: {report.words}")
    rate = report.rate if poisson else 1.0 / report.batches
    for _, found, _ in rows:
        if abs(found - rate) > _CLOSE * rate:
            raise ValueError(
                f"`accountant` must have the loader's rate {rate:g} in its history, got {found:g}: "
                "batches that are accumulated are several steps, and a record may be in all."
            )
    if poisson:
        return history_event(rows, sampling="poisson", relation=meant), meant
    if meant is _ADD:
        raise ValueError(
            "`relation` must be REPLACE_ONE or REPLACE_SPECIAL for batches in an order (a record "
            f"more or less moves the boundaries of all of them), got {meant.name}."
        )
    return dpa.ComposedDpEvent([_passes(row, report) for row in rows]), meant


def _passes(row: Row, report: LoaderReport) -> dpa.DpEvent:
    """Whole passes with one noise: shuffled ones, or in an order that everybody knows."""
    noise, _, steps = row
    passes, rest = divmod(steps, report.batches)
    if rest:
        raise ValueError(
            f"`accountant` must have whole passes of {report.batches} steps at one noise "
            f"multiplier where batches are {report.kind.replace('_', ' ')}, got {steps} steps."
        )
    release: dpa.DpEvent = dpa.GaussianDpEvent(noise)
    if report.kind == "shuffled":
        release = ShuffledDpEvent(report.batches, release, report.share)
    return dpa.SelfComposedDpEvent(release, passes)

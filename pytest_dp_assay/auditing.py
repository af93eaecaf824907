"""What the fixture `dp_audit` is."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dp_accounting as dpa
import numpy as np

from accountants import Certificate, validate
from accountants.dp_sgd import step_event
from audits import (
    AuditFailedError,
    Claim,
    EventClaim,
    GaussianClaim,
    PointClaim,
    Verdict,
    ZeroConcentratedClaim,
    assert_private,
)

_LIMITS = ("confidence", "max_samples", "seconds", "require_conclusive")
_FORMS = {
    "epsilon": {"delta"},
    "mu": set(),
    "rho": set(),
    "noise_multiplier": {"sampling_rate", "steps", "sampling"},
    "claim": set(),
}


@dataclass(slots=True)
class DpAudit:
    """Audits mechanisms for one test; what `dp_audit` gives.

    Whatever says more of the case at hand goes before the rest: arguments of the call, then the
    marker, the command line, the ini file.

    Attributes:
      claim: The marker's claim, if there is one.
      seed: Of this test's draws: from its node id, so that a test draws the same wherever and in
        whatever order it runs, or `--dp-seed`.
      options: Limits by their names in `audits.assert_private`.
      verdicts: Of the audits so far.
    """

    claim: Claim | None
    seed: int
    options: dict[str, Any]
    note: Callable[[str], None]
    verdicts: list[Verdict] = field(default_factory=list)
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    @classmethod
    def of(
        cls,
        node: str,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
        limits: Mapping[str, Any],
        seed: int | None,
        note: Callable[[str], None],
    ) -> "DpAudit":
        """For a test with this node id, marker and limits."""
        if seed is None:
            seed = int.from_bytes(hashlib.sha256(node.encode()).digest()[:8], "big") >> 1
        seed = validate.count("--dp-seed", seed, minimum=0, maximum=2**128)
        own = {name: value for name, value in keywords.items() if name in _LIMITS}
        stated = {name: value for name, value in keywords.items() if name not in _LIMITS}
        claim = claim_of(*arguments, **stated) if arguments or stated else None
        return cls(claim, seed, {**limits, **own}, note)

    def __call__(
        self,
        mechanism: Callable[..., Any],
        claim: Claim | Certificate | None = None,
        *,
        pair: Any | None = None,
        **options: Any,
    ) -> Verdict:
        """Fails the test, with the verdict's words, if the claim is refuted or cannot be tested.

        Returning is no proof of privacy.

        Args:
          mechanism: `(data, rng) -> output`, or `(data, rng, n) -> n independent outputs`.
          claim: What is asserted; the marker's if left out.
          pair: Two neighbouring data sets; without it, a hunt looks for one.
          **options: Of `audits.assert_private`, `audits.audit` or `audits.hunt`.
        """
        __tracebackhide__ = True
        stated = self.claim if claim is None else claim
        if stated is None:
            raise ValueError(
                "`claim` must be given to `dp_audit`, or with @pytest.mark.dp_claim(epsilon=…) on "
                "the test."
            )
        try:
            verdict = assert_private(
                mechanism, stated, pair=pair, rng=self._rng, **{**self.options, **options}
            )
        except AuditFailedError as error:
            self._keep(error.verdict)
            raise AuditFailedError(error.verdict.seeded_by(self.seed)) from None
        return self._keep(verdict)

    def _keep(self, verdict: Verdict) -> Verdict:
        verdict = verdict.seeded_by(self.seed)
        self.verdicts.append(verdict)
        self.note(verdict.headline)
        return verdict


def claim_of(claim: Claim | Certificate | None = None, **stated: Any) -> Claim:
    """The claim that a marker states.

    >>> claim_of(epsilon=1.0).describe()
    'pure ε = 1 differential privacy'
    >>> claim_of(noise_multiplier=1.0, sampling_rate=0.1, steps=10).describe()
    'the privacy curve of 10 × (Gaussian σ = 1 on Poisson batches, q = 0.1) under ADD_OR_REMOVE_ONE'
    """
    named = [name for name in _FORMS if name in stated] + (["claim"] if claim is not None else [])
    if len(named) != 1:
        raise ValueError(f"`dp_claim` must state one of {', '.join(_FORMS)}, got {named}.")
    form, relation = named[0], stated.pop("relation", "ADD_OR_REMOVE_ONE")
    unknown = set(stated) - {form} - _FORMS[form]
    if unknown:
        allowed = sorted({*_FORMS[form], "relation", *_LIMITS})
        raise ValueError(f"`dp_claim({form}=…)` must have only {allowed}, got {sorted(unknown)}.")
    if claim is not None:
        return Claim.of(claim)
    if isinstance(relation, str):
        names = list(dpa.NeighboringRelation.__members__)
        relation = dpa.NeighboringRelation[validate.one_of("relation", relation, names)]
    match form:
        case "epsilon":
            return PointClaim(stated["epsilon"], stated.get("delta", 0.0), relation=relation)
        case "mu":
            return GaussianClaim(stated["mu"], relation=relation)
        case "rho":
            return ZeroConcentratedClaim(stated["rho"], relation=relation)
    rate = stated.get("sampling_rate", 1.0)
    kind = stated.get("sampling", "poisson" if rate < 1.0 else "all")
    step = step_event(stated["noise_multiplier"], rate, kind, relation)
    steps = validate.count("steps", stated.get("steps", 1))
    event = step if steps == 1 else dpa.SelfComposedDpEvent(step, steps)
    return EventClaim(event, relation=relation)

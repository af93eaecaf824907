"""The assay: what is claimed, certified and seen of one experiment in one scope, in one value."""

import json
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from dp_accounting import UnsupportedEventError

from accountants import Bounds, Certificate, codec, validate
from audits.claims import Claim
from audits.evidence import Evidence
from audits.pairs import Pair
from audits.testing.auditor import DEFAULT_SAMPLES, audit, check_options
from audits.testing.statistics import Statistic, Weighted
from audits.verdict import Verdict, sample_size
from audits.wording import interval, odds, up
from mechanisms import Experiment, Scope, lower_end_is_attained, worst_case

_FORMAT = "dp-assay/assay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assay:
    """Claim, certificate and evidence of the same thing.

    The three share no code: the claim is somebody's, the certificate is computed from what the
    mechanism says of its releases, the evidence from what it releases.

    Attributes:
      name: The experiment's.
      scope: Against whom and about whom all three speak.
      delta: δ of the figures.
      certificate: What is proved before anything runs; None where no proof is known.
      refusal: Why there is no certificate, else "".
      attained: Whether some data attain the certificate's lower end in this view, so that a claim
        below it is false whatever the draws say.
      verdict: The word on the claim, with the evidence from draws.
    """

    name: str
    scope: Scope
    delta: float
    certificate: Certificate | None
    refusal: str
    attained: bool
    verdict: Verdict

    def __post_init__(self) -> None:
        validate.text("name", self.name)
        validate.instance("scope", self.scope, Scope)
        delta = validate.open_unit("delta", self.delta)
        if self.certificate is not None:
            validate.instance("certificate", self.certificate, Certificate).bounds(delta)
        validate.text("refusal", self.refusal)
        validate.flag("attained", self.attained)
        validate.instance("verdict", self.verdict, Verdict)

    @property
    def claim(self) -> Claim:
        """What is asserted; the certificate's own event if nobody asserted anything else."""
        return self.verdict.claim

    @property
    def evidence(self) -> Evidence:
        """What the draws showed."""
        return self.verdict.evidence

    @property
    def claimed(self) -> float:
        """The ε that the claim allows at δ, from above."""
        return self.claim.epsilon_upper(self.delta)

    @property
    def certified(self) -> Bounds | None:
        """The proved interval of ε at δ."""
        return None if self.certificate is None else self.certificate.bounds(self.delta)

    @property
    def consistent(self) -> bool:
        """Whether the draws leave the certificate standing.

        If not, the mechanism does not do what it says of itself, or our own proof is wrong, or an
        event of probability 1 − confidence has happened.
        """
        if self.certificate is None:
            return True
        bound = self.certificate.bounds(self.delta).upper
        own = self.verdict.refuted and self.claim == Claim.of(self.certificate)
        return not own and self.evidence.epsilon_lower <= bound

    @property
    def contradicted(self) -> bool:
        """Whether the claim is false: by the draws, or because its ε is below what is attained."""
        return self.verdict.refuted or self._below_certificate

    @property
    def _below_certificate(self) -> bool:
        return self.attained and self.certified is not None and self.claimed < self.certified.lower

    def explain(self) -> str:
        """The conclusion on a line of its own, then claim, certificate and evidence."""
        sentences = [f"Scope: {self.scope}; δ = {self.delta:g}."]
        if self.certified is None:
            sentences.append(f"No certificate: {self.refusal}.")
        else:
            sentences.append(f"Certified: ε in {interval(self.certified)}.")
        sentences.append(f"Claimed: ε ≤ {up(self.claimed)} ({self.claim.describe()}).")
        of = f"{sample_size(self.evidence)} on {self.evidence.pair}"
        p_value = f" (p ≤ {up(self.evidence.p_value, 2)})" if self.evidence.p_value else ""
        sentences.append(f"Seen: {of} say {self.verdict.word.value} of the claim{p_value}.")
        sentences.append(self.verdict.bound)
        details = " ".join(part for part in (*sentences, self.verdict.reason) if part)
        return f"{self.headline}\n{details}"

    @property
    def headline(self) -> str:
        """The conclusion in one sentence."""
        drawn = sample_size(self.evidence)
        against = (
            f"odds of {odds(self.evidence.log_e_value or 0.0)} against it after {drawn}"
            if self.verdict.refuted
            else ""
        )
        if not self.consistent:
            odds_said = f" ({against.replace(' it ', ' the claim ')})" if against else ""
            return (
                "INCONSISTENT: the draws contradict the certificate, so the mechanism does not do "
                f"what it says of itself, or the proof is wrong{odds_said}."
            )
        if self._below_certificate:
            also = f", and draws refute it: {against}" if against else ""
            return f"CONTRADICTED: the claim is below what some data are proved to leak{also}."
        if self.verdict.refuted:
            return f"CONTRADICTED: draws refute the claim, {against}."
        return (
            f"NOT CONTRADICTED: neither the certificate nor {drawn} contradict the claim, which is "
            "no proof of it."
        )

    def to_json(self) -> str:
        """JSON text with certificate and verdict inside."""
        certificate = None if self.certificate is None else json.loads(self.certificate.to_json())
        return codec.dump_document(
            _FORMAT,
            {
                "name": self.name,
                "scope": str(self.scope),
                "delta": self.delta,
                "claimed": codec.encode_real(self.claimed),
                "certificate": certificate,
                "refusal": self.refusal,
                "attained": self.attained,
                "consistent": self.consistent,
                "contradicted": self.contradicted,
                "verdict": json.loads(self.verdict.to_json()),
                "explanation": self.explain(),
            },
        )


def assay(
    experiment: Experiment,
    pair: Any = None,
    *,
    scope: Scope | None = None,
    delta: float | None = None,
    claim: Claim | Certificate | None = None,
    confidence: float = 0.99,
    max_samples: int = DEFAULT_SAMPLES,
    rng: np.random.Generator,
    executor: Executor | None = None,
    statistic: Statistic | None = None,
    progress: bool | None = None,
) -> Assay:
    """Certificate and audit of one experiment in one scope, beside a claim about it.

    Args:
      experiment: What is examined.
      pair: Two neighbouring federations' data, each with one shard or partition per client. Without
        one, the worst case that the rules of `mechanisms.projection` name.
      scope: Against whom and about whom; the experiment's first scope if not given.
      delta: δ of the figures; the experiment's if not given.
      claim: What is asserted of it; if nothing is, the certificate is put to the test itself.
      confidence: 1 − α of the audit.
      max_samples: The most draws per side.
      rng: Seeds the draws.
      executor: Where to draw; results do not depend on it.
      statistic: See `audit`; for the worst case, by default, the direction in which it differs.
      progress: See `audit`.

    Raises:
      UnsupportedEventError: There is no certificate, and no claim was given that could be tested.

    >>> from mechanisms import Layout, ParameterPerturbation
    >>> from pvi import ExactSolver, LinearRegression
    >>> experiment = Experiment(
    ...     mechanism=ParameterPerturbation(
    ...         clip_norm=1.0, noise_multiplier=4.0, precision_floor=1.0),
    ...     model=LinearRegression(dimension=1, noise_std=1.0),
    ...     clients=2, rounds=1, delta=1e-5, solver=ExactSolver(),
    ... )
    >>> found = assay(experiment, max_samples=2000, rng=np.random.default_rng(0))
    >>> found.consistent, found.contradicted
    (True, False)
    """
    validate.instance("experiment", experiment, Experiment)
    scope = experiment.scopes[0] if scope is None else validate.instance("scope", scope, Scope)
    delta = experiment.delta if delta is None else validate.open_unit("delta", delta)
    stated = None if claim is None else Claim.of(claim)
    check_options(executor, statistic, progress)
    certificate, refusal = None, ""
    try:
        certificate = experiment.certify(scope, delta)
    except UnsupportedEventError as error:
        if claim is None:
            raise
        refusal = str(error)
    if stated is None:
        assert certificate is not None
        stated = Claim.of(certificate)
    if pair is None:
        extreme = worst_case(experiment, scope)
        pair = Pair(extreme.first, extreme.second, extreme.description)
        statistic = statistic or Weighted(extreme.direction)
    verdict = audit(
        experiment,
        pair,
        stated,
        scope=scope,
        confidence=confidence,
        max_samples=max_samples,
        rng=rng,
        executor=executor,
        statistic=statistic,
        delta=delta,
        progress=progress,
    )
    return Assay(
        name=experiment.name,
        scope=scope,
        delta=delta,
        certificate=certificate,
        refusal=refusal,
        attained=certificate is not None and lower_end_is_attained(experiment.transcript(), scope),
        verdict=verdict,
    )

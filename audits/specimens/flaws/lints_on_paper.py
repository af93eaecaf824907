"""Claims that arithmetic alone contradicts; each twin is the same statement made rightly.

* The classical Gaussian calibration σ = √(2·ln(1.25/δ))/ε is a theorem for ε < 1 only. Far beyond,
  the noise is too little: the exact curve of that σ exceeds the claimed ε. The twin calibrates on
  the exact curve (Balle and Wang 2018, Theorem 8).
* δ ≥ 1/n allows to publish one random record of n in full: that mechanism is (0, 1/n)-DP. The twin
  asks for δ below 1/n by a wide margin.
* A client that makes k local noisy steps per round and R rounds has made k·R releases; counting
  rounds claims R of them. The twin counts steps.
"""

import math

import dp_accounting as dpa

from accountants import FourierAccountant, calibrate_noise, gaussian
from audits.specimens.lint import Lint, LintResult
from audits.verdict import Word
from mechanisms import DPOptimisation, Layout, Scope, project
from pvi import SGD


def _finding(claimed: float, lower: float, upper: float, what: str) -> LintResult:
    """Refuted if a certified lower bound exceeds the claim, and open if only the upper one does."""
    if lower > claimed:
        return LintResult(
            Word.REFUTED, claimed, lower, f"{what}: {claimed:.6g} claimed, at least {lower:.6g}."
        )
    word = Word.NOT_REFUTED if upper <= claimed * (1 + 1e-9) else Word.INCONCLUSIVE
    return LintResult(word, claimed, upper, f"{what}: {claimed:.6g} claimed, at most {upper:.6g}.")


def _gaussian(noise_multiplier: float, epsilon: float, delta: float) -> LintResult:
    found = gaussian.epsilon_bounds(1.0 / noise_multiplier, delta)
    return _finding(epsilon, found.lower, found.upper, f"ε of σ = {noise_multiplier:.4g}")


def classical_beyond_one() -> LintResult:
    """The textbook's σ for ε = 12, δ = 1e-5 against the exact curve."""
    epsilon, delta = 12.0, 1e-5
    return _gaussian(math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon, epsilon, delta)


def exact_beyond_one() -> LintResult:
    """The exact calibration for the same (ε, δ)."""
    sigma = calibrate_noise(target_epsilon=12.0, delta=1e-5, sampling_rate=1.0, steps=1)
    return _gaussian(sigma, 12.0, 1e-5)


def _delta_for(records: int, delta: float) -> LintResult:
    """Publishing a random record has δ = 1/n at ε = 0: a δ that allows it protects nobody.

    The figures are the records that may be published in full, fewer than one, and n·δ.
    """
    published = records * delta
    return LintResult(
        Word.REFUTED if published >= 1.0 else Word.NOT_REFUTED,
        1.0,
        published,
        f"δ = {delta:g} lets {published:g} of {records} records be published in full.",
    )


def delta_too_large() -> LintResult:
    """Δ = 0.1 for a data set of 1,000 records (TUM section 7.3)."""
    return _delta_for(1000, 0.1)


def delta_small() -> LintResult:
    """Δ = 1e-6 for the same."""
    return _delta_for(1000, 1e-6)


_ROUNDS, _STEPS, _SIGMA, _DELTA = 10, 20, 5.0, 1e-5


def _rounds_and_steps(counted: int) -> LintResult:
    mechanism = DPOptimisation(
        clip_norm=1.0, noise_multiplier=_SIGMA, steps=_STEPS, rule=SGD(learning_rate=0.1)
    )
    event = project(mechanism.plan(Layout(clients=1), rounds=_ROUNDS), Scope())
    claimed = FourierAccountant().compose(dpa.GaussianDpEvent(_SIGMA), counted)
    epsilon = claimed.get_epsilon_bounds(_DELTA).upper
    found = FourierAccountant().compose(event).get_epsilon_bounds(_DELTA)
    return _finding(epsilon, found.lower, found.upper, f"ε of {counted} releases counted")


def rounds_counted() -> LintResult:
    """Ten rounds of twenty steps, counted as ten releases."""
    return _rounds_and_steps(_ROUNDS)


def steps_counted() -> LintResult:
    """The same, counted as two hundred."""
    return _rounds_and_steps(_ROUNDS * _STEPS)


LINTS = (
    Lint(
        name="classical Gaussian beyond ε = 1",
        flaw="The textbook calibration of Gaussian noise is used at ε ≥ 1, where it is no theorem.",
        reference="TUM Theorem 1 (ε < 1) as section 7.3 uses it for Figure 12; Dwork and Roth "
        "2014, Theorem 3.22 (ε < 1); Balle and Wang 2018.",
        explanation=__doc__ or "",
        flawed=classical_beyond_one,
        repaired=exact_beyond_one,
    ),
    Lint(
        name="δ of 1/n or more",
        flaw="A δ of at least 1/n allows records to be published in full.",
        reference="TUM section 7.3 (δ around 0.1); Dwork and Roth 2014, section 2.3, after "
        "Definition 2.4.",
        explanation=__doc__ or "",
        flawed=delta_too_large,
        repaired=delta_small,
    ),
    Lint(
        name="rounds counted for steps",
        flaw="Composition is counted per communication round although each round makes many noisy "
        "steps.",
        reference="TMLR Theorem 3 counts local steps, Corollaries 5 and 10 count global updates: "
        "to take one for the other is the mistake, which the papers do not make.",
        explanation=__doc__ or "",
        flawed=rounds_counted,
        repaired=steps_counted,
    ),
)

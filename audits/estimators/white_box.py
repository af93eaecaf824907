r"""White-box audit of Gaussian noise: with the noise itself in view, few draws are enough.

The claim is that each noise draw z (divided by the claimed standard deviation) is normal with mean
0 and standard deviation at least 1. For r < 1 the likelihood ratio

    L_r(z) = (1/r)·exp(−(z²/2)·(1/r² − 1))

of N(0, r²) against N(0, 1) has mean 1 under N(0, 1), and, being decreasing in |z|, mean at most 1
under N(m, s²) for every m and every s ≥ 1 (|z| is then stochastically larger). So the product of
L_r over draws is a supermartingale under the claim, and so is a mixture over r. It is refuted when
the mixture reaches 1/α (Ville). Too much noise is never refuted: it costs utility, not privacy.

For a mechanism whose densities are known, use `audits.testing.statistics.LikelihoodRatio` as the
statistic of `audits.audit`: that is the best black-box statistic, and assumes nothing if the
densities are wrong.
"""

import math
from collections.abc import Callable

import dp_accounting as dpa
import numpy as np
from scipy import special

from accountants import validate
from accountants.arrays import FloatArray
from audits.claims import EventClaim
from audits.evidence import Evidence, Method
from audits.testing.sequential import log_threshold
from audits.verdict import Verdict, Word

# What noise is off by in practice: √2 (two parties), 2 (sensitivity), small and large factors.
_RATIOS = np.array([0.95, 0.85, 2**-0.5, 0.5, 0.2, 0.05, 1e-3])
_PRIOR = np.array([0.08, 0.2, 0.45, 0.15, 0.06, 0.03, 0.03])


def audit_noise(
    noise: Callable[[np.random.Generator, int], FloatArray],
    *,
    noise_multiplier: float,
    sensitivity: float = 1.0,
    confidence: float = 0.99,
    max_samples: int = 10_000,
    rng: np.random.Generator,
) -> Verdict:
    """Tests that noise has at least the standard deviation noise_multiplier × sensitivity.

    Args:
      noise: `(rng, n)` to n independent draws of the noise alone; more axes count as more draws.
      noise_multiplier: The claimed one; the claim is the event of one Gaussian release.
      sensitivity: What the multiplier multiplies, C or 2C.
      confidence: 1 − α.
      max_samples: The most draws.
      rng: Passed to `noise`.

    >>> verdict = audit_noise(lambda rng, n: rng.normal(scale=0.5, size=n), noise_multiplier=1.0,
    ...                       rng=np.random.default_rng(0))
    >>> verdict.word.value, verdict.evidence.samples < 50
    ('REFUTED', True)
    """
    deviation = validate.positive("noise_multiplier", noise_multiplier)
    deviation *= validate.positive("sensitivity", sensitivity)
    deviation = validate.positive("noise_multiplier * sensitivity", deviation)
    threshold = log_threshold(validate.open_unit("confidence", confidence))
    max_samples = validate.count("max_samples", max_samples, maximum=10**9)
    validate.function("noise", noise)
    validate.generator("rng", rng)
    parts: list[FloatArray] = []
    logs, drawn, crossed = np.log(_PRIOR / _PRIOR.sum()), 0, None
    while crossed is None and drawn < max_samples:
        size = min(max(10, drawn // 4), max_samples - drawn)
        with np.errstate(over="ignore"):  # an infinite multiple is as good as a huge one
            draws = validate.reals("noise", noise(rng, size)).ravel() / deviation
        if not draws.size:
            raise ValueError("`noise` must give some draws, got none.")
        path, logs = _log_wealth(draws, logs)
        parts.append(path)
        reached = np.flatnonzero(path >= threshold)
        crossed = drawn + int(reached[0]) + 1 if reached.size else None
        drawn += draws.size
    wealth = np.concatenate(parts)[:crossed]
    best = float(max(0.0, wealth.max()))
    evidence = Evidence(
        method=Method.WHITE_BOX,
        samples=crossed or drawn,
        drawn=drawn,
        log_e_value=float(wealth[-1]),
        log_largest_wealth=best,
        p_value=math.exp(-best),
        confidence=confidence,
        statistic="the noise itself",
        assumptions=("the noise is Gaussian and independent between draws",),
        wealth_path=tuple((i + 1, float(value)) for i, value in enumerate(wealth[:240])),
    )
    claim = EventClaim(dpa.GaussianDpEvent(noise_multiplier))
    word = Word.REFUTED if crossed is not None else Word.NOT_REFUTED
    # Half the noise convicts after about log(1/α)/0.32 draws.
    if crossed is None and drawn < (threshold + 1.9) / 0.318:
        word = Word.INCONCLUSIVE
    return Verdict(word=word, claim=claim, evidence=evidence)


def _log_wealth(draws: FloatArray, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mixture's log wealth after each draw, and the components' logs at the end."""
    with np.errstate(invalid="ignore", over="ignore"):
        squares = np.where(np.isfinite(draws), draws, np.inf)[:, None] ** 2
        steps = -np.log(_RATIOS) - 0.5 * squares * (_RATIOS**-2.0 - 1.0)
    paths = logs + np.cumsum(np.maximum(steps, -1e300), axis=0)
    return np.asarray(special.logsumexp(paths, axis=1)), paths[-1]

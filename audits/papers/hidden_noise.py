"""Sums of rounds in which clients take back their own noise: a test, and an estimate."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def _noisy_totals(
    value: float, clients: int, trials: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Cumulated sums of Algorithm 3, α = 1, C = 1, σ = 5, ten rounds; shape (10, trials).

    One client's update is `value` in every round; all others have the target 0, so that their
    clipped updates push back the noise that their own factors remember.
    """
    share = np.float32(5.0 / math.sqrt(clients))
    factor = np.zeros((clients - 1, trials), dtype=np.float32)
    total = np.zeros(trials, dtype=np.float32)
    totals = np.empty((10, trials), dtype=np.float32)
    for index in range(10):
        update = np.clip(-factor, -1.0, 1.0)
        update += share * rng.standard_normal(factor.shape, dtype=np.float32)
        factor += update
        own = np.float32(value) + share * rng.standard_normal(trials, dtype=np.float32)
        total = total + update.sum(axis=0) + own
        totals[index] = total
    return totals


def hidden_noise_epsilon(
    clients: int, trials: int, seed: int, *, absent_value: float = 0.0, delta: float = 1e-5
) -> float:
    """A lower bound of ε with confidence 99%, from sums of Algorithm 3 under clipping.

    One client's update is 1 in every round, or `absent_value`: 0 for a client that contributes
    nothing, −1 for one with a record replaced.

    A linear statistic is fixed on a pilot run; then Clopper–Pearson bounds at 40 thresholds, each
    with error 0.01/80 per side, give log((P − δ)/Q).
    """
    rng = np.random.default_rng(seed)
    rounds = np.arange(1.0, 11.0)
    covariance = np.cov(_noisy_totals(0.0, clients, 10_000, rng))
    weights = np.linalg.solve(covariance, rounds)
    weights /= math.sqrt(weights @ covariance @ weights)
    present = weights @ _noisy_totals(1.0, clients, trials, rng)
    absent = weights @ _noisy_totals(absent_value, clients, trials, rng)
    best, error = 0.0, 0.01 / 80
    centre = float(weights @ rounds)
    for threshold in np.linspace(absent_value * centre, centre + 3.0, 40):
        hits, alarms = int((present > threshold).sum()), int((absent > threshold).sum())
        if hits == 0:
            continue
        lower = float(stats.beta.ppf(error, hits, trials - hits + 1))
        upper = float(stats.beta.ppf(1.0 - error, alarms + 1, trials - alarms))
        if lower > delta:
            best = max(best, math.log((lower - delta) / upper))
    return best


def last_sum_epsilon(clients: int, trials: int, seed: int, *, delta: float = 1e-5) -> float:
    """The ε of the sum over all ten rounds for a client whose update is 1 or 0: an estimate.

    What the other clients have added is M − 1 independent draws of one law, here from a histogram
    of `trials` draws; the client itself adds a Gaussian, and 10 if it takes part. The convolution
    is done on exponentially tilted laws, so that its tail has relative accuracy. The best event is
    a tail, and ε = max log((P − δ)/Q) over its thresholds.
    """
    share, rounds = 5.0 / math.sqrt(clients), 10
    rng = np.random.default_rng(seed)
    factor = np.zeros(trials)
    for _ in range(rounds):
        factor += np.clip(-factor, -1.0, 1.0) + share * rng.standard_normal(trials)
    own = share * math.sqrt(rounds)
    deviation = math.sqrt((clients - 1) * factor.var() + own**2)
    # The shift is a whole number of cells, of about 0.005 standard deviations.
    moved = math.ceil(rounds / (0.005 * deviation))
    step, tilt = rounds / moved, 4.0 / deviation
    cells = np.arange(-4096, 4096)
    counts = np.histogram(factor, bins=step * (np.append(cells, 4096) - 0.5))[0] / trials
    others = counts * np.exp(tilt * step * cells)
    gaussian = stats.norm.pdf(step * cells, tilt * own**2, own) * step
    transform = np.fft.fft(np.fft.ifftshift(others / others.sum())) ** (clients - 1)
    transform *= np.fft.fft(np.fft.ifftshift(gaussian))
    tilted = np.fft.fftshift(np.fft.ifft(transform).real)
    log_scale = (clients - 1) * math.log(others.sum()) + 0.5 * (tilt * own) ** 2
    # Below this the transform's rounding shows; the far ends are not needed.
    law = np.where(tilted > 1e-12, tilted, 0.0) * np.exp(log_scale - tilt * step * cells)
    tail = np.cumsum(law[::-1])[::-1]
    present, absent = tail[:-moved], tail[moved:]
    usable = (present > delta) & (present < 0.5) & (absent > 0.0)
    return float(np.log((present[usable] - delta) / absent[usable]).max())

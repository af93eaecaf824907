"""Shared by the tests of the mechanisms: extreme data, and closed forms written out again."""

import math

import numpy as np
from scipy import optimize, special

from pvi import LocalResult, LocalSolver, MeanFieldGaussian, Shard


def gaussian_epsilon(mu, delta):
    """ε(δ) of N(0,1) against N(μ,1), from the textbook formula (Balle & Wang 2018)."""

    def excess(epsilon):
        first = special.ndtr(mu / 2 - epsilon / mu)
        second = math.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu))
        return first - second - delta

    if excess(0.0) <= 0:
        return 0.0
    return optimize.brentq(excess, 0.0, mu * mu / 2 + mu * 40, xtol=1e-12)


class ExtremeSolver(LocalSolver):
    """Moves q very far along one direction, by the sign of the largest |target| in the shard.

    All targets zero: no move. So one record can turn a part's clipped change around.
    """

    def solve(self, problem):
        shard, start, state = problem.shard, problem.start, problem.state
        if shard.size == 0:
            return LocalResult(start, state)
        targets = shard.targets
        leader = np.take_along_axis(
            targets, np.abs(targets).argmax(axis=-1, keepdims=True), axis=-1
        )[..., 0]
        direction = np.zeros((*np.shape(leader), 2 * start.dimension))
        direction[..., 0] = 1e6 * np.sign(leader)
        return LocalResult(start * MeanFieldGaussian.from_vector(direction), state)


def records(*targets):
    """A shard with one input column of ones."""
    return Shard(inputs=np.ones((len(targets), 1)), targets=np.array(targets, dtype=float))


class RecordingNoise:
    """Simulation noise that keeps what it added."""

    silent = False

    def __init__(self):
        self.drawn = []

    def grid(self, std):
        return None

    def noisy_sum(self, rows, std, rng):
        total = rows.sum(axis=-2)
        noise = std * rng.standard_normal(total.shape)
        self.drawn.append(noise)
        return total + noise

"""The adversary of batches of fixed size that looks at its outputs (REPLACE_ONE).

Not a flaw: a data-dependent sequence of noisy sums that any accountant of such batches must cover.
All records but one answer −C to every question until the privacy loss of the outputs so far exceeds
ε, and +C from then on; the one answers +C in the first data set, −C in the second. Who asks sees
the outputs, so the next question may depend on them: adaptive composition. A step's two laws are

    before: (1−q)·N(0) + q·N(2) against N(0);   after: N(0) against (1−q)·N(0) + q·N(2)

up to a shift and a reflection, with variance σ²: the corners g = v and g = u of
`accountants/fourier/fixed_size/PROOF.md`. The loss of all outputs exceeds ε with probability p on
the first data set and r on the second, and p − e^ε·r is the lower end of the tight answer.
"""

import math
from dataclasses import dataclass

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from audits.pairs import Pair

__all__ = ["ADAPTIVE_PAIR", "AdaptiveBatches"]

ADAPTIVE_PAIR = Pair(np.array([1.0]), np.array([-1.0]), "one record that answers +C, or −C")
"""The one record; the others answer what they are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveBatches:
    """Noisy sums of batches without replacement, and questions that depend on them; C = 1.

    Attributes:
      batch_size: b, at most `size` − 1.
      size: n, all records.
      noise_multiplier: σ.
      steps: T.
      epsilon: Where the adversary changes sides.
    """

    batch_size: int
    size: int
    noise_multiplier: float
    steps: int
    epsilon: float

    def __post_init__(self) -> None:
        """Checks the numbers."""
        validate.count("size", self.size, minimum=2)
        validate.count("batch_size", self.batch_size, maximum=self.size - 1)
        validate.positive("noise_multiplier", self.noise_multiplier)
        validate.count("steps", self.steps)
        validate.non_negative("epsilon", self.epsilon)

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The outputs of n runs, one row each."""
        outputs = np.empty((n, self.steps))
        loss = np.zeros(n)
        for step in range(self.steps):
            others = np.where(loss > self.epsilon, 1.0, -1.0)
            # The others answer alike, so who of them is in the batch does not matter.
            is_in = rng.random(n) < self.batch_size / self.size
            total = self.batch_size * others + is_in * (float(data[0]) - others)
            noise = self.noise_multiplier * rng.standard_normal(n)
            outputs[:, step] = total + noise
            loss += self._step_loss(outputs[:, step], others)
        return outputs

    def loss(self, outputs: FloatArray) -> FloatArray:
        """The privacy loss of each row of outputs: the logarithm of their likelihood ratio."""
        loss = np.zeros(len(outputs))
        for output in np.transpose(outputs):
            loss += self._step_loss(output, np.where(loss > self.epsilon, 1.0, -1.0))
        return loss

    def _step_loss(self, output: FloatArray, others: FloatArray) -> FloatArray:
        """log((1−q)N(g) + qN(+1)) − log((1−q)N(g) + qN(−1)) for others who answer g."""
        rate, noise = self.batch_size / self.size, self.noise_multiplier
        # Beside b·g; the one's answer differs by 0 or 2 in the direction away from the others.
        away = -others * (output - self.batch_size * others)
        ratio = (2.0 * away - 2.0) / noise**2
        mixed = np.logaddexp(math.log1p(-rate), math.log(rate) + ratio)
        return np.asarray(-others * mixed)

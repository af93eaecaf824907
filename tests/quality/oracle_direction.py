"""One ordered pair of a composition: δ(ε) as a ball, and cheaper bounds of it from either side."""

from dataclasses import dataclass, field

import oracle_exact as exact
import oracle_two_steps
from flint import arb, ctx
from oracle_exact import UnknownError
from oracle_fixed_size import FixedSizeLaw
from oracle_line import Line
from oracle_sampled import SampledLaw

_ENOUGH = 46  # significant bits of a ball: 1e-12 is seen with room to spare
PREC = 420  # of the parameters: more than any computation uses but the adaptive ones
# By numbers of sampled steps and batches: atoms that are few enough to condition on each.
_FEW = {(1, 0): 600, (0, 1): 600, (2, 0): 12}


@dataclass
class Direction:
    """One ordered pair of a composition: factors of M(z) with their counts."""

    sampled: list = field(default_factory=list)
    exact: list = field(default_factory=list)
    symmetric: list = field(default_factory=list)  # (rate, μ, count) of fixed-size batches
    geometric: list = field(default_factory=list)  # (a, shift, count) of discrete Laplace laws
    mu_squared: arb = field(default_factory=lambda: arb(0))
    _laws: list = field(default_factory=list)
    _factors: list = field(default_factory=list)
    _lines: list = field(default_factory=list)

    def delta(self, epsilon):
        """A ball for δ(ε), ε a ball or a double."""
        epsilon = arb(epsilon)
        plain = self.mu_squared.is_zero()
        steps = sum(count for _, count in self.sampled)
        batches = sum(count for *_, count in self.symmetric)
        geometric = sum(count for *_, count in self.geometric)
        others = steps + batches + len(self.exact) + geometric
        if not others:
            if plain:
                return arb(0)
            return exact.adaptive(lambda: exact.gaussian(self.mu_squared, epsilon))
        if plain and others == 1 and (steps or batches):
            return self._few_releases(epsilon)
        if plain and others == 1 and geometric:
            a, shift, _ = self.geometric[0]
            return exact.adaptive(lambda: exact.discrete_laplace(a, shift, epsilon))
        if plain and others == 2 == steps:
            try:
                return self._few_releases(epsilon)
            except UnknownError:
                pass
        factors = self.factors()
        if plain and not steps and not batches:
            return exact.adaptive(lambda: exact.atomic(factors, epsilon))
        if plain and not any(law.laplace for law, _ in factors) and (steps, batches) in _FEW:
            try:
                return self._by_atoms(epsilon, _FEW[steps, batches])
            except UnknownError:
                pass
        value = self._line(float(epsilon.mid())).delta(epsilon)
        lost = _ENOUGH - value.rel_accuracy_bits()
        if lost > 0:  # the scale of the result was misjudged: once more, with what is missing
            if lost > 300:
                raise UnknownError("no digit is certain")
            self._lines.clear()
            value = self._line(float(epsilon.mid()), digits=19 + lost / 3.3).delta(epsilon)
        return value

    def total_variation(self):
        """An upper bound of δ(0), and so of every δ(ε): the sum over all releases."""
        total = arb(0)
        for law, count in self.sampled:
            moved = zip(law.weights, law.shifts, strict=True)
            one = sum((p * (c / arb(8).sqrt()).erf() for p, c in moved), arb(0))
            total += count * one * (2 if law.kind == "replace" else 1)
        for rate, mu, count in self.symmetric:
            total += count * rate * (mu / arb(8).sqrt()).erf()
        if not self.mu_squared.is_zero():
            total += (self.mu_squared / 8).sqrt().erf()
        return arb("inf") if self.exact or self.geometric else total

    def laws(self):
        """The factors that are integrals over a Gaussian."""
        if not self._laws:
            batches = [(FixedSizeLaw(rate, mu), count) for rate, mu, count in self.symmetric]
            self._laws = [*self.sampled, *batches]
        return self._laws

    def is_below(self, epsilon, delta):
        """Whether Chernoff's bound, inf over x of e^{K(x)−xε}·x^x/(1+x)^{1+x}, is below delta."""
        line = Line.__new__(Line)
        line.sampled, line.exact, line.epsilon = self.laws(), self.factors(), epsilon
        line.mu_squared, line.mu2 = self.mu_squared, float(self.mu_squared.mid())
        tilt = line.chernoff_tilt()
        for instead in (None, _unsampled):
            for x in (tilt, tilt / 3, tilt / 30, tilt / 1000):  # any is valid, less is cheaper
                try:
                    with ctx.workprec(PREC):
                        height = line.proved_log_moment(x, instead) - arb(x) * arb(epsilon)
                        x = arb(x)
                        if height + x * x.log() - (1 + x) * x.log1p() < arb(delta).log():
                            return True
                except UnknownError:
                    continue
                if instead is None:
                    return False
        return False

    def is_above(self, epsilon, delta):
        """Whether δ(ε) ≥ (1−e^{−s})·P(L > ε+s) and Markov's P(L ≤ a) ≤ e^{xa}·M(−x) say so."""
        line = Line.__new__(Line)
        line.sampled, line.exact = self.laws(), self.factors()
        line.mu_squared = self.mu_squared
        for x in (0.45, 0.15, 0.02):
            try:
                with ctx.workprec(PREC):
                    # Fewer releases tell less: what takes too much work is left out.
                    log_moment = line.proved_log_moment(-x, lambda law, x: arb(0))
                    for s in (2, 8, 40):
                        reached = 1 - (arb(x) * (arb(epsilon) + s) + log_moment).exp()
                        if -(-arb(s)).expm1() * reached > delta:
                            return True
            except UnknownError:
                pass
        return False

    def largest_loss(self):
        """The sum of the largest losses where all are bounded, else infinite."""
        if self.sampled or self.symmetric or not self.mu_squared.is_zero():
            return arb("inf")
        total = arb(0)
        for law, count in self.exact:
            total += count * law.largest()
        for a, shift, count in self.geometric:
            total += count * a * shift
        return total

    def without_sampling(self, epsilon):
        """A ball whose upper end is a bound of δ(ε): Gaussians that all records are in.

        Sampling is post-processing of the same noise with the record always there; the largest
        losses of pure releases are taken off ε.
        """
        mu_squared, pure = self.mu_squared, arb(0)
        for law, count in self.sampled:
            mu_squared += count * law.largest_shift() ** 2
        for _, mu, count in self.symmetric:
            mu_squared += count * mu**2
        for law, count in self.exact:
            pure += count * law.largest()
        for a, shift, count in self.geometric:
            pure += count * a * shift
        left = epsilon - pure
        if not left > 0 or mu_squared.is_zero():
            raise UnknownError("no Gaussian")
        return exact.adaptive(lambda: exact.gaussian(mu_squared, left))

    def _by_atoms(self, epsilon, most):
        """Σ p·δ(ε − l) over the atoms' losses l, δ that of one or two sampled releases."""
        terms = exact.terms(self.factors())
        if len(terms) > most:
            raise UnknownError("too many atoms to condition on")
        total = arb(0)
        with ctx.workprec(PREC):
            for mass, loss, _ in terms:
                left = epsilon - loss
                if left >= 0:
                    total += mass * self._few_releases(left)
                elif left < 0:  # the profile of (Q, P) at −ε
                    total += mass * (-left.expm1() + left.exp() * self._few_releases(-left, True))
                else:
                    raise UnknownError("an atom at ε")
        return total

    def _few_releases(self, epsilon, swapped=False):
        """δ(ε) of the one or two sampled releases, of (Q, P) if swapped."""
        if self.symmetric:
            rate, mu, _ = self.symmetric[0]
            return exact.adaptive(lambda: exact.fixed_size(rate, mu, epsilon))
        laws = [law for law, count in self.sampled for _ in range(count)]
        if swapped:
            other = {"remove": "add", "add": "remove", "replace": "replace"}
            laws = [SampledLaw(law.weights, law.shifts, other[law.kind]) for law in laws]
        if len(laws) == 2:
            return oracle_two_steps.delta(*laws, epsilon)
        (law,) = laws
        return exact.adaptive(lambda: exact.one_step(law.weights, law.shifts, law.kind, epsilon))

    def factors(self):
        """The exact factors with the discrete Laplace laws written out."""
        if self._factors:
            return self._factors
        found = list(self.exact)
        for a, shift, count in self.geometric:
            if shift > exact.MOST_TERMS:
                raise UnknownError("too many atoms")
            with ctx.workprec(PREC):
                end = 1 / (1 + (-a).exp())
                masses = [end * (-a * shift).exp()]
                masses += [(a / 2).tanh() * (-a * x).exp() for x in range(shift - 1, 0, -1)]
                atoms = [(mass, a * (2 * k - shift)) for k, mass in enumerate([*masses, end])]
            found.append((exact.Atoms(atoms, (-a * shift, 2 * a)), count))
        self._factors = found
        return found

    def _line(self, epsilon, digits=17):
        for line in self._lines:
            if abs(line.epsilon - epsilon) * line.tilt < 0.5:
                return line
        line = Line(self.laws(), self.mu_squared, self.factors(), epsilon, digits=digits)
        self._lines.append(line)
        return line


def _unsampled(law, x):
    """log M(x) of the Gaussian that the record is always in: no less than that of the law."""
    return law.largest_shift() ** 2 * x * (1 + arb(x)) / 2

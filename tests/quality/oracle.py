"""What is true of an interval for ε(δ) or δ(ε), by ball arithmetic; knows nothing of `accountants`.

`check_epsilon` and `check_delta` take a composition, [(event, count)], a relation and an interval,
and say of each end "right" (proved), "wrong" (the opposite is proved) or "unknown" (nothing could
be proved within the limits of work). Where each ball comes from: `oracle_exact` (finite formulas),
`oracle_two_steps` (one rigorous integral) and `oracle_line` (a line integral with proved errors).

A batch of fixed size has no exact answer: its truth lies between an explicit pair of data sets,
the Poisson pair at half the noise multiplier, and the symmetrised profile. An end is right or wrong
only where one of the two proves it.
"""

import math
from dataclasses import dataclass, field

import dp_accounting as dpa
import oracle_exact as exact
import oracle_two_steps
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent
from flint import arb, ctx
from oracle_exact import UnknownError
from oracle_fixed_size import FixedSizeLaw
from oracle_line import Line
from oracle_sampled import SampledLaw

REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"
REASONS = []  # why nothing could be proved, since it was cleared last
_ENOUGH = 46  # significant bits of a ball: 1e-12 is seen with room to spare
# By numbers of sampled steps and batches: atoms that are few enough to condition on each.
_FEW = {(1, 0): 300, (0, 1): 300, (2, 0): 12}
_LAST = {}
_PREC = 420  # of the parameters: more than any computation uses but the adaptive ones


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
        for x in (tilt, tilt / 3, tilt / 30, tilt / 1000):  # any is valid, a smaller one cheaper
            try:
                with ctx.workprec(_PREC):
                    height = line.proved_log_moment(x) - arb(x) * arb(epsilon)
                    x = arb(x)
                    return height + x * x.log() - (1 + x) * x.log1p() < arb(delta).log()
            except UnknownError:
                pass
        return False

    def is_above(self, epsilon, delta):
        """Whether δ(ε) ≥ (1−e^{−s})·P(L > ε+s) and Markov's P(L ≤ a) ≤ e^{xa}·M(−x) say so."""
        line = Line.__new__(Line)
        line.sampled, line.exact = self.laws(), self.factors()
        line.mu_squared = self.mu_squared
        for x in (0.45, 0.15, 0.02):
            try:
                with ctx.workprec(_PREC):
                    log_moment = line.proved_log_moment(-x)
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
            shift = max(law.shifts, key=lambda c: float(c.mid()))
            mu_squared += count * (law.arguments * shift) ** 2
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
        with ctx.workprec(_PREC):
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
            with ctx.workprec(_PREC):
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


@dataclass
class Truth:
    """δ(ε) of a composition lies between the larger of `below` and the larger of `above`."""

    below: list
    above: list

    def compare(self, epsilon, delta):
        """What is proved of δ(ε) against delta: "above", "below", "equal" or "unknown"."""
        same = self.below is self.above
        seen = [_compare(pair, epsilon, delta) for pair in self.below]
        if "above" in seen:
            return "above"
        tops = seen if same else [_compare(pair, epsilon, delta) for pair in self.above]
        if all(word == "below" for word in tops):
            return "below"
        if all(word in ("below", "equal") for word in tops) and "equal" in seen:
            return "equal"
        return UNKNOWN


def _compare(pair, epsilon, delta):
    if pair.total_variation() < delta:
        return "below"
    if pair.largest_loss() <= epsilon:
        return "below" if delta > 0 else "equal"
    try:
        if delta > 0.5 and pair.is_above(float(epsilon), delta):
            return "above"
        if delta > 0 and pair.is_below(float(epsilon), delta):
            return "below"
    except UnknownError:
        pass
    try:
        if pair.without_sampling(arb(epsilon)) < delta:
            return "below"
    except UnknownError:
        pass
    try:
        value = pair.delta(epsilon)
    except UnknownError as reason:
        REASONS.append(str(reason))
        return UNKNOWN
    if value > delta:
        return "above"
    if value < delta:
        return "below"
    if value == delta:
        return "equal"
    REASONS.append("the ball is too wide")
    return UNKNOWN


def truth(parts, relation):
    """The ordered pairs of a composition of (event, count) under a relation."""
    key = (repr(parts), relation)
    if key not in _LAST:
        _LAST.clear()  # one composition is asked about twice in a row, seldom later
        _LAST[key] = _truth(parts, relation)
    return _LAST[key]


def _truth(parts, relation):
    with ctx.workprec(_PREC):
        both = [Direction(), Direction()]
        explicit = [Direction(), Direction()]
        for index in (0, 1):
            for event, count in parts:
                _add(both[index], event, count, relation, index)
                _add(explicit[index], event, count, relation, index, explicit=True)
    if any(direction.symmetric for direction in both):  # REPLACE_ONE: the profile is symmetric
        return Truth(explicit, both[:1])
    if relation is REPLACE or not (both[0].sampled or relation is SPECIAL):
        both = both[:1]
    return Truth(both, both)


def _multiplier(event):
    """σ⁻² of Gaussians on one batch."""
    if isinstance(event, dpa.GaussianDpEvent):
        return 1 / arb(event.noise_multiplier) ** 2
    if isinstance(event, dpa.SelfComposedDpEvent):
        return event.count * _multiplier(event.event)
    return sum((_multiplier(inner) for inner in event.events), arb(0))


def _add(direction, event, count, relation, index, explicit=False):
    """Adds `count` releases to one ordered pair; index 0: P has the record."""
    if count == 0 or isinstance(event, dpa.NoOpDpEvent):
        return
    factor = 2 if relation is REPLACE else 1
    kind = "remove" if index == 0 else "add"
    if isinstance(event, dpa.SelfComposedDpEvent):
        _add(direction, event.event, count * event.count, relation, index, explicit)
    elif isinstance(event, dpa.ComposedDpEvent):
        for inner in event.events:
            _add(direction, inner, count, relation, index, explicit)
    elif isinstance(event, dpa.GaussianDpEvent):
        direction.mu_squared += count * (factor / arb(event.noise_multiplier)) ** 2
    elif isinstance(event, dpa.LaplaceDpEvent):
        direction.exact.append((exact.Laplace(factor / arb(event.noise_multiplier)), count))
    elif isinstance(event, DiscreteLaplaceDpEvent):
        shift = factor * int(event.sensitivity)
        direction.geometric.append((arb(event.noise_parameter), shift, count))
    elif isinstance(event, dpa.RandomizedResponseDpEvent):
        direction.exact.append((_response(event, relation, index), count))
    elif isinstance(event, MixtureOfGaussiansDpEvent):
        merged = {}
        for c, p in zip(event.sensitivities, event.sampling_probs, strict=True):
            if p > 0:
                merged[float(c)] = merged.get(float(c), arb(0)) + arb(float(p))
        total = sum(merged.values(), arb(0))  # 1, but for the rounding of the event's floats
        merged = {c: p / total for c, p in merged.items()}
        _add_mixture(direction, event, merged, count, kind)
    elif isinstance(event, dpa.PoissonSampledDpEvent):
        rate, inner = arb(event.sampling_probability), event.event
        while isinstance(inner, dpa.PoissonSampledDpEvent):
            rate, inner = rate * arb(inner.sampling_probability), inner.event
        shift = _multiplier(inner).sqrt()
        if rate == 1:
            direction.mu_squared += count * (factor * shift) ** 2
        elif not rate.is_zero():
            law = SampledLaw(
                [1 - rate, rate], [arb(0), shift], "replace" if relation is REPLACE else kind
            )
            direction.sampled.append((law, count))
    elif isinstance(event, dpa.SampledWithoutReplacementDpEvent):
        rate = arb(event.sample_size) / arb(event.source_dataset_size)
        shift = 2 * _multiplier(event.event).sqrt()
        if rate == 1:
            direction.mu_squared += count * shift**2
        elif explicit:
            direction.sampled.append((SampledLaw([1 - rate, rate], [arb(0), shift], kind), count))
        elif not rate.is_zero():
            direction.symmetric.append((rate, shift, count))
    else:
        raise UnknownError(f"no oracle for {type(event).__name__}")


def _add_mixture(direction, event, merged, count, kind):
    shifts = sorted(merged)
    if shifts == [0.0]:
        return
    scale = arb(event.standard_deviation)
    if len(shifts) == 1:
        direction.mu_squared += count * (arb(shifts[0]) / scale) ** 2
        return
    law = SampledLaw([merged[c] for c in shifts], [arb(c) / scale for c in shifts], kind)
    direction.sampled.append((law, count))


def _response(event, relation, index):
    noise, buckets = arb(event.noise_parameter), int(event.num_buckets)
    other = noise / buckets
    same = 1 - noise + other
    if relation is not SPECIAL:
        step = (same / other).log()
        middle = (buckets - 2) * other
        if buckets == 2:
            return exact.Atoms([(other, -step), (same, step)])
        return exact.Atoms([(other, -step), (middle, arb(0)), (same, step)], (-step, step))
    low, high = noise.log(), (buckets * same).log()
    if index == 0:
        return exact.Atoms([((buckets - 1) * other, low), (same, high)])
    return exact.Atoms([(arb(1) / buckets, -high), (arb(buckets - 1) / buckets, -low)])


def check_epsilon(parts, relation, delta, lower, upper):
    """Verdicts on [lower, upper] for ε(δ): (of the lower end, of the upper end)."""
    known = truth(parts, relation)
    first = RIGHT
    if math.isinf(lower):
        first = UNKNOWN
    elif lower > 0.0:
        words = {"above": RIGHT, "equal": RIGHT, "below": WRONG, UNKNOWN: UNKNOWN}
        first = words[known.compare(lower, delta)]
    second = RIGHT
    if not math.isinf(upper):
        words = {"above": WRONG, "equal": RIGHT, "below": RIGHT, UNKNOWN: UNKNOWN}
        second = words[known.compare(upper, delta)]
    return first, second


def check_delta(parts, relation, epsilon, lower, upper):
    """Verdicts on [lower, upper] for δ(ε): (of the lower end, of the upper end)."""
    known = truth(parts, relation)
    first = second = RIGHT
    if lower > 0.0:
        words = {"above": RIGHT, "equal": RIGHT, "below": WRONG, UNKNOWN: UNKNOWN}
        first = words[known.compare(epsilon, lower)]
    if upper < 1.0:
        words = {"above": WRONG, "equal": RIGHT, "below": RIGHT, UNKNOWN: UNKNOWN}
        second = words[known.compare(epsilon, upper)]
    return first, second

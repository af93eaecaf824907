"""δ(ε) of two sampled Gaussian steps: condition on the first, closed form for the second.

    δ(ε) = ∫ φ(y)·e^{α(y)}·δ₂(ε − ℓ(y)) dy

Arb's own rigorous integration (`acb.integral`) along the real line, cut at ±R. Where the second
step's profile is 1 − e^ε (all of its losses exceed ε) or 0 (none does) the rest of the line is a
closed form.
"""

from flint import acb, arb, ctx
from oracle_exact import UnknownError, upper_tail

_REACH = 60


def _log_w(law, y):
    (keep, rate), shift = law.weights, law.shifts[1]
    return (keep + rate * (shift * y - shift * shift / 2).exp()).log()


def _tail(x):
    return (x / acb(2).sqrt()).erfc() / 2


def _profile(law, epsilon):
    """δ of one step at complex ε, inside the range of its losses."""
    (keep, rate), c = law.weights, law.shifts[1]
    alpha = epsilon.exp()
    if law.kind == "remove":
        y = (((alpha - keep) / rate).log() + c * c / 2) / c
        return keep * _tail(y) + rate * _tail(y - c) - alpha * _tail(y)
    if law.kind == "add":
        y = (((1 / alpha - keep) / rate).log() + c * c / 2) / c
        return _tail(-y) - alpha * (keep * _tail(-y) + rate * _tail(c - y))
    # replace, mirrored: w(y) = α·w(−y) is a quadratic equation in e^{cy}.
    k = rate * (-c * c / 2).exp()
    half = (alpha - 1) * keep / 2
    root = (half * half + alpha * k * k).sqrt()
    if half.real.mid() < 0:  # the same number without cancellation
        y = (alpha * k / (root - half)).log() / c
    else:
        y = ((half + root) / k).log() / c
    return keep * _tail(y) + rate * _tail(y - c) - alpha * (keep * _tail(y) + rate * _tail(y + c))


def _loss(law, y):
    if law.kind == "replace":  # mirrored: large losses at large y
        return _log_w(law, y) - _log_w(law, -y)
    return _log_w(law, y) if law.kind == "remove" else -_log_w(law, y)


def delta(first, second, epsilon):
    """A ball for δ(ε), ε a ball, of two-part mixtures of the same kind."""
    if len(first.weights) != 2 or len(second.weights) != 2 or not first.shifts[0].is_zero():
        raise UnknownError("two parts only")
    kind = first.kind
    (keep, rate), c = first.weights, first.shifts[1]
    with ctx.workprec(160):
        reach = arb(_REACH) + c
        rest, end = arb(0), reach
        if kind != "replace":
            # Where the second step's whole range is above (remove) or below (add) ε − ℓ.
            edge = second.weights[0].log()
            level = epsilon - edge if kind == "remove" else -epsilon - edge
            inside = (level.exp() - keep) / rate
            if not inside > 0:
                if inside < 0 and kind == "add":
                    return arb(0)
                raise UnknownError("ε is at the edge")
            end = ((inside.log() + c * c / 2) / c).mid()
            if kind == "remove":
                rest = keep * upper_tail(end) + rate * upper_tail(end - c)
                rest -= epsilon.exp() * upper_tail(end)
            if end > reach:
                end = reach

        def integrand(y, analytic):
            loss = _loss(first, y)
            left = epsilon - loss
            value = _profile(second, left)
            if not value.is_finite() and not analytic and y.imag == 0:
                value = acb(arb(0.5, 0.5))  # a profile lies in [0, 1]
            density = (-y * y / 2).exp() / acb(2 * arb.pi()).sqrt()
            if kind == "add":
                return density * value
            return density * value * _log_w(first, y).exp()

        goal = arb(2) ** -60
        where, limits = (acb(-reach), acb(end)), {"eval_limit": 20_000}
        rough = acb.integral(
            integrand, *where, rel_tol=arb(2) ** -12, abs_tol=arb(2) ** -1200, **limits
        )
        scale = abs(rough.real + rest).upper()
        if not scale.is_finite() or scale > 4:
            raise UnknownError("the integral needs too many values")
        value = acb.integral(integrand, *where, rel_tol=goal, abs_tol=scale * goal, **limits)
        outside = 4 * upper_tail(arb(_REACH - 1)) * (1 + epsilon.exp())
        return value.real + rest + arb(0, outside.upper())

r"""Noisy gradient descent of which only the last iterate is released: convex losses, bounded cost.

    x_{k+1} = Π_K(x_k − η·(∇F(x_k) + Z_k)),    Z_k ~ N(0, σ²I) independent,

from a start that does not depend on the data. ∇F and ∇F′ of neighbouring data sets differ by at
most S at every point of K, the noise multiplier is σ/S. If all iterates are released, T steps cost
μ = √T·S/σ. If only x_T is, and F is M-smooth and m-strongly convex with η ≤ 2/M, then earlier steps
are forgotten (Bok, Su, Altschuler, Shifted Interpolation for Differential Privacy, 2024). Their
argument, in units of ηS, with z_k the distance that is still to be made up:

Steps φ and φ′ of the two data sets are c-Lipschitz, c = max(|1 − ηm|, |1 − ηM|) ≤ 1, and |φ − φ′| ≤
s_k, 1 in steps that see the record, else 0. Let X and X′ be the two runs, and from a time τ let

    X̃_τ = X′_τ,    X̃_{k+1} = Π_K(λ·φ(X_k) + (1 − λ)·φ′(X̃_k) + Z_k)    with the noise of X.

Then |X_k − X̃_k| ≤ z_k implies |φ(X_k) − φ′(X̃_k)| ≤ c·z_k + s_k, of which λ makes up a_k ∈ [0,
c·z_k + s_k]: z_{k+1} = c·z_k + s_k − a_k. Beside X′ the process X̃ is moved by at most a_k in each
step, under the same noise, which costs a composition of Gaussians with shifts a_k (adaptive; the
projection is post-processing). If z_T = 0, then X̃_T = X_T, and x_T is μ-GDP with

    μ² = (S/σ)²·Σ a_k²    if  c^{T−τ}·z_τ + Σ_{k>τ} c^{T−k}(s_k − a_k) = 0  and all z_k ≥ 0.

z_0 = 0 at the common start, and z_τ ≤ D/(ηS) at any time if K has diameter D. By Cauchy–Schwarz the
best a_k are proportional to c^{T−k}. They keep z_k ≥ 0: the a_k grow, so once z is negative at the
end of a period of s it is so ever after, and does not end at 0. ∎

It is the last iterate's own cost for quadratic losses without a constraint, whose law is Gaussian.
Stochastic batches are not here: their bound is a composition of sampled Gaussians, no single μ.
"""

import math

from accountants import validate

__all__ = ["cyclic_batches_mu", "full_batch_mu"]

# A few dozen roundings.
_ROUNDING = 1.0 + 1e-13


def full_batch_mu(
    *,
    noise_multiplier: float,
    steps: int,
    step_size: float,
    smoothness: float,
    strong_convexity: float = 0.0,
    diameter: float = math.inf,
    sensitivity: float = 1.0,
) -> float:
    """The μ for which the last iterate of noisy gradient descent is μ-GDP; an upper bound.

    Nothing else may be released, and every gradient must be that of a loss with these properties:
    clipping single records' gradients in general destroys them. Without strong convexity and
    without a diameter it is composition, √steps/noise_multiplier, which is never exceeded.

    Args:
      noise_multiplier: The noise's standard deviation over `sensitivity`.
      steps: How many.
      step_size: η, at most 2/`smoothness`.
      smoothness: M, for every data set.
      strong_convexity: m, likewise; 0 is convex.
      diameter: Of the set that iterates are projected to.
      sensitivity: How far a record moves the gradient, in the units of `step_size` and `diameter`.

    >>> settings = {"noise_multiplier": 8.0, "step_size": 0.5, "smoothness": 1.0}
    >>> round(full_batch_mu(steps=100, **settings), 4)
    1.25
    >>> round(full_batch_mu(steps=100, strong_convexity=0.1, **settings), 4)
    0.776
    >>> round(full_batch_mu(steps=10**9, diameter=4.0, **settings), 4)
    0.7071
    """
    multiplier = validate.positive("noise_multiplier", noise_multiplier)
    steps = validate.count("steps", steps)
    gap = _gap(step_size, smoothness, strong_convexity)
    square = min(float(steps), _from_the_start(gap, steps))
    if diameter != math.inf:
        unit = validate.positive("sensitivity", sensitivity) * step_size
        width = validate.positive("diameter", diameter) / unit
        square = min(square, _from_anywhere(gap, steps, width))
    return math.sqrt(square) / multiplier * _ROUNDING


def cyclic_batches_mu(
    *,
    noise_multiplier: float,
    epochs: int,
    batches: int,
    step_size: float,
    smoothness: float,
    strong_convexity: float = 0.0,
) -> float:
    """The same for steps that go through fixed batches in a fixed order; an upper bound.

    A record is in one batch, the same in every epoch, and moves that batch's gradient by
    1/noise_multiplier of the noise. After its last step all is post-processing; the earlier ones
    are spread over the steps until then. The order must not depend on the data.

    Args:
      noise_multiplier: The noise's standard deviation over a record's share in a batch's gradient.
      epochs: How often all batches are used.
      batches: In an epoch.
      step_size: η, at most 2/`smoothness`.
      smoothness: M, of every batch's loss.
      strong_convexity: m, likewise; 0 is convex.

    >>> settings = {"noise_multiplier": 5.0, "step_size": 0.01, "smoothness": 1.0}
    >>> round(cyclic_batches_mu(epochs=50, batches=20, **settings), 4)  # √50/5 if all are released
    0.3715
    """
    multiplier = validate.positive("noise_multiplier", noise_multiplier)
    epochs, batches = validate.count("epochs", epochs), validate.count("batches", batches)
    gap = _gap(step_size, smoothness, strong_convexity)
    # (Σ over earlier epochs of c^{l−1+il})²/Σ c^{2j}, both sums over the l(E − 1) steps.
    earlier = epochs - 1
    if gap == 0.0:
        spread = earlier / batches
    elif gap == 1.0:
        spread = float(earlier > 0 and batches == 1)
    else:
        decay = math.log1p(-gap)
        per_epoch = math.expm1(batches * decay)
        spread = math.exp((2.0 * batches - 2.0) * decay) * gap * (2.0 - gap) / per_epoch**2
        spread *= math.tanh(-0.5 * earlier * batches * decay)
    return math.sqrt(1.0 + min(float(earlier), spread)) / multiplier * _ROUNDING


def _gap(step_size: float, smoothness: float, strong_convexity: float) -> float:
    """1 − c, rounded down: how much a step contracts at least."""
    eta = validate.positive("step_size", step_size)
    most = validate.positive("smoothness", smoothness)
    least = validate.non_negative("strong_convexity", strong_convexity)
    if least > most:
        raise validate.refusal("strong_convexity", f"at most smoothness={most!r}", least)
    if eta * most > 2.0:
        raise validate.refusal("step_size", f"at most 2/smoothness, {2.0 / most!r}", eta)
    # 1 − |1 − y| at y = ηm and y = ηM, without the difference from 1 for small y.
    gaps = [min(y, 2.0 - y) for y in (eta * least, eta * most)]
    # Of 2 − y the rounding of y counts in full.
    return max(0.0, min(gaps) * (1.0 - 4e-16) - (4e-16 if eta * most > 1.0 else 0.0))


def _from_the_start(gap: float, steps: int) -> float:
    """Σ a_k² from z_0 = 0: (1 − c^T)/(1 + c^T)·(1 + c)/(1 − c)."""
    if gap == 0.0:
        return float(steps)
    if gap == 1.0:
        return 1.0
    return math.tanh(-0.5 * steps * math.log1p(-gap)) * (2.0 - gap) / gap


def _from_anywhere(gap: float, steps: int, width: float) -> float:
    """Σ a_k² from z_τ = `width`, for the best of the last n = T − τ steps.

    It is (c^n·D + (1 − c^n)/(1 − c))²·(1 − c²)/(1 − c^{2n}); with u = c^n and A = 1/(1 − c) its
    derivative in u has the sign of D − A + A·u, so that the best real n is a matter of one
    logarithm, and the best whole n is next to it.
    """
    if gap in (0.0, 1.0):
        best = width if gap == 0.0 else 1.0
    else:
        ends = 1.0 - width * gap
        best = math.log(ends) / math.log1p(-gap) if ends > 0.0 else float(steps)
    near = {max(1, min(steps, n)) for n in _next_to(min(best, float(steps)))}
    return min(_last_steps(gap, n, width) for n in near)


def _next_to(value: float) -> tuple[int, int]:
    return math.floor(value), math.floor(value) + 1


def _last_steps(gap: float, steps: int, width: float) -> float:
    if gap == 0.0:
        return (width + steps) ** 2 / steps
    if gap == 1.0:
        return 1.0
    decay = steps * math.log1p(-gap)
    forgotten = -math.expm1(decay)
    shift = math.exp(decay) * width + forgotten / gap
    return shift**2 * gap * (2.0 - gap) / -math.expm1(2.0 * decay)

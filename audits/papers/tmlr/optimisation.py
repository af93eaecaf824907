"""TMLR's DP optimisation: Theorem 3 and what goes with it (section 3.1, Appendix A)."""

import itertools

from audits.papers import costs
from audits.papers.ledger import Finding, claim, decide, decide_against
from audits.papers.numbers import certified, stated
from audits.papers.tmlr.record_level import DELTA, record_scope
from audits.wording import down, event_words, up
from mechanisms import (
    DPOptimisation,
    FixedSize,
    Layout,
    LocalAveraging,
    Poisson,
    epsilon_bounds,
    project,
    project_clients,
)
from pvi import Adam


def _optimisation(sampling: Poisson | FixedSize, damping: float = 1.0) -> DPOptimisation:
    return DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=2.0,
        steps=50,
        rule=Adam(learning_rate=0.01),
        sampling=sampling,
        damping=damping,
    )


@claim(
    id="tmlr-theorem-3",
    paper="TMLR",
    kind="privacy",
    place="Theorem 3 (A.1)",
    statement="DP optimisation costs T local steps, however many global updates lie between them.",
)
def theorem_3() -> Finding:
    """The events of 20 × 50 and of 1 × 1000 steps, for Poisson sampling."""
    one = costs.poisson_replaced(2.0, 0.05, 1000, DELTA)
    interleaved = epsilon_bounds(
        _optimisation(Poisson(0.05)).plan(Layout(clients=3), rounds=20), record_scope(), DELTA
    )
    same = abs(one.upper - interleaved.upper) < 1e-5
    return decide(
        same,
        figure=f"ε = {interleaved.upper:.4f} for 20 × 50 steps, {one.upper:.4f} for 1000",
        argument="A message is post-processing of noisy steps. The oracle must fit the sampling "
        "that is used: see tmlr-fixed-size.",
        numbers=[
            stated("ε of 20 × 50 steps", one.lower, one.upper),
            certified("ε of 20 × 50 steps", interleaved),
        ],
    )


@claim(
    id="tmlr-fixed-size",
    paper="TMLR",
    kind="privacy",
    place="Appendix A, after Theorem A.1; section 2.2",
    statement="With sampling without replacement and substitution, the ε of the Fourier accountant "
    "bounds the cost of DP optimisation.",
)
def fixed_size() -> Finding:
    """The accountant's ε against a certified lower bound, σ = 2, q = 0.05, T = 1000, δ = 1e-5."""
    pair = costs.poisson_replaced(2.0, 0.05, 1000, DELTA)
    other = costs.poisson(2.0, 0.05, 1000, DELTA)
    actual = costs.fixed_size(2.0, 0.05, 1000, DELTA)
    return decide_against(
        stated=actual.lower <= pair.upper,
        reading="batches are Poisson samples, for which two explicit data sets attain that pair",
        under_reading=pair.upper - pair.lower < 1e-3,
        figure=f"the pair gives {pair.upper:.4f}; fixed size costs at least "
        f"{down(actual.lower, 6)} and at most {up(actual.upper, 6)}; the pair for one record more "
        f"or less gives {other.upper:.4f}",
        argument="The accountant's function for substitution composes the pair (1−q)N(0) + qN(±1) "
        "from q and σ; its documentation says that batches are Poisson samples, Appendix A that "
        "they are drawn without replacement. Let all other gradients be −C·u. In a batch of fixed "
        "size the record's place is taken by another −C·u when it is absent, so that along u the "
        "output is N(0) when its gradient is −C·u, and (1−q)N(0) + qN(2/σ) when it is +C·u: the "
        "shift is 2C, not ±C about a common centre. Under Poisson sampling an absent record leaves "
        "a gap, and the pair fits. The accountant's other function, for one record more or less, "
        "gives less still.",
        numbers=[
            stated("ε, batches of fixed size", 0.0, pair.upper),
            certified("ε, batches of fixed size", actual),
            stated("ε, Poisson batches", 0.0, pair.upper),
            certified("ε, Poisson batches", pair),
            certified("ε, Poisson batches, one record more or less", other),
        ],
    )


@claim(
    id="tmlr-amplification",
    paper="TMLR",
    kind="privacy",
    place="section 3.1",
    statement="More local data at a fixed batch size gives better privacy.",
)
def amplification() -> Finding:
    """ε at batch size 50 for n = 500 … 8000, for both kinds of sampling."""
    sizes = (500, 1000, 2000, 4000, 8000)
    sampled = [costs.poisson_replaced(2.0, 50 / n, 200, DELTA) for n in sizes]
    fixed = [costs.fixed_size(2.0, 50 / n, 200, DELTA) for n in sizes]
    falls = all(a.upper > b.upper for a, b in itertools.pairwise(sampled))
    apart = all(a.lower > b.upper for a, b in itertools.pairwise(fixed))
    return decide(
        falls and apart,
        figure=f"Poisson at most {', '.join(up(b.upper, 4) for b in sampled)}; fixed size at "
        f"least {', '.join(down(b.lower, 4) for b in fixed)}",
        argument="q = b/n falls. For fixed sizes the certified intervals do not even overlap.",
        numbers=[
            certified(f"ε, n = {n}, {kind}", bounds)
            for kind, found in (("Poisson", sampled), ("fixed size", fixed))
            for n, bounds in zip(sizes, found, strict=True)
        ],
    )


@claim(
    id="tmlr-parallel-composition",
    paper="TMLR",
    kind="privacy",
    place="Appendix A, after Theorem A.1",
    statement="The global model is (max ε_m, max δ_m)-DP for any single record.",
)
def parallel_composition() -> Finding:
    """Two clients with different sampling: the worst of their costs against the model's."""
    mechanism = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=2.0,
        steps=50,
        rule=Adam(learning_rate=0.01),
        sampling=(Poisson(0.02), Poisson(0.1)),
    )
    plan = mechanism.plan(Layout(clients=2), rounds=4)
    model = epsilon_bounds(plan, record_scope(), DELTA)
    own = [costs.poisson_replaced(2.0, rate, 200, DELTA).upper for rate in (0.02, 0.1)]
    events = project_clients(plan, record_scope())
    return decide(
        len(events) == 2 and abs(model.upper - max(own)) < 1e-5,
        figure=f"clients {own[0]:.4f} and {own[1]:.4f}, model {model.upper:.4f}",
        argument="A record belongs to one client; given the releases so far, no other client's "
        "message depends on it.",
        numbers=[stated("ε of the model", 0.0, max(own)), certified("ε of the model", model)],
    )


@claim(
    id="tmlr-damping",
    paper="TMLR",
    kind="privacy",
    place="Appendix B, on damping",
    statement="Damping, which all experiments use, costs nothing (implied: no cost is counted).",
)
def damping() -> Finding:
    """The events of plans with damping 0.1 and 1, for optimisation and perturbation."""
    pairs = [
        tuple(
            project(
                _optimisation(Poisson(0.05), value).plan(Layout(clients=2), rounds=3),
                record_scope(),
            )
            for value in (0.1, 1.0)
        ),
        tuple(
            project(
                LocalAveraging(clip_norm=1.0, noise_multiplier=3.0, damping=value).plan(
                    Layout(clients=2, parts=4), rounds=3
                ),
                record_scope(),
            )
            for value in (0.1, 1.0)
        ),
    ]
    return decide(
        all(a == b for a, b in pairs),
        figure=f"{event_words(pairs[0][0])}; {event_words(pairs[1][0])}: with damping and without",
        argument="A public factor multiplies signal and noise alike: post-processing.",
    )

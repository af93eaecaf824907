"""What a peer is asked, in its own words; runs in the peer's own environment, never in ours.

    python asked.py "opacus RDP"     (a question per line on standard input, an answer per line out)

Standard library only at the top: each function imports its peer when it is called. A question is
plain JSON, see `audits.peers.question`. An answer is {"upper": ε}, {"lower": …, "upper": …} or
{"refused": reason}; what the peer raises becomes {"failed": reason}. A peer that cannot be told of
the relation or of an event refuses: it is not blamed for a question that it never took.
"""

import functools
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Question = dict[str, Any]
Release = dict[str, Any]
ADD_OR_REMOVE, REPLACE = "ADD_OR_REMOVE_ONE", "REPLACE_ONE"


class RefusedError(Exception):
    """The peer has no words for this question."""


def _only(question: Question, kinds: tuple[str, ...], relations: tuple[str, ...]) -> list[Release]:
    """The releases, where the peer has words for each kind and for the relation."""
    if question["relation"] not in relations:
        raise RefusedError(f"no way to ask for {question['relation']}")
    for release in question["releases"]:
        if release["kind"] not in kinds:
            raise RefusedError(f"no {release['kind'].replace('_', ' ')}")
    return list(question["releases"])


def _single(releases: list[Release]) -> Release:
    if len(releases) != 1:
        raise RefusedError("one kind of step only")
    return releases[0]


_SAMPLED = ("gaussian", "poisson_gaussian")


def _event(release: Release) -> Any:
    """dp-accounting's event."""
    import dp_accounting as dpa
    from dp_accounting import dp_event

    def noise() -> Any:
        return dpa.GaussianDpEvent(release["noise_multiplier"])

    match release["kind"]:
        case "gaussian":
            return noise()
        case "poisson_gaussian":
            return dpa.PoissonSampledDpEvent(release["sampling_rate"], noise())
        case "fixed_size_gaussian":
            sizes = release["dataset_size"], release["batch_size"]
            return dpa.SampledWithoutReplacementDpEvent(*sizes, noise())
        case "laplace":
            return dpa.LaplaceDpEvent(release["noise_multiplier"])
        case "discrete_laplace":
            shift = release["noise_parameter"], release["sensitivity"]
            return dp_event.DiscreteLaplaceDpEvent(*shift)
        case "randomized_response":
            return dpa.RandomizedResponseDpEvent(release["noise_parameter"], release["num_buckets"])
        case "mixture_of_gaussians":
            return dp_event.MixtureOfGaussiansDpEvent(
                release["standard_deviation"], release["sensitivities"], release["probabilities"]
            )
    raise RefusedError(f"no {release['kind'].replace('_', ' ')}")


def _dp_accounting(make: Callable[..., Any], question: Question) -> dict[str, float]:
    import dp_accounting as dpa

    accountant = make(neighboring_relation=dpa.NeighboringRelation[question["relation"]])
    for release in question["releases"]:
        event = _event(release)
        try:
            accountant.compose(event, release["count"])
        except dpa.UnsupportedEventError as reason:
            raise RefusedError(str(reason)) from reason
    return {"upper": accountant.get_epsilon(question["delta"])}


def dp_accounting_pld(question: Question) -> dict[str, float]:
    """dp_accounting.pld.PLDAccountant, pessimistic, at its default grid."""
    from dp_accounting import pld

    return _dp_accounting(pld.PLDAccountant, question)


def dp_accounting_rdp(question: Question) -> dict[str, float]:
    """dp_accounting.rdp.RdpAccountant at its default orders."""
    from dp_accounting import rdp

    return _dp_accounting(rdp.RdpAccountant, question)


def _history(question: Question) -> list[tuple[float, float, int]]:
    """Rows (noise multiplier, rate, steps), as Opacus and those that follow it keep them."""
    releases = _only(question, _SAMPLED, (ADD_OR_REMOVE,))
    return [
        (release["noise_multiplier"], release.get("sampling_rate", 1.0), release["count"])
        for release in releases
    ]


def _opacus(name: str, question: Question) -> dict[str, float]:
    from opacus import accountants

    accountant = getattr(accountants, name)()
    accountant.history = _history(question)
    return {"upper": accountant.get_epsilon(delta=question["delta"])}


def riskcal(question: Question) -> dict[str, float]:
    """riskcal.accountants.CTDAccountant at its default grid."""
    from riskcal.accountants import CTDAccountant

    accountant = CTDAccountant()
    accountant.history = _history(question)
    return {"upper": accountant.get_epsilon(delta=question["delta"])}


def _jax_privacy(name: str, question: Question) -> dict[str, float]:
    """jax_privacy.accounting.DpsgdTrainingAccountant: sizes instead of a rate."""
    from jax_privacy import accounting
    from jax_privacy.accounting import accountants, analysis

    kinds = (*_SAMPLED, "fixed_size_gaussian")
    release = _single(_only(question, kinds, (ADD_OR_REMOVE, REPLACE)))
    fixed = release["kind"] == "fixed_size_gaussian"
    if fixed != (question["relation"] == REPLACE):
        raise RefusedError(f"no {release['kind']} under {question['relation']}")
    if fixed:
        batch, size = release["batch_size"], release["dataset_size"]
    else:
        rate = release.get("sampling_rate", 1.0)
        batch, size = Fraction(rate).limit_denominator(10**12).as_integer_ratio()
        if batch / size != rate:
            raise RefusedError("no sizes have this rate")
    method = analysis.SamplingMethod
    accountant = accounting.DpsgdTrainingAccountant(getattr(accountants, name)())
    parameters = analysis.DpParams(
        noise_multipliers=release["noise_multiplier"],
        num_samples=size,
        delta=question["delta"],
        batch_size=batch,
        sampling_method=method.FIXED_BATCH_SIZE if fixed else method.POISSON,
    )
    return {"upper": accountant.compute_epsilon(release["count"], parameters)}


def autodp_rdp(question: Question) -> dict[str, float]:
    """Autodp's Composition of mechanisms, by Rényi divergences."""
    from autodp import mechanism_zoo, transformer_zoo

    kinds = (*_SAMPLED, "laplace")
    mechanisms, counts = [], []
    for number, release in enumerate(_only(question, kinds, (ADD_OR_REMOVE,))):
        if release["kind"] == "laplace":
            one = mechanism_zoo.LaplaceMechanism(b=release["noise_multiplier"])
        else:
            one = mechanism_zoo.GaussianMechanism(sigma=release["noise_multiplier"])
        if release["kind"] == "poisson_gaussian":
            sample = transformer_zoo.AmplificationBySampling()
            one = sample(one, release["sampling_rate"], improved_bound_flag=True)
        one.name = f"release {number}"
        mechanisms.append(one)
        counts.append(release["count"])
    composed = transformer_zoo.Composition()(mechanisms, counts)
    return {"upper": composed.get_approxDP(question["delta"])}


def autodp_afa(question: Question) -> dict[str, float]:
    """Autodp's analytical Fourier accountant, the larger of both directions."""
    from autodp import mechanism_zoo, transformer_zoo

    kinds = (*_SAMPLED, "laplace")
    releases = _only(question, kinds, (ADD_OR_REMOVE,))
    counts = [release["count"] for release in releases]
    found = []
    for direction in ("remove_only", "add_only"):
        mechanisms = []
        for number, release in enumerate(releases):
            noise = release["noise_multiplier"]
            if release["kind"] == "laplace":
                one = mechanism_zoo.LaplaceMechanism(b=noise, phi_off=False, RDP_off=True)
            else:
                one = mechanism_zoo.GaussianMechanism(sigma=noise, phi_off=False, RDP_off=True)
            if release["kind"] == "poisson_gaussian":
                sample = transformer_zoo.AmplificationBySampling_pld(True, direction)
                one = sample(one, release["sampling_rate"])
            one.name = f"release {number}"
            mechanisms.append(one)
        composed = transformer_zoo.ComposeAFA()(mechanisms, counts)
        found.append(float(composed.get_approxDP(question["delta"])))
    return {"upper": max(found)}


def prv(question: Question) -> dict[str, float]:
    """prv_accountant at eps_error 0.01, delta_error δ/1000: an interval."""
    import prv_accountant

    releases = _only(question, (*_SAMPLED, "laplace"), (ADD_OR_REMOVE,))
    variables = []
    for release in releases:
        noise = release["noise_multiplier"]
        match release["kind"]:
            case "gaussian":
                variables.append(prv_accountant.GaussianMechanism(noise_multiplier=noise))
            case "laplace":
                variables.append(prv_accountant.LaplaceMechanism(mu=1.0 / noise))
            case _:
                variables.append(
                    prv_accountant.PoissonSubsampledGaussianMechanism(
                        sampling_probability=release["sampling_rate"], noise_multiplier=noise
                    )
                )
    counts = [release["count"] for release in releases]
    delta = question["delta"]
    accountant = prv_accountant.PRVAccountant(
        prvs=variables, max_self_compositions=counts, eps_error=0.01, delta_error=delta / 1000
    )
    lower, _, upper = accountant.compute_epsilon(delta, counts)
    return {"lower": float(lower), "upper": float(upper)}


def pld_accountant(question: Question) -> dict[str, float]:
    """fourier_accountant.get_epsilon_R or _S at 10⁶ points, its window widened until it answers."""
    import fourier_accountant

    release = _single(_only(question, _SAMPLED, (ADD_OR_REMOVE, REPLACE)))
    ask = fourier_accountant.get_epsilon_R
    if question["relation"] == REPLACE:
        ask = fourier_accountant.get_epsilon_S
    for width in (20.0, 100.0, 500.0):
        try:
            upper = ask(
                target_delta=question["delta"],
                sigma=release["noise_multiplier"],
                q=release.get("sampling_rate", 1.0),
                ncomp=release["count"],
                L=width,
            )
        except ValueError:
            if width == 500.0:
                raise
        else:
            return {"upper": float(upper)}
    raise AssertionError


def opendp(question: Question) -> dict[str, float]:
    """OpenDP's Gaussians through zCDP, its Laplace and randomised response as pure."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    kinds = ("gaussian", "laplace", "randomized_response")
    releases = _only(question, kinds, (ADD_OR_REMOVE, REPLACE))
    replace = question["relation"] == REPLACE
    # The sensitivity is the caller's to state: 2C where a record of norm C is replaced.
    distance = 2.0 if replace else 1.0
    if len({release["kind"] == "gaussian" for release in releases}) != 1:
        raise RefusedError("no mixture of zCDP and pure releases")
    if releases[0]["kind"] == "gaussian":
        domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=1)
        space = domain, dp.l2_distance(T=float)
        rho = math.fsum(
            release["count"]
            * dp.m.make_gaussian(*space, scale=release["noise_multiplier"]).map(distance)
            for release in releases
        )
        # One Gaussian of the same ρ, for OpenDP's own conversion: its ρ is (distance/scale)²/2.
        whole = dp.m.make_gaussian(*space, scale=1.0)
        converted = dp.c.make_zCDP_to_approxDP(whole)
        return {"upper": converted.map(math.sqrt(2.0 * rho)).epsilon(question["delta"])}
    total = 0.0
    for release in releases:
        if release["kind"] == "laplace":
            space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
            one = dp.m.make_laplace(*space, scale=release["noise_multiplier"]).map(distance)
        else:
            buckets = release["num_buckets"]
            keep = 1.0 - release["noise_parameter"] * (1.0 - 1.0 / buckets)
            one = dp.m.make_randomized_response(list(range(buckets)), keep).map(1)
        total += release["count"] * one
    return {"upper": total}


def random_allocation(question: Question) -> dict[str, float]:
    """Feldman and Shenfeld's random_allocation, the best of its bounds."""
    from random_allocation.comparisons.structs import PrivacyParams, SchemeConfig
    from random_allocation.random_allocation_scheme import combined

    release = _single(_only(question, ("balls_in_bins",), (ADD_OR_REMOVE,)))
    parameters = PrivacyParams(
        sigma=release["noise_multiplier"],
        num_steps=release["steps_per_epoch"],
        num_epochs=release["count"],
        delta=question["delta"],
    )
    # The orders of its own examples: without any it refuses.
    config = SchemeConfig(allocation_direct_alpha_orders=list(range(2, 61)))
    return {"upper": combined.allocation_epsilon_combined(parameters, config)}


METHODS: dict[str, Callable[[Question], dict[str, float]]] = {
    "dp-accounting PLD": dp_accounting_pld,
    "dp-accounting RDP": dp_accounting_rdp,
    "opacus RDP": functools.partial(_opacus, "RDPAccountant"),
    "opacus PRV": functools.partial(_opacus, "PRVAccountant"),
    "opacus GDP": functools.partial(_opacus, "GaussianAccountant"),
    "jax-privacy PLD": functools.partial(_jax_privacy, "PldAccountantConfig"),
    "jax-privacy RDP": functools.partial(_jax_privacy, "RdpAccountantConfig"),
    "riskcal": riskcal,
    "autodp RDP": autodp_rdp,
    "autodp AFA": autodp_afa,
    "prv-accountant": prv,
    "pld-accountant": pld_accountant,
    "opendp": opendp,
    "random-allocation": random_allocation,
}


def answer(method: str, question: Question) -> dict[str, Any]:
    """The peer's answer, as numbers or as the reason why there is none."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: dict[str, Any] = dict(METHODS[method](question))
        found = {name: float(value) for name, value in found.items()}
    except RefusedError as reason:
        found = {"refused": str(reason)[:200]}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        found = {"failed": f"{type(error).__name__}: {error}"[:200]}
    return found | {"seconds": time.perf_counter() - begin}


def main() -> None:
    """Answers each line of standard input; what a peer prints goes to standard error."""
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(answer(sys.argv[1], json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()

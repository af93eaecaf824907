"""Puts a case to its accountant and the answer to the oracle; one word says what came out.

right        both ends proved
half         one end proved, nothing known of the other
open         neither proved nor refuted
refused      UnsupportedEventError, or a ValueError that names the argument and what is allowed
wrong lower, wrong upper   the opposite is proved
nan, crossed (lower > upper), infinite (although a finite bound is known), slow, memory, crash
"""

import dataclasses
import math
import resource
import signal
import time

import oracle
from attack_cases import Case
from dp_accounting import UnsupportedEventError

from accountants import FourierAccountant, MomentsAccountant, RenyiAccountant

FAILURES = (
    "wrong lower", "wrong upper", "nan", "crossed", "infinite", "slow", "memory", "crash",
)  # fmt: skip
SECONDS = 20.0
ORACLE_SECONDS = 2.5
BYTES = 4 * 2**30


class _TooLongError(BaseException):
    """Not an Exception, so that nobody's `except Exception` swallows it."""


def _ring(_signal, _frame):
    raise _TooLongError


def within(seconds, compute):
    """compute(), or _TooLongError after so many seconds of this process's own time."""
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return compute()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def limit_memory():
    """From here on this process gets no more than 4 GB of addresses."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def answer(case):
    """The accountant's interval."""
    relation = case.neighbours
    if case.accountant == "fourier":
        accountant = FourierAccountant(relation, tolerance=case.tolerance)
    else:
        accountant = {"renyi": RenyiAccountant, "moments": MomentsAccountant}[case.accountant](
            relation
        )
    for event, count in case.composition:
        accountant.compose(event, count)
    if case.question == "epsilon":
        return accountant.get_epsilon_bounds(case.at)
    return accountant.get_delta_bounds(case.at)


def finite_bound(case):
    """A proved upper bound of ε: pure ε's, and the Gaussians without their sampling (in balls)."""
    pure, gaussian = oracle.arb(0), oracle.arb(0)
    factor = 2 if case.relation == "REPLACE_ONE" else 1
    for kind, *rest, count in case.parts:
        if kind == "gaussian":
            gaussian += count * (factor / oracle.arb(rest[0])) ** 2
        elif kind in ("poisson", "fixed"):
            gaussian += count * (factor / oracle.arb(rest[-1])) ** 2
        elif kind == "mixture":
            gaussian += count * (max(rest[1]) / oracle.arb(rest[0])) ** 2
        elif kind == "laplace":
            pure += count * factor / oracle.arb(rest[0])
        elif kind == "geometric":
            pure += count * factor * oracle.arb(rest[0]) * rest[1]
        else:
            noise, buckets = oracle.arb(rest[0]), rest[1]
            pure += count * ((1 - noise + noise / buckets) * buckets / noise).log()
    mu = gaussian.sqrt()
    tail = (-2 * oracle.arb(case.at).log()).sqrt() if case.question == "epsilon" else oracle.arb(0)
    return float((pure + mu * mu / 2 + mu * tail).upper())


def judge(case, bounds):
    """(word, verdicts of the oracle, why there is none) on an interval."""
    lower, upper = bounds
    if math.isnan(lower) or math.isnan(upper):
        return "nan", None, ""
    if lower > upper:
        return "crossed", None, ""
    if case.question == "epsilon" and math.isinf(upper) and math.isfinite(finite_bound(case)):
        return "infinite", None, ""
    check = oracle.check_epsilon if case.question == "epsilon" else oracle.check_delta
    oracle.REASONS.clear()
    try:
        verdicts = within(
            ORACLE_SECONDS, lambda: check(case.composition, case.neighbours, case.at, lower, upper)
        )
    except (_TooLongError, MemoryError, ArithmeticError, OverflowError) as reason:
        oracle.REASONS.append(f"{type(reason).__name__} {reason}")
        verdicts = (oracle.UNKNOWN, oracle.UNKNOWN)
    for side, verdict in zip(("lower", "upper"), verdicts, strict=True):
        if verdict == oracle.WRONG:
            return f"wrong {side}", verdicts, ""
    word = {2: "right", 1: "half", 0: "open"}[sum(v == oracle.RIGHT for v in verdicts)]
    return word, verdicts, "" if word == "right" else "; ".join(dict.fromkeys(oracle.REASONS))


def attack(case):
    """The record of one case, as JSON."""
    record = case.to_json()
    start = time.process_time()
    try:
        bounds = within(SECONDS, lambda: answer(case))
    except UnsupportedEventError as reason:
        return record | {"word": "refused", "reason": str(reason)[:200]}
    except ValueError as reason:
        word = "refused" if str(reason).startswith("`") else "crash"
        return record | {"word": word, "reason": f"ValueError: {reason}"[:300]}
    except _TooLongError:
        return record | {"word": "slow", "seconds": SECONDS}
    except MemoryError:
        return record | {"word": "memory"}
    except Exception as reason:
        return record | {"word": "crash", "reason": f"{type(reason).__name__}: {reason}"[:300]}
    seconds = round(time.process_time() - start, 3)
    return judged(record | {"lower": bounds[0], "upper": bounds[1], "seconds": seconds})


def judged(record):
    """A record with an answer, and what the oracle says of it."""
    fields = {field.name for field in dataclasses.fields(Case)}
    case = Case.from_json({name: record[name] for name in fields})
    start = time.process_time()
    word, verdicts, why = judge(case, (record["lower"], record["upper"]))
    seconds = round(time.process_time() - start, 3)
    return record | {"word": word, "verdicts": verdicts, "why": why, "oracle_seconds": seconds}

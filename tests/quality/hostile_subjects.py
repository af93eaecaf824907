"""Every public callable with a valid call: what the sweep of hostile arguments starts from.

`subjects()` walks the public names (`__all__`, else what a module defines), their public methods
and class methods. A parameter's valid value comes from `OWN`, by callable, or else from `EXAMPLES`,
by name; a parameter that has a default needs neither. A public callable whose valid call fails is a
fault of this table, and the tests say so.
"""

import contextlib
import importlib
import inspect
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dp_accounting as dpa
import federated_tools
import numpy as np
from dp_accounting import NeighboringRelation

import accountants
import audits
import mechanisms
import pvi
from accountants import codec
from accountants.crosscheck import Row
from audits.specimens import SPECIMENS
from mechanisms import federated

MODULES = (
    "accountants",
    "accountants.classical",
    "accountants.codec",
    "accountants.gaussian",
    "accountants.rounding",
    "accountants.sampling",
    "pvi",
    "pvi.data",
    "mechanisms",
    "mechanisms.federated",
    "audits",
    "audits.estimators.one_run",
    "audits.pairs",
    "audits.specimens",
)
LEFT_OUT = {
    "accountants.IntervalAccountant": "abstract; its subclasses are here",
    "audits.Claim": "abstract; its subclasses are here",
    "audits.AuditFailedError": "an error",
    "audits.Method": "an enumeration",
    "audits.Word": "an enumeration",
    "audits.WorkerLostError": "an error",
    "mechanisms.BudgetExceededError": "an error",
    "mechanisms.UnsupportedEventError": "an error",
    "mechanisms.federated.Courier": "abstract; two of its kind are here",
    "mechanisms.federated.HolderRefusedError": "an error",
    "mechanisms.federated.NobodyAnswersError": "an error",
    "mechanisms.federated.PermissionRefusedError": "an error",
    "mechanisms.federated.SealError": "an error",
    "pvi.ImproperGaussianError": "an error",
    "pvi.ProtocolError": "an error",
    "pvi.StaleSnapshotError": "an error",
    "pvi.data.DataUnavailableError": "an error",
    "pvi.data.HashMismatchError": "an error",
    "pvi.data.load_adult": "downloads",
    "pvi.data.load_mimic": "needs files that nobody may pass on",
    "accountants.codec.expect": "a check; the readers that use it are here",
    "accountants.codec.check_values": "a check; the readers that use it are here",
    "accountants.codec.too_deep": "a refusal",
    "accountants.codec.expect_keys": "a check; the readers that use it are here",
    "audits.hunt": "by design up to thirty seconds; `assert_private` and `audit` share its checks",
    "audits.specimens.run_zoo": "minutes; `examine` is the same, one by one",
}
# Plain records of results, made by the packages themselves: anything may stand in them.
RESULTS = {
    "accountants.Bounds",
    "accountants.EpsilonCurve",
    "accountants.MembershipRisk",
    "accountants.TradeOff",
    "audits.specimens.Expected",
    "audits.specimens.LintResult",
    "mechanisms.Clipped",
    "mechanisms.Screened",
    "pvi.Alteration",
    "pvi.Batch",
    "pvi.Delivery",
    "pvi.Draw",
    "pvi.LocalResult",
    "pvi.Packed",
    "pvi.Wish",
}

# Told by the caller, who is one of us, which name to use.
CHECKS = ("accountants.codec.decode_real", "accountants.sampling.check")

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _shard() -> pvi.Shard:
    return pvi.Shard(inputs=[[1.0, 0.5], [1.0, -0.5], [0.5, 0.1]], targets=[1.0, -1.0, 1.0])


def _shards() -> list[pvi.Shard]:
    return [_shard(), _shard()]


def _model() -> pvi.LinearRegression:
    return pvi.LinearRegression(dimension=2, noise_std=1.0)


def _q() -> pvi.MeanFieldGaussian:
    return pvi.MeanFieldGaussian.from_mean_variance([0.1, 0.2], [1.0, 2.0])


def _solver() -> pvi.ExactSolver:
    return pvi.ExactSolver()


def _rule() -> pvi.SGD:
    return pvi.SGD(learning_rate=0.01)


def _context() -> pvi.Context:
    return pvi.Context(client=0, round=1, rng=_rng())


def _problem() -> pvi.LocalProblem:
    return pvi.LocalProblem(
        model=_model(),
        shard=_shard(),
        cavity=_q(),
        start=_q(),
        state={},
        temperature=1.0,
        context=_context(),
    )


def _strategy() -> pvi.WholeShard:
    return pvi.WholeShard(model=_model(), shard=_shard(), solver=_solver())


def _clients() -> list[pvi.Client]:
    return [pvi.Client(m, _strategy()) for m in range(2)]


def _federation() -> pvi.Federation:
    return pvi.Federation(_q(), _clients(), pvi.Synchronous(), rng=_rng())


def _snapshot() -> pvi.Snapshot:
    return pvi.Snapshot(client=0, round=1, posterior=_q(), resolved=0, applied=False)


_REVISION: dict[str, Any] = {
    "client": 0,
    "number": 1,
    "sequence": 0,
    "kind": "reset",
    "share": _q(),
}


def _proposing() -> pvi.Client:
    client = _clients()[0]
    client.propose(_snapshot(), _rng())
    return client


def _round_event() -> pvi.RoundEvent:
    return pvi.RoundEvent(
        round=1,
        last_round=2,
        finished=False,
        posterior=_q(),
        clients=(0, 1),
        change=0.1,
        seconds=0.1,
    )


def _mechanism() -> mechanisms.ParameterPerturbation:
    return mechanisms.ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=4.0, precision_floor=1.0
    )


def _optimisation() -> mechanisms.DPOptimisation:
    return mechanisms.DPOptimisation(clip_norm=1.0, noise_multiplier=4.0, steps=2, rule=_rule())


def _experiment() -> mechanisms.Experiment:
    return mechanisms.Experiment(
        mechanism=_mechanism(),
        model=_model(),
        clients=2,
        rounds=1,
        delta=1e-5,
        solver=_solver(),
    )


def _setting(solver: bool = True) -> mechanisms.Setting:
    return mechanisms.Setting(model=_model(), prior=_q(), solver=_solver() if solver else None)


def _layout() -> mechanisms.Layout:
    return mechanisms.Layout(clients=2, sizes=(3, 3))


def _transcript() -> tuple[mechanisms.Release, ...]:
    return _mechanism().plan(_layout(), rounds=1)


def _contribution() -> mechanisms.Contribution:
    return mechanisms.Contribution(client=0, clips="part", clip_norm=1.0, noise_std=4.0)


def _averaging() -> mechanisms.FedAvgPerturbation:
    return mechanisms.FedAvgPerturbation(
        clip_norm=1.0, noise_multiplier=4.0, rule=_rule(), weights=(0.5, 0.5)
    )


def _accountant() -> accountants.FourierAccountant:
    return accountants.FourierAccountant().compose(dpa.GaussianDpEvent(2.0))


def _certificate() -> accountants.Certificate:
    return _accountant().certify([1e-5])


def _claim() -> audits.Claim:
    return audits.GaussianClaim(1.0)


def _evidence() -> audits.Evidence:
    return audits.Evidence(
        method=audits.Method.SEQUENTIAL_AUDIT, samples=10, confidence=0.9, epsilon_lower=0.5
    )


def _verdict() -> audits.Verdict:
    return audits.Verdict(word=audits.Word.NOT_REFUTED, claim=_claim(), evidence=_evidence())


def noisy(data: Any, rng: np.random.Generator, n: int) -> Any:
    return float(np.sum(data)) + rng.normal(size=n)


def _noise(rng: np.random.Generator, n: int) -> Any:
    return rng.normal(size=n)


def _scores(seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=40)


def _budget() -> mechanisms.Budget:
    return mechanisms.Budget(target_epsilon=1.0, delta=1e-5)


def _assay() -> audits.Assay:
    return audits.Assay(
        name="x",
        scope=mechanisms.Scope(),
        delta=1e-5,
        certificate=_certificate(),
        refusal="",
        attained=True,
        verdict=_verdict(),
    )


@cache
def _table_file() -> Path:
    file = Path(tempfile.mkdtemp()) / "records.csv"
    file.write_text("client,x,target\n0,1.0,1.0\n1,2.0,-1.0\n", encoding="utf-8")
    return file


@cache
def _experiment_file() -> Path:
    file = Path(tempfile.mkdtemp()) / "experiment.json"
    file.write_text(_experiment().to_json(), encoding="utf-8")
    return file


def _owners_folder() -> Path:
    """With a permission and a key."""
    return federated_tools.permit(Path(tempfile.mkdtemp())).parent


@cache
def _owner() -> Any:
    return federated_tools.Owner(Path(tempfile.mkdtemp()), records=_shard())


def _asked() -> bytes:
    question = federated_tools.Question(client=0)
    return bytes(_owner().seal.ask(federated_tools.bundle([question], run="a run")))


@cache
def _budget_file() -> Path:
    file = Path(tempfile.mkdtemp()) / "budget.json"
    file.write_text(_budget().to_json(), encoding="utf-8")
    return file


@cache
def _checkpoint_file() -> Path:
    file = Path(tempfile.mkdtemp()) / "state.npz"
    pvi.save(file, _federation())
    return file


def _trained() -> pvi.FederatedAveraging:
    return pvi.FederatedAveraging(
        _model(), [_shard(), _shard()], rule=_rule(), local_steps=1, rng=_rng()
    )


Maker = Callable[[], Any]


def _terms() -> mechanisms.SumTerms:
    return mechanisms.SumTerms(clients=3, least=2, records=9, noise_multiplier=1.0)


EXAMPLES: dict[str, Maker] = {
    "advantage": lambda: 0.1,
    "diameter": lambda: 4.0,
    "epochs": lambda: 3,
    "false_positive_rate": lambda: 0.01,
    "smoothness": lambda: 1.0,
    "step_size": lambda: 0.5,
    "strong_convexity": lambda: 0.1,
    "acknowledgement": lambda: pvi.Acknowledgement(client=0, sequence=1, applied=True),
    "accountant": _accountant,
    "alpha": lambda: 0.1,
    "alphas": lambda: [0.1, 0.5],
    "applied": lambda: True,
    "array": lambda: np.array([1.0, 2.0]),
    "assignment": lambda: "identity",
    "batch_shape": lambda: (),
    "batch_size": lambda: 2,
    "batches": lambda: 10,
    "bits": lambda: np.array([[0.5], [-0.5]]),
    "bounds": lambda: accountants.Bounds(1.0, 2.0),
    "budget": _budget,
    "cavity": _q,
    "certificate": _certificate,
    "change": _q,
    "claim": _claim,
    "classes": lambda: [0, 1, 1],
    "client": lambda: 0,
    "clients": lambda: 2,
    "clip_norm": lambda: 1.0,
    "clip_norms": lambda: (1.0, 2.0),
    "clips": lambda: "part",
    "confidence": lambda: 0.9,
    "context": _context,
    "count": lambda: 3,
    "count_std": lambda: 5.0,
    "covariance": lambda: np.eye(2),
    "damping": lambda: 0.5,
    "data": _shards,
    "delta": lambda: 1e-5,
    "deltas": lambda: [1e-5],
    "dimension": lambda: 2,
    "direction": lambda: (1.0, 0.0),
    "distance": lambda: 1e-6,
    "draws": lambda: 10,
    "epsilon": lambda: 0.5,
    "epsilons": lambda: np.array([0.0, 1.0]),
    "event": lambda: dpa.GaussianDpEvent(2.0),
    "evidence": _evidence,
    "experiment": _experiment,
    "factor": _q,
    "features": lambda: [[1.0, 2.0], [3.0, 4.0]],
    "federation": _federation,
    "first": lambda: _scores(0),
    "flawed": lambda: noisy,
    "gradient": lambda: np.array([1.0, 2.0]),
    "gradients": lambda: np.array([[1.0, 2.0], [0.0, 1.0]]),
    "group": lambda: 0,
    "guesses": lambda: importlib.import_module("audits.estimators.one_run").Guesses(10, 8, 6),
    "history": lambda: [(1.0, 0.01, 100)],
    "included": lambda: [True, False] * 20,
    "index": lambda: 0,
    "indices": lambda: np.array([0, 1]),
    "initial_norm": lambda: 1.0,
    "inputs": lambda: [[1.0, 0.5], [1.0, -0.5], [0.5, 0.1]],
    "labels": lambda: [0, 1, 0],
    "layout": _layout,
    "learning_rate": lambda: 0.1,
    "local_steps": lambda: 1,
    "log_first": lambda: lambda x: 0.0,
    "log_second": lambda: lambda x: 0.0,
    "made": lambda: 4,
    "mean": lambda: [0.0, 0.0],
    "mechanism": _mechanism,
    "method": lambda: "by hand",
    "model": _model,
    "mu": lambda: 1.0,
    "n": lambda: 4,
    "name": lambda: "x",
    "natural_mean": lambda: [1.0, 2.0],
    "neighboring_relation": lambda: ADD,
    "noise": mechanisms.SimulationNoise,
    "noise_multiplier": lambda: 4.0,
    "noise_std": lambda: 1.0,
    "number": lambda: 0,
    "order": lambda: 8.0,
    "other": _q,
    "outputs": lambda: np.arange(8.0).reshape(4, 2),
    "pair": lambda: ([0.0, 1.0], [0.0]),
    "parts": lambda: 2,
    "path": lambda: str(_table_file()),
    "points": lambda: ((1e-5, 1.0, 2.0),),
    "posterior": _q,
    "precision": lambda: [1.0, 2.0],
    "prior": _q,
    "probability_first_lower": lambda: 0.9,
    "probability_second_upper": lambda: 0.1,
    "problem": _problem,
    "problems": lambda: [_problem()],
    "profile": lambda: lambda epsilon: max(0.0, 0.5 - epsilon),
    "q": _q,
    "relation": lambda: ADD,
    "repaired": lambda: noisy,
    "reference": lambda: "a page",
    "explanation": lambda: "because",
    "flaw": lambda: "There is none.",
    "rho": lambda: 0.5,
    "rng": _rng,
    "round": lambda: 1,
    "rounds": lambda: 1,
    "rows": lambda: np.array([[3.0, 4.0], [0.1, 0.2]]),
    "rule": _rule,
    "samples": lambda: 10,
    "sampling": lambda: "poisson",
    "sampling_rate": lambda: 0.5,
    "schedule": pvi.Synchronous,
    "scope": mechanisms.Scope,
    "scopes": lambda: [mechanisms.Scope()],
    "scores": lambda: np.arange(40.0),
    "second": lambda: _scores(1),
    "sender": lambda: 0,
    "sequence": lambda: 1,
    "setting": _setting,
    "settings": lambda: mechanisms.AdaptiveClip(initial_norm=1.0, batch_size=10, count_std=5.0),
    "shard": _shard,
    "shards": _shards,
    "share": _q,
    "size": lambda: 3,
    "sizes": lambda: (1, 2),
    "slack": lambda: 1e-6,
    "snapshot": _snapshot,
    "solver": _solver,
    "source": _contribution,
    "specimen": lambda: next(iter(SPECIMENS.values())),
    "start": _q,
    "state": dict,
    "std": lambda: 1.0,
    "std_in_steps": lambda: 1e6,
    "steps": lambda: 3,
    "strategy": _strategy,
    "target_delta": lambda: 1e-5,
    "target_epsilon": lambda: 1.0,
    "targets": lambda: [1.0, -1.0, 1.0],
    "temperature": lambda: 1.0,
    "text": lambda: "{}",
    "transcript": _transcript,
    "seed": lambda: 7,
    "steps_per_epoch": lambda: 10,
    "upper": lambda: 1.0,
    "lower": lambda: 0.0,
    "value": lambda: 0.5,
    "variance": lambda: [1.0, 1.0],
    "vector": lambda: [1.0, 2.0, 3.0, 4.0],
    "verdict": _verdict,
    "view": lambda: mechanisms.MESSAGES,
    "weights": lambda: np.array([0.5, 0.5]),
    "word": lambda: audits.Word.NOT_REFUTED,
}
OWN: dict[str, dict[str, Maker]] = {
    "accountants.CombinedFilter.spend": {"event": lambda: dpa.GaussianDpEvent(20.0)},
    "accountants.GaussianFilter.admits": {"event": lambda: dpa.GaussianDpEvent(20.0)},
    "accountants.GaussianFilter.spend": {"event": lambda: dpa.GaussianDpEvent(20.0)},
    "accountants.calibrate_noise_to_risk": {"mu": lambda: 1.0},
    "accountants.remaining_steps": {"after": lambda: dpa.GaussianDpEvent(20.0)},
    "accountants.RenyiFilter.spend": {"event": lambda: dpa.GaussianDpEvent(20.0)},
    "accountants.classical.gaussian_epsilon": {"noise_multiplier": lambda: 20.0},
    "audits.Claim.of": {"stated": _claim},
    "mechanisms.Budget.spend": {"event": lambda: dpa.GaussianDpEvent(20.0)},
    "pvi.AveragedShards.part_changes": {
        "state": lambda: (pvi.PartState(),) * 2,
        "cavities": lambda: [_q(), _q()],
    },
    "pvi.VirtualShards.part_changes": {
        "state": lambda: (pvi.PartState(),) * 2,
        "cavities": lambda: [_q(), _q()],
    },
    "pvi.data.Scaler": {
        "shift": lambda: np.zeros(2),
        "scale": lambda: np.ones(2),
        "lower": lambda: np.zeros(2),
        "upper": lambda: np.ones(2),
        "data_dependent": lambda: False,
    },
    "accountants.Bounds.intersect": {"other": lambda: accountants.Bounds(0.0, 1.0)},
    "accountants.Bounds.larger": {"other": lambda: accountants.Bounds(0.0, 1.0)},
    "accountants.Certificate.from_json": {"text": lambda: _certificate().to_json()},
    "accountants.CrossCheck": {
        "rows": lambda: (
            Row(accountant="dp-assay x", lower=0.0, upper=1.0, seconds=0.1, ours=True),
        )
    },
    "accountants.DiscreteGaussianDpEvent": {"standard_deviation": lambda: 2.0},
    "accountants.EpsilonCurve": {
        "steps": lambda: np.array([1, 2]),
        "lower": lambda: np.array([1.0, 2.0]),
        "upper": lambda: np.array([1.0, 2.0]),
    },
    "accountants.MembershipRisk": {
        "prior": lambda: 0.5,
        "accuracy": lambda: accountants.Bounds(0.5, 0.6),
        "advantage": lambda: accountants.Bounds(0.1, 0.2),
    },
    "accountants.UserDpEvent": {"records": lambda: 2},
    "accountants.cyclic_poisson_event": {"bands": lambda: 3, "steps": lambda: 10},
    "accountants.classical.advanced_composition": {"epsilon": lambda: 0.5},
    "accountants.codec.check_format": {
        "kind": lambda: "k",
        "document": lambda: {"format": "k", "version": codec.VERSION},
    },
    "accountants.codec.decode_event": {
        "data": lambda: codec.encode_event(dpa.GaussianDpEvent(1.0))
    },
    "accountants.codec.decode_relation": {"value": lambda: "REPLACE_ONE"},
    "accountants.codec.dump_document": {"kind": lambda: "k", "body": lambda: {"a": 1}},
    "accountants.codec.load_document": {
        "kind": lambda: "k",
        "text": lambda: codec.dump_document("k", {"a": 1}),
    },
    "accountants.codec.read_json": {"text": lambda: "{}"},
    "accountants.epsilon_curve": {"steps": lambda: [1, 10]},
    "accountants.event_from_json": {
        "text": lambda: accountants.event_to_json(dpa.GaussianDpEvent(1.0))
    },
    "accountants.gaussian.log_delta_error": {"a": lambda: 1.0},
    "accountants.membership_risk": {"prior": lambda: 0.5},
    "accountants.sampling.check": {"value": lambda: "poisson"},
    "accountants.sampling.check_accounted": {"value": lambda: "poisson"},
    "audits.Assay": {"refusal": lambda: "", "attained": lambda: True},
    "audits.Claim.from_json": {"text": lambda: _claim().to_json()},
    "audits.Evidence": {"method": lambda: audits.Method.ONE_RUN},
    "audits.Evidence.from_dictionary": {"body": lambda: _evidence().as_dictionary()},
    "audits.Evidence.from_json": {"text": lambda: _evidence().to_json()},
    "audits.LinearScore": {
        "centre": lambda: np.zeros(2),
        "scale": lambda: np.ones(2),
        "weights": lambda: np.ones(4),
    },
    "audits.LinearScore.features": {"matrix": lambda: np.arange(8.0).reshape(4, 2)},
    "audits.LinearScore.learn": {
        "first": lambda: np.arange(8.0).reshape(4, 2),
        "second": lambda: np.ones((4, 2)),
    },
    "audits.LinearScore.standardised": {"matrix": lambda: np.arange(8.0).reshape(4, 2)},
    "audits.QuadraticScore": {
        "centre": lambda: np.zeros(2),
        "scale": lambda: np.ones(2),
        "weights": lambda: np.ones(9),
    },
    "audits.QuadraticScore.features": {"matrix": lambda: np.arange(8.0).reshape(4, 2)},
    "audits.QuadraticScore.standardised": {"matrix": lambda: np.arange(8.0).reshape(4, 2)},
    "audits.Canaries": {
        "records": lambda: np.eye(2),
        "included": lambda: np.array([True, False]),
    },
    "audits.Canaries.inserted_into": {"data": lambda: np.ones((3, 2))},
    "audits.Canaries.scores": {"released": lambda: np.ones(2)},
    "audits.canaries_needed": {
        "claim": lambda: audits.PointClaim(0.5, 1e-5),
        "accuracy": lambda: 0.9,
    },
    "audits.Summary": {"name": lambda: "sum"},
    "audits.TabulatedProfile": {"points": lambda: ((0.0, 0.5), (1.0, 0.1))},
    "audits.Verdict.from_json": {"text": lambda: _verdict().to_json()},
    "audits.assay": {"max_samples": lambda: 200},
    "audits.assert_private": {
        "mechanism": lambda: noisy,
        "max_samples": lambda: 400,
        "require_conclusive": lambda: False,
        "pair": lambda: ([0.0, 1.0], [0.0]),
        "options": lambda: None,
    },
    "audits.audit": {"mechanism": lambda: noisy, "max_samples": lambda: 200},
    "audits.audit_noise": {"noise": lambda: _noise, "max_samples": lambda: 100},
    "audits.estimate_epsilon": {"mechanism": lambda: noisy, "max_samples": lambda: 200},
    "audits.estimators.one_run.Guesses": {
        "canaries": lambda: 10,
        "made": lambda: 8,
        "right": lambda: 6,
    },
    "audits.estimators.one_run.curve_p_value": {"curve": lambda: _claim().region()},
    "audits.repeat": {"function": lambda: lambda data, rng: 0.0},
    "audits.specimens.Examination": {
        "flawed": _verdict,
        "repaired": _verdict,
    },
    "audits.specimens.Expected": {
        "flawed": lambda: audits.Word.REFUTED,
        "repaired": lambda: audits.Word.NOT_REFUTED,
    },
    "audits.specimens.Lint": {
        "flawed": lambda: lambda: None,
        "repaired": lambda: lambda: None,
    },
    "audits.specimens.LintResult": {
        "claimed": lambda: 1.0,
        "found": lambda: 1.0,
        "sentence": lambda: "",
    },
    "audits.specimens.Lint.as_expected": {
        "self": lambda: next(iter(importlib.import_module("audits.specimens").LINTS.values()))
    },
    "audits.specimens.Specimen": {
        "statistic": lambda: None,
        "expected": lambda: importlib.import_module("audits.specimens").CAUGHT,
        "pair": lambda: audits.Pair([0.0], [1.0]),
    },
    "audits.specimens.Witness": {"event": lambda: "something"},
    "audits.specimens.as_json": {"examinations": list},
    "audits.specimens.examine": {
        "specimen": lambda: audits.specimens.Specimen(
            name="x",
            flaw="There is none.",
            reference="x",
            explanation="x",
            claim=_claim(),
            flawed=noisy,
            repaired=noisy,
            pair=audits.Pair([0.0], [1.0]),
            statistic=audits.Summary("sum"),
            expected=audits.specimens.CAUGHT,
            max_samples=100,
        )
    },
    "mechanisms.AveragingRun": {
        "partitions": lambda: [mechanisms.Partition.whole(shard) for shard in _shards()],
        "mechanism": _averaging,
        "setting": lambda: _setting(solver=False),
        "contributions": lambda: _averaging().contributions(_layout()),
        "keep_values": lambda: True,
    },
    "mechanisms.AveragingRun.run": {
        "self": lambda: _averaging().build(_setting(solver=False), _shards(), _rng())
    },
    "mechanisms.Budget.from_json": {"text": lambda: _budget().to_json()},
    "mechanisms.Budget.load": {"path": lambda: str(_budget_file())},
    "mechanisms.BudgetedSchedule": {"contributions": lambda: _mechanism().contributions(_layout())},
    "mechanisms.BudgetedSchedule.groups": {},
    "mechanisms.Clipped": {"screened": lambda: 0},
    "mechanisms.DPOptimisation.build": {"setting": lambda: _setting(solver=False)},
    "mechanisms.Experiment": {"delta": lambda: 1e-5, "solver": _solver},
    "mechanisms.Experiment.build": {},
    "mechanisms.federated.Coordinator": {
        "experiment": federated_tools.optimisation,
        "seals": lambda: dict.fromkeys(range(3), _owner().seal),
        "courier": lambda: federated.InProcess({}),
    },
    "mechanisms.federated.Permission": {
        "data": lambda: Path("records.csv"),
        "target": lambda: "target",
        "coordinator": lambda: "the tests",
        "key": lambda: _owners_folder() / "seal.key",
        "state": lambda: Path("state"),
        "mechanisms": lambda: ("dp_optimisation",),
        "most_clip_norm": lambda: 1.0,
        "least_noise": lambda: 1.0,
    },
    "mechanisms.federated.Holder": {
        "permission": lambda: federated.Permission.load(_owners_folder() / "permission.toml")
    },
    "mechanisms.federated.Holder.answer": {"asked": _asked},
    "mechanisms.federated.InProcess": {"holders": lambda: {0: lambda asked: asked}},
    "mechanisms.federated.InProcess.exchange": {"asked": lambda: {0: b"how?"}},
    "mechanisms.federated.LocalSockets": {"doors": lambda: {}},
    "mechanisms.federated.LocalSockets.exchange": {"asked": lambda: {}},
    "mechanisms.federated.Permission.load": {
        "path": lambda: str(_owners_folder() / "permission.toml")
    },
    "mechanisms.federated.Permission.check": {
        "experiment": federated_tools.optimisation,
        "client": lambda: 0,
    },
    "mechanisms.federated.Seal": {"key": lambda: bytes(32)},
    "mechanisms.federated.Seal.load": {"path": lambda: str(_owners_folder() / "seal.key")},
    "mechanisms.federated.Seal.ask": {"content": lambda: b"how?"},
    "mechanisms.federated.Seal.open_ask": {"sealed": _asked},
    "mechanisms.federated.Seal.answer": {"asked": _asked, "content": lambda: b"so"},
    "mechanisms.federated.Seal.open_answer": {
        "asked": _asked,
        "sealed": lambda: _owner().seal.answer(_asked(), b"so"),
    },
    "mechanisms.federated.new_key": {"path": lambda: str(Path(tempfile.mkdtemp()) / "new.key")},
    "mechanisms.Experiment.build_client": {"number": lambda: 1, "data": _shard},
    "mechanisms.Experiment.partition_of": {"number": lambda: 1, "data": _shard},
    **{
        f"mechanisms.{name}.build_client": {
            "number": lambda: 1,
            "data": lambda: mechanisms.Partition.whole(_shard()),
        }
        for name in (
            "CentralNoise",
            "DPOptimisation",
            "LocalAveraging",
            "NoiseSplitting",
            "ParameterPerturbation",
            "VirtualClients",
        )
    },
    "mechanisms.Experiment.from_json": {"text": lambda: _experiment().to_json()},
    "mechanisms.Experiment.from_toml": {"text": lambda: _experiment().to_toml()},
    "mechanisms.Experiment.load": {"path": lambda: str(_experiment_file())},
    "mechanisms.FedAvgPerturbation.build": {"setting": lambda: _setting(solver=False)},
    "mechanisms.FedAvgPerturbation.build_client": {
        "setting": lambda: _setting(solver=False),
        "number": lambda: 1,
        "data": lambda: mechanisms.Partition.whole(_shard()),
    },
    "mechanisms.FixedSize.event": {
        "step": lambda: dpa.GaussianDpEvent(1.0),
        "relation": lambda: REPLACE,
    },
    "mechanisms.AllRecords.event": {"step": lambda: dpa.GaussianDpEvent(1.0)},
    "mechanisms.BallsInBins.event": {"step": lambda: dpa.GaussianDpEvent(1.0)},
    "mechanisms.Poisson.event": {"step": lambda: dpa.GaussianDpEvent(1.0)},
    "mechanisms.Shuffled.event": {
        "step": lambda: dpa.GaussianDpEvent(1.0),
        "relation": lambda: REPLACE,
    },
    "mechanisms.LayerClip.__call__": {
        "self": lambda: mechanisms.LayerClip(sizes=(1, 1), clip_norms=(1.0, 2.0))
    },
    "mechanisms.DistributedSum": {
        "rounding": lambda: mechanisms.Rounding(clip_norm=1.0, spacing=0.25, coordinates=2),
        "clients": lambda: 3,
        "least": lambda: 2,
        "colluders": lambda: 1,
        "law": lambda: "skellam",
        "bits": lambda: 32,
        "unit": lambda: "record",
    },
    "mechanisms.SumTerms.sum_of": {
        "rounding": lambda: mechanisms.Rounding(clip_norm=1.0, spacing=0.25, coordinates=2),
        "diameter": lambda: 1.0,
    },
    "mechanisms.SumTerms": {"clients": lambda: 3, "least": lambda: 2, "records": lambda: 9},
    "mechanisms.ColumnSums": {"terms": _terms, "lower": lambda: (0.0,), "upper": lambda: (1.0,)},
    "mechanisms.ColumnSums.encode": {"features": lambda: [[0.5]]},
    "mechanisms.ColumnSums.scaler": {"total": lambda: [3, 2, 1]},
    "mechanisms.ClassCounts": {"terms": _terms, "classes": lambda: 2},
    "mechanisms.ClassCounts.encode": {"labels": lambda: [0, 1]},
    "mechanisms.ClassCounts.counts": {"total": lambda: [3, 2]},
    "mechanisms.ClassCounts.weights": {"total": lambda: [3, 2]},
    "mechanisms.DistributedSum.decode": {"total": lambda: [3, -4]},
    "mechanisms.DistributedSum.encode": {"rows": lambda: np.array([[0.3, 0.4]])},
    "mechanisms.Rounding": {"coordinates": lambda: 2, "spacing": lambda: 0.25},
    "mechanisms.Layout.of": {
        "data": lambda: [mechanisms.Partition.whole(shard) for shard in _shards()]
    },
    "mechanisms.Observation.__call__": {},
    "mechanisms.Partition": {"shards": lambda: tuple(_shards())},
    "mechanisms.Prior": {"mean": lambda: 0.0, "variance": lambda: 1.0},
    "mechanisms.PrivateRun": {
        "clients": _clients,
        "recorder": lambda: importlib.import_module("mechanisms.private_run").Recorder(),
    },
    "mechanisms.PrivateRun.run": {
        "self": lambda: _mechanism().build(_setting(), _shards(), _rng())
    },
    "mechanisms.QuantileTracker.update": {},
    "mechanisms.Release": {"value": lambda: np.array([1.0])},
    "mechanisms.Screened": {"positions": lambda: (0,)},
    "mechanisms.ScopedCost": {},
    "mechanisms.Setting": {"solver": _solver},
    "mechanisms.Setting.refuse_solver": {"self": lambda: _setting(solver=False)},
    "mechanisms.View": {"kind": lambda: "messages"},
    "mechanisms.WorstCase": {
        "first": lambda: (mechanisms.Partition.whole(_shard()),),
        "second": lambda: (mechanisms.Partition.whole(_shard()),),
        "description": lambda: "x",
    },
    "mechanisms.dominates": {"other": lambda: dpa.GaussianDpEvent(3.0)},
    "mechanisms.require_match": {"sampler": pvi.FullBatch},
    "mechanisms.sample_discrete_gaussian": {"variance": lambda: 4},
    "mechanisms.seen": {
        "transcript": lambda: _run_transcript(),
        "repetitions": lambda: 1,
    },
    "pvi.Adam.step": {},
    "pvi.Alteration": {"sent": _q},
    "pvi.Asynchronous": {"rates": lambda: (1.0, 2.0)},
    "pvi.Batch": {
        "indices": lambda: np.array([0]),
        "mask": lambda: None,
        "expected_size": lambda: 1.0,
    },
    "pvi.Client.acknowledge": {"self": _proposing},
    "pvi.Client.revise": {"revision": lambda: pvi.Revision(**_REVISION)},
    "pvi.Codec": {"kinds": lambda: pvi.PROTOCOL.kinds},
    "pvi.Codec.decode": {
        "content": lambda: pvi.PROTOCOL.encode(_snapshot(), run="a"),
    },
    "pvi.Codec.encode": {"message": _snapshot, "run": lambda: "a"},
    "pvi.Codec.including": {"kinds": lambda: pvi.Kind.of("shard", pvi.Shard)},
    "pvi.Kind": {
        "name": lambda: "a",
        "message": lambda: pvi.Snapshot,
        "pack": lambda: pvi.PROTOCOL.kinds[0].pack,
        "unpack": lambda: pvi.PROTOCOL.kinds[0].unpack,
    },
    "pvi.Kind.of": {"name": lambda: "a", "kind": lambda: pvi.Snapshot},
    "pvi.Client.retry": {"self": _proposing},
    "pvi.Client.withdraw": {"self": _proposing},
    "pvi.Delivery": {"run": lambda: "a", "message": _snapshot},
    "pvi.Draw": {"rows": _shard, "factor": lambda: 1.0},
    "pvi.ExactSolver.solve": {},
    "pvi.FederatedAveraging.run": {},
    "pvi.FederatedAveraging": {"start": lambda: np.zeros(2)},
    "pvi.Federation": {"clients": _clients},
    "pvi.GradientSolver.solve_parts": {},
    "pvi.History": {
        "round": lambda: np.array([1]),
        "posterior": lambda: np.array([[0.0, 0.0, 1.0, 1.0]]),
        "change": lambda: np.array([0.1]),
        "updates": lambda: np.array([2]),
        "notes": lambda: ("",),
    },
    "pvi.LocalProblem": {},
    "pvi.MeanFieldGaussian.damp": {"new": _q},
    "pvi.MeanFieldGaussian.unit": {},
    "pvi.Progress": {"stream": io.StringIO},
    "pvi.Progress.__call__": {"event": _round_event},
    "pvi.Report": {
        "converged": lambda: True,
        "change": lambda: 0.1,
        "history": lambda: _federation().history,
        "reason": lambda: "",
    },
    "pvi.RoundEvent": {
        "last_round": lambda: 2,
        "finished": lambda: False,
        "clients": lambda: (0,),
        "change": lambda: 0.1,
        "seconds": lambda: 0.1,
    },
    "pvi.Revision": {"kind": lambda: "reset", "share": _q, "number": lambda: 1},
    "pvi.Server.receive": {"updates": lambda: _update()},
    "pvi.Server.withdraw": {"withdrawal": lambda: pvi.Withdrawal(client=0, sequence=1)},
    "pvi.ServerContext": {"clients": lambda: (0,)},
    "pvi.Shard.partition": {},
    "pvi.Snapshot": {"resolved": lambda: 0},
    "pvi.StackedSolver": {"solver": lambda: pvi.GradientSolver(rule=_rule(), steps=2)},
    "pvi.StepContext": {"step": lambda: 1, "expected_batch_size": lambda: 1.0},
    "pvi.Update": {},
    "pvi.Wish": {},
    "pvi.global_vi": {"sampling": pvi.RecordSampling},
    "pvi.reset_factors": {
        "server": lambda: pvi.Server(_q(), 2),
        "clients": _clients,
    },
    "pvi.restore": {"path": lambda: str(_checkpoint_file()), "engine": _federation},
    "pvi.save": {
        "path": lambda: str(Path(tempfile.mkdtemp()) / "state.npz"),
        "engine": _federation,
    },
    "pvi.Packed": {"facts": dict, "arrays": dict},
    "pvi.Federation.unpack": {"packed": lambda: _federation().pack()},
    "pvi.FederatedAveraging.unpack": {
        "self": _trained,
        "packed": lambda: _trained().pack(),
    },
    "mechanisms.Budget.book": {
        "charges": lambda: [mechanisms.Charge(0, dpa.GaussianDpEvent(20.0), 1, 0.0)]
    },
    "mechanisms.Budget.adopt": {"books": lambda: _budget().books},
    "pvi.scaled_sum": {
        "context": lambda: pvi.StepContext(
            client=0, round=1, rng=_rng(), step=0, size=2, expected_batch_size=2.0
        )
    },
    "pvi.committee": {"variant": lambda: "same"},
    "pvi.AveragedShards.propose": {"state": lambda: (pvi.PartState(),) * 2},
    "pvi.VirtualShards.propose": {
        "state": lambda: (pvi.PartState(factor=pvi.MeanFieldGaussian.unit(2)),) * 2
    },
    "pvi.WholeShard.propose": {"state": lambda: (pvi.PartState(),)},
    "pvi.kl_to_full": {"mean": lambda: np.zeros(2)},
    "pvi.data.Dataset": {
        "features": lambda: np.ones((3, 2)),
        "labels": lambda: np.array([1.0, -1.0, 1.0]),
    },
    "pvi.data.Dataset.take": {"rows": lambda: [0, 1]},
    "pvi.data.Split": {
        "clients": lambda: (np.array([0]), np.array([1])),
        "leftover": lambda: np.array([2]),
    },
    "pvi.data.Split.shares": {"labels": lambda: [0, 1], "label": lambda: 1.0},
    "pvi.data.balance": {},
    "pvi.data.credit_data": {"records": lambda: 2000, "clients": lambda: 3},
    "pvi.data.fill_missing": {"fill": lambda: [0.0, 0.0]},
    "pvi.data.holdout": {"count": lambda: 4, "train": lambda: 2},
    "pvi.data.linear_data": {"theta": lambda: [1.0, 2.0], "noise_scale": lambda: 1.0},
    "pvi.data.logistic_data": {"theta": lambda: [1.0, 2.0]},
    "pvi.data.scaler_from_bounds": {"lower": lambda: [0.0], "upper": lambda: [1.0]},
    "pvi.data.split": {
        "labels": lambda: [0, 1] * 20,
        "clients": lambda: 4,
        "rho": lambda: 0.0,
        "kappa": lambda: 0.0,
    },
}


def _update() -> pvi.Update:
    return _clients()[0].propose(_snapshot(), _rng())


def _run_transcript() -> tuple[mechanisms.Release, ...]:
    run = _mechanism().build(_setting(), _shards(), _rng())
    run.run(1)
    return run.transcript


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A public callable, and how to call it rightly.

    Attributes:
      name: Where it is found.
      call: The callable; for a method, `self` is one of the arguments.
      required: What a valid call hands in, by name.
      parameters: All parameters, with their examples: a maker, or the default.
      variadic: The name of `*arguments`, if it takes any.
    """

    name: str
    call: Callable[..., Any]
    required: Mapping[str, Maker]
    parameters: Mapping[str, Maker | None]
    variadic: str | None = None

    def __call__(self, changed: Mapping[str, Any]) -> Any:
        """Calls with some arguments exchanged."""
        arguments = {name: maker() for name, maker in self.required.items() if name not in changed}
        arguments |= changed
        positional = [arguments.pop("self")] if "self" in arguments else []
        if self.variadic is not None:
            positional.append(arguments.pop(self.variadic, None))
        found = self.call(*positional, **arguments)
        if inspect.isgenerator(found) or isinstance(found, map):
            return list(found)
        return found


def subjects(modules: tuple[str, ...] = MODULES) -> dict[str, Subject]:
    """All of them, by name."""
    found: dict[str, Subject] = {}
    seen: set[int] = set()
    for module in modules:
        for name, value in _public(module):
            full = f"{module}.{name}"
            if full in LEFT_OUT and not inspect.isclass(value):
                continue
            if id(value) in seen:
                continue
            seen.add(id(value))
            for subject in _of(full, value):
                found[subject.name] = subject
    return found


def _public(module: str) -> Iterator[tuple[str, Any]]:
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module
    ]
    for name in names:
        value = getattr(loaded, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, value


def _of(full: str, value: Any) -> Iterator[Subject]:
    if not inspect.isclass(value):
        yield _subject(full, value, value)
        return
    if getattr(value, "_is_protocol", False) or issubclass(value, BaseException):
        return
    if full not in LEFT_OUT:
        yield _subject(full, value, value)
    for name, member in _members(value):
        if name.startswith("_") and name != "__call__":
            continue
        if inspect.isfunction(member) and full not in LEFT_OUT:
            yield _subject(f"{full}.{name}", member, member, owner=full)
        elif isinstance(member, classmethod | staticmethod) and name in vars(value):
            bound = getattr(value, name)
            yield _subject(f"{full}.{name}", bound, bound)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] not in ("accountants", "audits", "mechanisms", "pvi"):
            continue
        for name, member in vars(base).items():
            if name not in seen:
                seen.add(name)
                yield name, member


def _subject(
    full: str, call: Callable[..., Any], signed: Callable[..., Any], owner: str | None = None
) -> Subject:
    required: dict[str, Maker] = {}
    parameters: dict[str, Maker | None] = {}
    variadic = None
    own = OWN.get(full, {})
    for name, parameter in inspect.signature(signed).parameters.items():
        if name == "self" and owner is not None:
            required["self"] = own.get("self", lambda: _instance(owner))
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            variadic = name
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD or name.startswith("_"):
            continue
        elif full.startswith(CHECKS) and name == "name":
            required[name] = EXAMPLES[name]
            continue
        has_default = parameter.default is not inspect.Parameter.empty
        maker = own.get(name) or (None if has_default else EXAMPLES.get(name))
        if maker is not None:
            required[name] = maker
            parameters[name] = maker
        elif has_default:
            parameters[name] = lambda parameter=parameter: parameter.default
        else:
            parameters[name] = None
    return Subject(full, call, required, parameters, variadic)


def _instance(owner: str) -> Any:
    if owner in SELVES:
        return SELVES[owner]()
    module, _, name = owner.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    return _subject(owner, cls, cls)({})


SELVES: dict[str, Maker] = {
    "accountants.FourierAccountant": _accountant,
    "accountants.MomentsAccountant": lambda: accountants.MomentsAccountant().compose(
        dpa.GaussianDpEvent(2.0)
    ),
    "accountants.RenyiAccountant": lambda: accountants.RenyiAccountant().compose(
        dpa.GaussianDpEvent(2.0)
    ),
    "mechanisms.Experiment": _experiment,
    "mechanisms.FedAvgPerturbation": _averaging,
    "mechanisms.federated.Coordinator": lambda: federated.Coordinator(
        federated_tools.optimisation(clients=1),
        {0: _owner().seal},
        federated.InProcess({0: _owner().holder.answer}),
        rng=_rng(),
    ),
    "mechanisms.federated.Holder": lambda: _owner().holder,
    "mechanisms.federated.Permission": lambda: _owner().holder.permission,
    "mechanisms.federated.Seal": lambda: _owner().seal,
    "mechanisms.federated.InProcess": lambda: federated.InProcess({0: lambda asked: asked}),
    "pvi.data.Scaler": lambda: importlib.import_module("pvi.data").fit_scaler(
        [[1.0, 2.0], [3.0, 4.0]]
    ),
}


def failing_baselines() -> dict[str, str]:
    """Subjects whose valid call fails, with the reason: faults of this table."""
    failures = {}
    for name, subject in subjects().items():
        with contextlib.suppress(SystemExit):
            try:
                subject({})
            except Exception as error:  # what failed is the answer
                failures[name] = f"{type(error).__name__}: {error}"
    return failures

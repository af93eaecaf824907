"""The adapters in jax-privacy, dp-accounting and Flower themselves."""

import json
import math
import os
import subprocess
from pathlib import Path

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant
from accountants.adapters.flower import rounds_event

ROOT = Path(__file__).resolve().parents[3]
JAX = """
import json
from jax_privacy import accounting
from accountants.adapters.jax_privacy import fourier_config

config = fourier_config()
params = accounting.DpParams(
    noise_multipliers=1.0, num_samples=60_000, delta=1e-5, batch_size=600
)
found = {}
for name, one in (("ours", config), ("pld", accounting.PldAccountantConfig())):
    training = accounting.DpsgdTrainingAccountant(dp_accountant_config=one)
    found[name] = training.compute_epsilon(1000, params)
found["bounds"] = list(config.last.get_epsilon_bounds(1e-5))
found["certificate"] = config.last.certify([1e-5]).to_json()
noise = accounting.calibrate_noise_multiplier(
    target_epsilon=2.0,
    accountant=accounting.DpsgdTrainingAccountant(dp_accountant_config=config),
    batch_sizes=600,
    num_updates=1000,
    num_samples=60_000,
    target_delta=1e-5,
)
found["noise"] = float(noise)
print(json.dumps(found))
"""


@pytest.mark.slow
def test_jax_privacy_with_our_accountant(tmp_path):
    """In an environment of its own; ε = 1.828236 is dp-accounting's, see tests/golden."""
    from audits.peers import environment

    try:
        python = environment.python(("jax-privacy==2.0.0",))
    except environment.InstallError as reason:
        pytest.skip(f"jax-privacy cannot be installed here: {reason}")
    file = tmp_path / "asked.py"
    file.write_text(JAX)
    where = {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [str(python), str(file)], env=os.environ | where, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    lower, upper = found["bounds"]
    assert found["ours"] == upper
    assert lower <= 1.828237
    assert upper == pytest.approx(1.828236, abs=2e-6)
    assert found["pld"] >= lower
    assert json.loads(found["certificate"])["points"][0][2] == upper
    spent = FourierAccountant().compose(
        dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(found["noise"])), 1000
    )
    assert spent.get_epsilon(1e-5) <= 2.0 + 1e-9


def test_dp_accounting_calibrates_with_our_accountant():
    """Its own search, with our upper end; by closed form σ = 1 costs 4.37717809568121."""
    noise = dpa.calibrate_dp_mechanism(
        FourierAccountant, dpa.GaussianDpEvent, 4.37717809568121, 1e-5, tol=1e-7
    )
    assert noise == pytest.approx(1.0, abs=1e-6)


def _strategies():
    serverapp = pytest.importorskip("flwr.serverapp.strategy")
    inner = serverapp.FedAvg()
    fixed = serverapp.DifferentialPrivacyServerSideFixedClipping(inner, 1.5, 2.0, 10)
    adaptive = serverapp.DifferentialPrivacyServerSideAdaptiveClipping(
        inner, noise_multiplier=0.8, num_sampled_clients=100, clipped_count_stddev=5.0
    )
    return inner, fixed, adaptive


def test_flowers_fixed_clipping():
    inner, fixed, _ = _strategies()
    event = rounds_event(fixed, rounds=20, clients=10, uniform_weights=True)
    # 20 Gaussians at σ = 1.5 by dp-accounting.
    exact = dpa.get_epsilon_gaussian(1.5 / math.sqrt(20.0), 1e-5)
    found = FourierAccountant().compose(event).get_epsilon(1e-5)
    assert found == pytest.approx(exact, rel=1e-6)
    sampled = rounds_event(fixed, rounds=20, clients=100, uniform_weights=True)
    assert sampled.event == dpa.SampledWithoutReplacementDpEvent(100, 10, dpa.GaussianDpEvent(1.5))
    accountant = FourierAccountant(NeighboringRelation.REPLACE_ONE).compose(sampled)
    whole = FourierAccountant(NeighboringRelation.REPLACE_ONE).compose(event)
    assert accountant.get_epsilon(1e-5) < whole.get_epsilon(1e-5)
    with pytest.raises(ValueError, match="`uniform_weights` must be True"):
        rounds_event(fixed, rounds=20, clients=10, uniform_weights=False)
    with pytest.raises(ValueError, match="`clients` must be at least 10"):
        rounds_event(fixed, rounds=20, clients=9, uniform_weights=True)
    with pytest.raises(ValueError, match="got a FedAvg"):
        rounds_event(inner, rounds=20, clients=10, uniform_weights=True)


def test_flowers_adaptive_clipping_counts_the_count():
    """Flower shares σ = 0.8 out, taking one client to move the count by ½; it moves it by 1."""
    *_, adaptive = _strategies()
    event = rounds_event(adaptive, rounds=1, clients=100, uniform_weights=True)
    share = 1.0 / math.sqrt(adaptive.noise_multiplier**-2 + 5.0**-2)
    assert event.event.noise_multiplier == pytest.approx(share, rel=1e-12)
    assert event.event.noise_multiplier < 0.8

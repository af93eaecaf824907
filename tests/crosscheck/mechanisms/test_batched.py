"""Many repetitions at once: the same law as one at a time."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from mechanism_tools import RecordingNoise

from mechanisms import CentralNoise, LocalAveraging, ParameterPerturbation, Partition, Setting
from pvi import ExactSolver, LinearRegression, MeanFieldGaussian, Shard

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "bench_mechanisms.py"


def load_benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_of_mechanisms", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", load_benchmark().runs(1))
def test_the_benchmark_runs(name):
    """Its times are read, not asserted; a benchmark that no longer runs is found here."""
    result = load_benchmark().runs(3)[name]()
    assert result is not None


class ReplayedNoise(RecordingNoise):
    """Adds noise that another run has drawn, for one of its repetitions."""

    def __init__(self, drawn, repetition):
        super().__init__()
        self.queue = [noise[repetition] for noise in drawn]

    def noisy_sum(self, rows, std, rng):
        return rows.sum(axis=-2) + self.queue.pop(0)


@pytest.mark.parametrize("kind", [ParameterPerturbation, LocalAveraging, CentralNoise])
@pytest.mark.parametrize("memory", ["remembers", "forgets", "resets"])
def test_a_batch_is_its_repetitions_one_by_one(kind, memory):
    rng = np.random.default_rng(0)
    model = LinearRegression(dimension=2, noise_std=1.0)
    data = [Shard(inputs=rng.normal(size=(6, 2)), targets=rng.normal(size=6)) for _ in range(3)]
    if kind is LocalAveraging:
        data = [Partition.by_position(shard, 2) for shard in data]
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.full(2, 0.01))

    def run(noise, start):
        built = kind(
            clip_norm=2.0,
            noise_multiplier=3.0,
            damping=0.7,
            memory=memory,
            reset_every=2,
            noise=noise,
            precision_floor=5.0,
        ).build(
            Setting(model=model, prior=start, solver=ExactSolver()), data, np.random.default_rng(1)
        )
        built.run(4)
        return built

    recorder = RecordingNoise()
    batch = run(recorder, prior.broadcast_to((5,)))
    for repetition in range(5):
        single = run(ReplayedNoise(recorder.drawn, repetition), prior)
        assert np.allclose(single.posterior.vector, batch.posterior.vector[repetition], rtol=1e-10)
        for one, many in zip(single.transcript, batch.transcript, strict=True):
            assert np.allclose(one.value, many.value[repetition], rtol=1e-9, atol=1e-9)

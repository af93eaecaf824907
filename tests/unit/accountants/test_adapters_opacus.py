"""The adapter in the real Opacus: engine, registry, calibration, and loaders of every kind."""

import warnings

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, ShuffledDpEvent

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from opacus import PrivacyEngine  # noqa: E402
from torch.utils.data import (  # noqa: E402
    DataLoader,
    IterableDataset,
    RandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from accountants.adapters.opacus import (  # noqa: E402
    CertifiedAccountant,
    describe_loader,
    register,
    training_event,
)

RECORDS, BATCH = 64, 16


def data(records=RECORDS):
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(records, 3, generator=generator)
    return TensorDataset(inputs, (inputs[:, 0] > 0).float())


def trained(loader, *, passes=2, poisson=True, accountant="dp-assay", epsilon=None, noises=(1.3,)):
    """A training with Opacus, as its documentation has it."""
    register()
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = PrivacyEngine(accountant=accountant)
        common = {
            "module": model,
            "optimizer": optimizer,
            "data_loader": loader,
            "max_grad_norm": 1.0,
            "poisson_sampling": poisson,
        }
        if epsilon is None:
            model, optimizer, loader = engine.make_private(noise_multiplier=noises[0], **common)
        else:
            model, optimizer, loader = engine.make_private_with_epsilon(
                target_epsilon=epsilon, target_delta=1e-5, epochs=passes, **common
            )
        for number in range(passes):
            if epsilon is None:
                optimizer.noise_multiplier = noises[min(number, len(noises) - 1)]
            for inputs, targets in loader:
                optimizer.zero_grad()
                if len(inputs):
                    loss = torch.nn.functional.binary_cross_entropy_with_logits(
                        model(inputs).squeeze(1), targets
                    )
                    loss.backward()
                    optimizer.step()
                else:
                    optimizer.step()
    return engine, loader, optimizer


def test_an_engine_with_our_accountant_by_name():
    engine, loader, _ = trained(DataLoader(data(), batch_size=BATCH, shuffle=True))
    assert type(engine.accountant) is CertifiedAccountant
    assert len(engine.accountant) == 8
    pld = dpa.pld.PLDAccountant(value_discretization_interval=1e-3)
    pld.compose(dpa.PoissonSampledDpEvent(0.25, dpa.GaussianDpEvent(1.3)), 8)
    bounds = engine.accountant.get_epsilon_bounds(1e-5)
    assert engine.get_epsilon(1e-5) == bounds.upper
    assert bounds.lower <= pld.get_epsilon(1e-5) <= bounds.upper * 1.02
    report = describe_loader(loader)
    assert (report.kind, report.rate, report.data_size) == ("poisson", 0.25, RECORDS)
    event, relation = training_event(engine.accountant, loader)
    assert relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    assert FourierAccountant(relation).compose(event).get_epsilon_bounds(1e-5) == bounds
    assert engine.accountant.certify([1e-5]).bounds(1e-5) == bounds


def test_calibration_by_opacus_ends_within_the_target():
    loader = DataLoader(data(), batch_size=BATCH, shuffle=True)
    engine, _, optimizer = trained(loader, epsilon=3.0)
    assert 2.9 < engine.get_epsilon(1e-5) <= 3.0
    exact = FourierAccountant().compose(
        dpa.PoissonSampledDpEvent(0.25, dpa.GaussianDpEvent(optimizer.noise_multiplier)), 8
    )
    assert exact.get_epsilon(1e-5) == pytest.approx(engine.get_epsilon(1e-5), rel=1e-9)


def test_a_state_is_saved_and_loaded_as_opacus_does():
    engine, *_ = trained(DataLoader(data(), batch_size=BATCH), noises=(1.3, 1.7))
    state = engine.accountant.state_dict()
    again = CertifiedAccountant()
    again.load_state_dict(state)
    assert again.history == [(1.3, 0.25, 4), (1.7, 0.25, 4)]
    assert again.get_epsilon(1e-5) == engine.get_epsilon(1e-5)


def test_a_shuffled_loader_is_noticed_and_costs_what_shuffling_does():
    """15 passes of an explicit shuffle are at most 15 Gaussians; Opacus's own ε is far less."""
    shuffled = DataLoader(data(), batch_size=BATCH, shuffle=True)
    engine, loader, _ = trained(shuffled, poisson=False, accountant="prv")
    report = describe_loader(loader)
    assert (report.kind, report.batches, report.share) == ("shuffled", 4, 1.0)
    event, relation = training_event(engine.accountant, loader)
    assert relation is NeighboringRelation.REPLACE_SPECIAL
    assert event.events[0] == dpa.SelfComposedDpEvent(
        ShuffledDpEvent(4, dpa.GaussianDpEvent(1.3), 1.0), 2
    )
    bounds = FourierAccountant(relation).compose(event).get_epsilon_bounds(1e-5)
    # Two Gaussians at σ = 1.3 by dp-accounting.
    twice = dpa.get_epsilon_gaussian(1.3 / 2**0.5, 1e-5)
    assert bounds.upper == pytest.approx(twice, rel=1e-6)
    with pytest.raises(ValueError, match="REPLACE_ONE or REPLACE_SPECIAL"):
        training_event(engine.accountant, loader, relation=NeighboringRelation.ADD_OR_REMOVE_ONE)


def test_batches_in_order_are_one_gaussian_a_pass():
    engine, loader, _ = trained(DataLoader(data(), batch_size=BATCH), poisson=False, passes=3)
    assert describe_loader(loader).kind == "in_order"
    event, _ = training_event(engine.accountant, loader)
    assert event.events == [dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.3), 3)]


def test_accumulated_batches_are_refused():
    """Opacus counts k accumulated batches as one of k times the rate: a record may be in all."""
    accountant = CertifiedAccountant()
    _, loader, _ = trained(DataLoader(data(), batch_size=BATCH), passes=1)
    accountant.step(noise_multiplier=1.0, sample_rate=0.5)
    with pytest.raises(ValueError, match=r"loader's rate 0\.25 in its history, got 0\.5"):
        training_event(accountant, loader)


def test_a_stopped_pass_is_refused():
    engine, loader, _ = trained(DataLoader(data(), batch_size=BATCH), poisson=False, passes=1)
    engine.accountant.step(noise_multiplier=1.3, sample_rate=0.25)
    with pytest.raises(ValueError, match="whole passes of 4 steps"):
        training_event(engine.accountant, loader)


class Stream(IterableDataset):
    def __iter__(self):
        return iter([])


class Biased(RandomSampler):
    """A subclass may do anything."""


LOADERS = {
    "dropped": (DataLoader(data(70), batch_size=16, shuffle=True, drop_last=True), "shuffled"),
    "kept": (DataLoader(data(70), batch_size=16, shuffle=True), "shuffled"),
    "replaced": (
        DataLoader(data(), batch_size=16, sampler=RandomSampler(data(), replacement=True)),
        "with_replacement",
    ),
    "some": (
        DataLoader(data(), batch_size=16, sampler=RandomSampler(data(), num_samples=32)),
        "unknown",
    ),
    "weighted": (
        DataLoader(data(), batch_size=16, sampler=WeightedRandomSampler([1.0] * RECORDS, RECORDS)),
        "unknown",
    ),
    "own": (DataLoader(data(), batch_size=16, sampler=Biased(data())), "unknown"),
    "stream": (DataLoader(Stream(), batch_size=16), "unknown"),
    "no batches": (DataLoader(data(), batch_size=None), "unknown"),
}


@pytest.mark.parametrize("name", LOADERS)
def test_loaders_are_told_apart(name):
    loader, kind = LOADERS[name]
    report = describe_loader(loader)
    assert report.kind == kind
    if name == "dropped":
        assert (report.batches, report.share) == (4, pytest.approx(64 / 70))
        assert "the last 6 of a pass are left out" in report.words
    if name == "weighted":
        assert "pays most" in report.words
    if kind != "shuffled":
        accountant = CertifiedAccountant()
        accountant.step(noise_multiplier=1.0, sample_rate=0.25)
        with pytest.raises(ValueError, match="must be one that can be accounted for"):
            training_event(accountant, loader)


@pytest.mark.parametrize(
    ("noise", "rate"), [(0.0, 0.1), (-1.0, 0.1), (float("nan"), 0.1), (1.0, 0.0), (1.0, 1.1)]
)
def test_steps_that_cannot_be_are_refused(noise, rate):
    with pytest.raises(ValueError, match="must be"):
        CertifiedAccountant().step(noise_multiplier=noise, sample_rate=rate)


def test_nothing_done_costs_nothing():
    assert CertifiedAccountant().get_epsilon(1e-5) == 0.0

"""The rules of `project`: what is answered, with which event, and what is refused and why."""

import dataclasses
import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation as Relation
from mechanism_tools import gaussian_epsilon, records

from accountants import FourierAccountant, RenyiAccountant
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    SERVER,
    AdaptiveClip,
    AllRecords,
    CentralNoise,
    Contribution,
    DPOptimisation,
    FedAvgPerturbation,
    FixedSize,
    Layout,
    LocalAveraging,
    NoiseSplitting,
    ParameterPerturbation,
    Partition,
    Poisson,
    Release,
    ReleaseNoise,
    Scope,
    ServerNoise,
    Setting,
    Shuffled,
    UnsupportedEventError,
    View,
    VirtualClients,
    colluding,
    dominates,
    epsilon_bounds,
    project,
    project_clients,
)
from pvi import SGD, ExactSolver, LinearRegression, MeanFieldGaussian, Sequential, Shard

ADD, REPLACE, SPECIAL = (
    Relation.ADD_OR_REMOVE_ONE,
    Relation.REPLACE_ONE,
    Relation.REPLACE_SPECIAL,
)
MODEL = LinearRegression(dimension=2, noise_std=1.0)
PRIOR = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.full(2, 0.01))


def shards(count=3, size=6):
    rng = np.random.default_rng(3)
    return [
        Shard(inputs=rng.normal(size=(size, 2)), targets=rng.normal(size=size))
        for _ in range(count)
    ]


def gaussian(sigma, times=1):
    event = dpa.GaussianDpEvent(sigma)
    return event if times == 1 else dpa.SelfComposedDpEvent(event, times)


def message(client, group, **facts):
    source = Contribution(
        client=client, **{"clips": "part", "clip_norm": 1.0, "noise_std": 1.0} | facts
    )
    return Release(value=None, sender=client, round=0, group=group, source=source)


# -- what is answered ------------------------------------------------------------------------


def test_rounds_of_parameter_perturbation_compose():
    """DESIGN section 6: Gaussian(σ/2) for add/remove, Gaussian(σ) for replacement; T rounds."""
    transcript = ParameterPerturbation(clip_norm=3.0, noise_multiplier=8.0).plan(
        Layout(clients=5), rounds=7
    )
    assert project(transcript, Scope(relation=ADD)) == gaussian(4.0, 7)
    assert project(transcript, Scope(relation=REPLACE)) == gaussian(8.0, 7)
    assert project(transcript, Scope(relation=SPECIAL, unit="client")) == gaussian(8.0, 7)


@pytest.mark.parametrize("mechanism", [LocalAveraging, VirtualClients])
def test_a_client_of_n_parts_moves_n_times_as_far(mechanism):
    transcript = mechanism(clip_norm=1.0, noise_multiplier=8.0).plan(
        Layout(clients=2, parts=4), rounds=1
    )
    assert project(transcript, Scope(relation=REPLACE)) == gaussian(8.0)
    assert project(transcript, Scope(relation=REPLACE, unit="client")) == gaussian(2.0)
    assert project(transcript, Scope(relation=SPECIAL, unit="client")) == gaussian(2.0)


def test_local_steps_add_up_over_rounds():
    mechanism = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=2.0,
        steps=5,
        rule=SGD(learning_rate=0.1),
        sampling=Poisson(0.1),
    )
    event = project(mechanism.plan(Layout(clients=3), rounds=4), Scope())
    step = dpa.PoissonSampledDpEvent(0.1, gaussian(2.0))
    assert event == dpa.SelfComposedDpEvent(step, 20)


def test_every_message_begins_an_epoch():
    """10 records in batches of 5: a message of 3 steps begins 2 epochs, 3 messages begin 6."""
    mechanism = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=2.0,
        steps=3,
        rule=SGD(learning_rate=0.1),
        sampling=Shuffled(5, 10),
    )
    transcript = mechanism.plan(Layout(clients=1), rounds=3)
    assert project(transcript, Scope(relation=REPLACE)) == gaussian(2.0, 6)


def test_adaptive_clipping_pays_for_its_count():
    """1/σ² + 1/(2σ_b)²: 1/4 + 1/16 = 1/3.2, as one Gaussian per step on the same batch."""
    mechanism = DPOptimisation(
        clip_norm=AdaptiveClip(initial_norm=0.5, batch_size=10, count_std=2.0),
        noise_multiplier=2.0,
        steps=1,
        rule=SGD(learning_rate=0.1),
    )
    event = project(mechanism.plan(Layout(clients=1), rounds=1), Scope())
    epsilon = FourierAccountant().compose(event).get_epsilon_bounds(1e-5)
    truth = gaussian_epsilon(1 / math.sqrt(3.2), 1e-5)
    assert epsilon.lower == pytest.approx(truth, rel=1e-9)
    assert epsilon.upper == pytest.approx(truth, rel=1e-9)
    assert truth > gaussian_epsilon(1 / 2.0, 1e-5)


def test_the_plan_is_what_the_run_costs():
    data, solver = shards(), ExactSolver()
    parts = [Partition.by_position(shard, 2) for shard in data]
    common = {"clip_norm": 1.0, "noise_multiplier": 2.0, "precision_floor": 1.0, "damping": 0.5}
    cases = [
        (ParameterPerturbation(**common), data, {}),
        (LocalAveraging(**common), parts, {"parts": 2, "assignment": "position"}),
        (VirtualClients(**common), parts, {"parts": 2, "assignment": "position"}),
        (CentralNoise(**common), data, {}),
        (NoiseSplitting(**common), data, {}),
    ]
    scope = Scope(relation=REPLACE)
    for mechanism, pieces, plan in cases:
        run = mechanism.build(
            Setting(model=MODEL, prior=PRIOR, solver=solver), pieces, np.random.default_rng(0)
        )
        run.run(2)
        planned = mechanism.plan(Layout(clients=3, dimension=2, **plan), rounds=2)
        assert [r.source for r in run.transcript] == [r.source for r in planned]
        assert project(run.transcript, scope) == project(planned, scope)


def test_sums_of_a_sequential_schedule_hide_nothing():
    """A share of σC/√M in a group of one is all the noise there is."""
    mechanism = ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=6.0, trusted_aggregator=True, precision_floor=1.0
    )
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver(), schedule=Sequential()),
        shards(4),
        np.random.default_rng(0),
    )
    run.run(2)
    assert project(run.transcript, Scope(relation=REPLACE, view=AGGREGATE)) == gaussian(3.0, 2)


def test_a_voided_update_has_been_paid_for():
    """The message was computed before the server refused the total."""
    mechanism = ParameterPerturbation(clip_norm=1.0, noise_multiplier=1e6)
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()), shards(1), np.random.default_rng(1)
    )
    run.federation.server.on_improper = "refuse"
    run.run(3)
    assert len([r for r in run.transcript if r.sender == 0]) == 3
    assert run.federation.updates < 3


def test_an_error_leaves_a_transcript_that_can_be_projected():
    class Broken:
        calls = 0

        def solve(self, problem):
            self.calls += 1
            if self.calls == 3:
                raise RuntimeError("lost")
            return ExactSolver().solve(problem)

    mechanism = ParameterPerturbation(clip_norm=1.0, noise_multiplier=2.0, precision_floor=1.0)
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=Broken()), shards(2), np.random.default_rng(0)
    )
    run.run(1)
    with pytest.raises(RuntimeError, match="lost"):
        run.run(1)
    run.run(1)
    events = project_clients(run.transcript, Scope(relation=REPLACE))
    assert events == {0: gaussian(2.0, 2), 1: gaussian(2.0, 2)}


def test_colluders_know_the_noise_that_a_server_tells_its_clients():
    transcript = CentralNoise(clip_norm=1.0, noise_multiplier=2.0, memory="remembers").plan(
        Layout(clients=3), rounds=1
    )
    outside = project(transcript, Scope(relation=SPECIAL, unit="client", view=AGGREGATE))
    inside = project(transcript, Scope(relation=SPECIAL, unit="client", view=colluding(1)))
    assert (outside, inside) == (gaussian(2.0), dpa.NonPrivateDpEvent())


def test_nothing_released_costs_nothing():
    assert project((), Scope()) == dpa.NoOpDpEvent()
    assert epsilon_bounds((), Scope(), 1e-5) == (0.0, 0.0)


# -- the worst client -------------------------------------------------------------------------


def test_the_worst_client_is_the_one_that_dominates():
    transcript = (
        message(0, 0, noise_std=4.0),
        message(1, 0, noise_std=2.0),
        message(0, 1, noise_std=4.0),
    )
    assert project(transcript, Scope(relation=REPLACE)) == gaussian(2.0)


def test_no_worst_client_is_refused_and_the_interval_takes_the_maximum():
    common = {"clips": "record", "summed": False, "noise_std": 1.0}
    transcript = (
        message(0, 0, **common, sampling=Poisson(0.01), steps=1000),
        message(1, 1, **common, sampling=Poisson(0.2), steps=1),
    )
    with pytest.raises(UnsupportedEventError, match="which of them is worst depends on delta"):
        project(transcript, Scope())
    events = project_clients(transcript, Scope())
    each = [FourierAccountant().compose(events[m]).get_epsilon_bounds(1e-5) for m in (0, 1)]
    assert epsilon_bounds(transcript, Scope(), 1e-5).upper == max(b.upper for b in each)


def poisson(rate, sigma, times=1):
    return dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(rate, gaussian(sigma)), times)


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        (gaussian(1.0), gaussian(2.0, 4)),
        (gaussian(1.0, 5), gaussian(1.0, 4)),
        (poisson(0.2, 1.0, 5), poisson(0.1, 1.5, 5)),
        (poisson(0.2, 1.0, 6), poisson(0.2, 1.0, 5)),
        (
            dpa.ComposedDpEvent([poisson(0.2, 1.0, 2), poisson(0.1, 1.0, 2)]),
            dpa.ComposedDpEvent([poisson(0.15, 1.0, 2), poisson(0.05, 1.0, 2)]),
        ),
        (
            dpa.SampledWithoutReplacementDpEvent(10, 2, gaussian(1.0)),
            dpa.SampledWithoutReplacementDpEvent(20, 3, gaussian(1.0)),
        ),
        (dpa.NonPrivateDpEvent(), gaussian(1.0)),
        (gaussian(1.0), dpa.NoOpDpEvent()),
    ],
)
def test_dominance_agrees_with_the_accountants(strong, weak):
    assert dominates(strong, weak)
    relation = REPLACE if "Without" in repr(strong) else ADD
    for delta in (1e-9, 1e-5, 1e-2):
        both = [
            RenyiAccountant(relation).compose(event).get_epsilon(delta) for event in (strong, weak)
        ]
        assert both[0] >= both[1]
    if strong != weak and not isinstance(weak, dpa.NoOpDpEvent):
        assert not dominates(weak, strong) or both[0] == pytest.approx(both[1])


def test_incomparable_events_do_not_dominate():
    first, second = poisson(0.2, 1.0, 5), poisson(0.1, 0.5, 5)
    assert not dominates(first, second)
    assert not dominates(second, first)


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("view", [AGGREGATE, colluding(1)], ids=str)
def test_remembered_shares_are_refused_from_the_second_round(view):
    """Thesis Algorithm 3: later messages depend on noise that the sums have not shown."""
    mechanism = NoiseSplitting(clip_norm=1.0, noise_multiplier=2.0)
    scope = Scope(relation=SPECIAL, unit="client", view=view)
    with pytest.raises(UnsupportedEventError, match="remembers noise"):
        project(mechanism.plan(Layout(clients=4), rounds=2), scope)
    once = project(mechanism.plan(Layout(clients=4), rounds=1), scope)
    shares = 4 - view.colluders
    assert once.noise_multiplier == pytest.approx(2.0 * math.sqrt(shares / 4))


def test_remembered_noise_is_no_secret_from_all_others():
    """With all but one colluding, the sum shows the message; its noise follows from the data."""
    mechanism = NoiseSplitting(clip_norm=1.0, noise_multiplier=2.0)
    event = project(
        mechanism.plan(Layout(clients=4), rounds=3),
        Scope(relation=SPECIAL, unit="client", view=colluding(3)),
    )
    assert event == gaussian(1.0, 3)


@pytest.mark.parametrize("memory", ["forgets", "resets"])
@pytest.mark.parametrize("mechanism", [ParameterPerturbation, LocalAveraging, VirtualClients])
def test_forgotten_or_reset_shares_are_answered(mechanism, memory):
    transcript = mechanism(
        clip_norm=1.0, noise_multiplier=6.0, trusted_aggregator=True, memory=memory
    ).plan(Layout(clients=9, parts=1), rounds=3)
    for view, multiplier in ((AGGREGATE, 6.0), (colluding(5), 4.0), (MESSAGES, 2.0)):
        event = project(transcript, Scope(relation=REPLACE, view=view))
        assert event.count == 3
        assert event.event.noise_multiplier == pytest.approx(multiplier)


def test_virtual_factors_that_remember_are_refused_even_for_messages():
    mechanism = VirtualClients(clip_norm=1.0, noise_multiplier=2.0, memory="remembers")
    scope = Scope(relation=REPLACE)
    with pytest.raises(UnsupportedEventError, match="remembers noise"):
        project(mechanism.plan(Layout(clients=2, parts=3), rounds=2), scope)
    assert project(mechanism.plan(Layout(clients=2, parts=1), rounds=2), scope) == gaussian(2.0, 2)
    assert project(mechanism.plan(Layout(clients=2, parts=3), rounds=1), scope) == gaussian(2.0)


@pytest.mark.parametrize(
    "mechanism",
    [
        ParameterPerturbation(clip_norm=1.0, noise_multiplier=1.0),
        CentralNoise(clip_norm=1.0, noise_multiplier=1.0, memory="resets"),
        NoiseSplitting(clip_norm=1.0, noise_multiplier=1.0),
        DPOptimisation(clip_norm=1.0, noise_multiplier=1.0, steps=1, rule=SGD(learning_rate=1.0)),
    ],
)
def test_clients_are_not_added_or_removed(mechanism):
    """M enters resets and shares: a public constant."""
    with pytest.raises(UnsupportedEventError, match="number of clients is a public constant"):
        project(mechanism.plan(Layout(clients=2), rounds=1), Scope(relation=ADD, unit="client"))


@pytest.mark.parametrize("relation", [REPLACE, SPECIAL])
def test_clipped_records_do_not_bound_a_client(relation):
    mechanism = DPOptimisation(
        clip_norm=1.0, noise_multiplier=1.0, steps=1, rule=SGD(learning_rate=1.0)
    )
    with pytest.raises(UnsupportedEventError, match="does not bound what a whole client"):
        project(
            mechanism.plan(Layout(clients=2), rounds=1), Scope(relation=relation, unit="client")
        )


@pytest.mark.parametrize("mechanism", [LocalAveraging, VirtualClients])
def test_shards_that_depend_on_the_data_are_refused(mechanism):
    settings = {"clip_norm": 1.0, "noise_multiplier": 1.0}
    layout = Layout(clients=1, parts=2, assignment="position")
    by_position = mechanism(**settings).plan(layout, rounds=1)
    with pytest.raises(UnsupportedEventError, match="shards cut by position depend on the data"):
        project(by_position, Scope(relation=ADD))
    assert project(by_position, Scope(relation=SPECIAL)) == gaussian(0.5)
    by_identity = mechanism(**settings).plan(Layout(clients=1, parts=2), rounds=1)
    assert project(by_identity, Scope(relation=ADD)) == gaussian(0.5)
    with pytest.raises(TypeError, match="it may depend on the data"):
        mechanism(**settings).build(
            Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()),
            [[shards(1)[0], shards(1)[0]]],
            np.random.default_rng(0),
        )


def test_sizes_in_averaging_weights_must_be_public():
    by_size = FedAvgPerturbation(clip_norm=1.0, noise_multiplier=2.0, rule=SGD(learning_rate=0.1))
    plan = by_size.plan(Layout(clients=2, sizes=(5, 5)), rounds=1)
    with pytest.raises(UnsupportedEventError, match="number of records acts outside"):
        project(plan, Scope(relation=ADD))
    assert project(plan, Scope(relation=REPLACE)) == gaussian(2.0)
    with pytest.raises(ValueError, match="`sizes` must be given"):
        by_size.plan(Layout(clients=2), rounds=1)
    public = dataclasses.replace(by_size, weights=(0.5, 0.5))
    assert project(public.plan(Layout(clients=2), rounds=1), Scope(relation=ADD)) == gaussian(1.0)
    penalised = dataclasses.replace(
        public, regularisation=1.0
    )  # divided by the number of all records
    run = penalised.build(
        Setting(
            model=LinearRegression(dimension=1, noise_std=1.0),
            prior=MeanFieldGaussian.from_mean_variance([0.0], [1.0]),
        ),
        [records(1.0), records(2.0)],
        np.random.default_rng(0),
    )
    run.run(1)
    with pytest.raises(UnsupportedEventError, match="number of records acts outside"):
        project(run.transcript, Scope(relation=ADD))


def test_too_many_colluders_are_refused():
    transcript = CentralNoise(clip_norm=1.0, noise_multiplier=1.0).plan(Layout(clients=3), rounds=1)
    with pytest.raises(UnsupportedEventError, match="3 clients cannot collude against one of"):
        project(transcript, Scope(relation=REPLACE, view=colluding(3)))


def test_sums_of_discrete_noises_are_answered_on_one_grid():
    mechanism = ParameterPerturbation(
        clip_norm=1.0,
        noise_multiplier=2.0,
        trusted_aggregator=True,
        memory="forgets",
        noise=ReleaseNoise(),
    )
    transcript = mechanism.plan(Layout(clients=4), rounds=2)
    assert project(transcript, Scope(relation=REPLACE, view=AGGREGATE)) == gaussian(2.0, 2)
    seen = project(transcript, Scope(relation=REPLACE, view=colluding(3)))
    assert seen == project(transcript, Scope(relation=REPLACE)) == gaussian(1.0, 2)
    central = CentralNoise(clip_norm=1.0, noise_multiplier=2.0, noise=ReleaseNoise())
    event = project(
        central.plan(Layout(clients=4), rounds=1), Scope(relation=REPLACE, view=AGGREGATE)
    )
    assert event == gaussian(2.0)


def discrete(client, std=4.0, grid=1.0, **changed):
    return Contribution(
        client=client, clips="part", clip_norm=1.0, noise_std=std, grid=grid, **changed
    )


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (discrete(1, grid=2.0), "on several grids"),
        (discrete(1, weight=0.5), "on several grids"),
        (discrete(1, grid=None), "of discrete and continuous ones"),
    ],
)
def test_noises_on_several_grids_are_refused(other, reason):
    group = [
        Release(value=None, sender=one.client, round=0, group=0, source=one)
        for one in (discrete(0), other)
    ]
    with pytest.raises(UnsupportedEventError, match=reason):
        project(group, Scope(view=AGGREGATE))
    assert project_clients(group, Scope())  # of messages each is answered for itself


def test_data_that_are_on_no_grid_are_not_hidden_by_noise_on_one():
    """0.5 and noise on integers: what is between the integers is the datum."""
    group = [
        Release(value=None, sender=one.client, round=0, group=0, source=one)
        for one in (discrete(0, std=0.0, grid=None), discrete(1), discrete(2))
    ]
    with pytest.raises(UnsupportedEventError, match="between the grid's points"):
        project(group, Scope(view=AGGREGATE))


def test_the_distance_of_sums_has_its_part_in_epsilon():
    """Coarse shares are refused at small delta, and cost a little more at a large one."""
    clip, std = 2.0**14, 2.0**16
    shares = [replace_clip(discrete(c, std=std), clip) for c in range(4)]
    group = [Release(value=None, sender=c, round=0, group=0, source=shares[c]) for c in range(4)]
    scope = Scope(view=AGGREGATE)
    exact = gaussian_epsilon(2.0 * clip / (2.0 * std), 1e-4)
    found = epsilon_bounds(group, scope, 1e-4)
    assert found.lower <= exact <= found.upper < 1.01 * exact
    with pytest.raises(UnsupportedEventError, match="too coarse"):
        epsilon_bounds(group, scope, 1e-9)


def replace_clip(own, clip_norm):
    return dataclasses.replace(own, clip_norm=clip_norm)


def test_impossible_transcripts_are_refused():
    with pytest.raises(ValueError, match="a client once in group 0"):
        project((message(0, 0), message(0, 0)), Scope())
    sums = [
        Release(value=None, sender=SERVER, round=0, group=0, source=ServerNoise()) for _ in "ab"
    ]
    with pytest.raises(ValueError, match="one sum per group"):
        project((message(0, 0), *sums), Scope())
    with pytest.raises(ValueError, match="`sender` must be 0"):
        Release(value=None, sender=1, round=0, group=0, source=message(0, 0).source)


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"clip_norm": -1.0}, "`clip_norm` must be positive"),
        ({"clip_norm": math.nan}, "`clip_norm` must be a finite number"),
        ({"noise_std": -1.0}, "`noise_std` must be non-negative"),
        ({"parts": 0}, "`parts` must be at least 1"),
        ({"weight": 0.0}, "`weight` must be positive"),
        ({"steps": 2}, "must be left alone where parts are clipped"),
        ({"clips": "record"}, "`summed` must be False"),
        ({"clips": "batch"}, "`clips` must be one of"),
    ],
)
def test_impossible_contributions_are_refused(facts, complaint):
    with pytest.raises(ValueError, match=complaint):
        message(0, 0, **facts)


def test_impossible_scopes_are_refused():
    with pytest.raises(ValueError, match="`unit` must be one of"):
        Scope(unit="user")
    with pytest.raises(TypeError, match="`view` must be"):
        Scope(view="messages")
    with pytest.raises(TypeError, match="`relation` must be"):
        Scope(relation="add")
    with pytest.raises(ValueError, match="`clients` must be at least 1"):
        colluding(0)
    with pytest.raises(ValueError, match="`colluders` must be 0"):
        View("aggregate", 1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"clip_norm": -1.0}, "`clip_norm` must be positive, got -1.0"),
        ({"clip_norm": math.nan}, "`clip_norm` must be a finite number, got nan"),
        ({"noise_multiplier": 0.0}, "`noise_multiplier` must be positive"),
        ({"damping": 1.5}, r"`damping` must be in \(0, 1\]"),
        ({"memory": "sometimes"}, "`memory` must be one of"),
        ({"reset_every": 0}, "`reset_every` must be at least 1"),
        ({"precision_floor": -1.0}, "`precision_floor` must be positive"),
    ],
)
@pytest.mark.parametrize("mechanism", [ParameterPerturbation, CentralNoise])
def test_impossible_settings_are_refused(mechanism, arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        mechanism(**{"clip_norm": 1.0, "noise_multiplier": 1.0} | arguments)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"steps": 0}, "`steps` must be at least 1"),
        ({"objective_divisor": 0.0}, "`objective_divisor` must be positive"),
        ({"clip_norm": math.inf}, "`clip_norm` must be a finite number"),
    ],
)
def test_impossible_optimisations_are_refused(arguments, complaint):
    base = {"clip_norm": 1.0, "noise_multiplier": 1.0, "steps": 1, "rule": SGD(learning_rate=1.0)}
    with pytest.raises(ValueError, match=complaint):
        DPOptimisation(**base | arguments)


def test_a_bare_sampler_has_no_event():
    from pvi import PoissonSampling

    with pytest.raises(TypeError, match="a bare sampler has no event"):
        DPOptimisation(
            clip_norm=1.0,
            noise_multiplier=1.0,
            steps=1,
            rule=SGD(learning_rate=1.0),
            sampling=PoissonSampling(sampling_rate=0.1),
        )


@pytest.mark.parametrize("scheme", [FixedSize(2, 5), Shuffled(2, 5), (AllRecords(),)])
def test_sampling_for_other_data_is_refused(scheme):
    mechanism = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=1.0,
        steps=1,
        rule=SGD(learning_rate=1.0),
        sampling=scheme,
    )
    with pytest.raises(ValueError, match="`sampling` must"):
        mechanism.build(Setting(model=MODEL, prior=PRIOR), shards(2), np.random.default_rng(0))

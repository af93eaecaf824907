"""Certificates of what a transcript costs."""

from collections.abc import Sequence

from accountants import Certificate, FourierAccountant
from accountants.certificate import deltas_of
from mechanisms.projection import check_transcript, epsilon_bounds, project
from mechanisms.release import Contribution, Release
from mechanisms.scope import Scope
from pvi.validate import checked

UNIT_IN_WORDS = {
    "record": "The unit is one record of one client.",
    "client": "The unit is all data of one client.",
}
"""What a certificate says of its unit."""
VIEW_IN_WORDS = {
    "messages": "The adversary sees every message of every client.",
    "aggregate": "The adversary sees a trusted aggregator's sums, and nothing of the messages.",
    "colluding": "The adversary sees a trusted aggregator's sums and all that {} clients know.",
}
"""What it says of its view; of colluders, with their number."""


@checked(scope=Scope)
def certify(transcript: Sequence[Release], scope: Scope, deltas: Sequence[float]) -> Certificate:
    """What the worst client's releases cost, at each δ, and what that rests on.

    Raises:
      UnsupportedEventError: As `project`.

    >>> from mechanisms import Layout, ParameterPerturbation
    >>> mechanism = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0)
    >>> certificate = certify(mechanism.plan(Layout(clients=2), rounds=3), Scope(), [1e-5])
    >>> round(certificate.bounds(1e-5).upper, 3)
    3.709
    """
    transcript = tuple(check_transcript(transcript))
    points = [(delta, *epsilon_bounds(transcript, scope, delta)) for delta in deltas_of(deltas)]
    assumptions = [
        UNIT_IN_WORDS[scope.unit],
        VIEW_IN_WORDS[scope.view.kind].format(scope.view.colluders),
        "Numbers of clients, parts and steps, weights, and who updates when, do not depend on the "
        "data; neither do running times and errors.",
    ]
    grids = {release.source.grid for release in transcript}
    if any(isinstance(release.source, Contribution) for release in transcript):
        assumptions.append(
            "Noise is drawn exactly as accounted for; numpy's generators only simulate that."
            if grids == {None}
            else "Noise is discrete, drawn from the operating system's entropy; its distance from "
            "the continuous law is in the bounds."
        )
    event = project(transcript, scope)
    accountant = FourierAccountant(scope.relation).compose(event)
    engines = (accountant.epsilon_answer(delta).engine for delta, *_ in points)
    return Certificate(
        event=event,
        neighboring_relation=scope.relation,
        points=tuple(points),
        method="Fourier accountant",
        assumptions=tuple(assumptions),
        unit=scope.unit,
        engine=", ".join(dict.fromkeys(engines)),
        tolerance=accountant.tolerance,
    )

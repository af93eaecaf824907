"""Which line an event has in a direction."""

from typing import TypeAlias

from accountants.fourier.contour.grouped import GroupLine
from accountants.fourier.contour.quadrature import Direction, Line
from accountants.fourier.contour.symmetrised import SymmetrisedLine
from accountants.releases import GroupGaussian, SampledGaussian

__all__ = ["AnyLine", "line_of"]

AnyLine: TypeAlias = Line | SymmetrisedLine


def line_of(
    direction: Direction,
    event: SampledGaussian,
    theta_max: float,
    t_max: float,
    exponent: float,
    *,
    refine: bool = False,
) -> AnyLine:
    """The line of one event, see `Line`."""
    rate, sigma = event.sampling_rate, event.noise_multiplier
    if direction.is_symmetrised:
        return SymmetrisedLine(rate, sigma, theta_max, t_max, exponent, refine=refine)
    if isinstance(event, GroupGaussian):
        return GroupLine(
            rate,
            sigma,
            direction,
            theta_max,
            t_max,
            exponent,
            refine,
            event.records,
            event.population,
        )
    return Line(rate, sigma, direction, theta_max, t_max, exponent, refine)

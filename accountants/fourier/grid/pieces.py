"""Pieces of a law that average to given nodes, grown one after the other from a seam.

On the curve of (Q-mass, P-mass) of {L ≤ l}, whose slope is a = e^{−l}, the pieces are chords with
the nodes' slopes, each from where the last one met the curve to where it meets the curve again:
the inscribed polygon with given slopes. It keeps E[a] exactly, wherever the mass lies between
nodes.
"""

import math

import numpy as np

from accountants.arrays import FloatArray, IntArray

_WIDEST = 600.0


def gather(
    nodes: FloatArray,
    cell_of_part: IntArray,
    part_mass: FloatArray,
    part_gain: FloatArray,
    parts: slice,
    direction: int,
    masses: FloatArray,
) -> float:
    """Move the mass of `parts` to nodes, in place, piece by piece.

    Upwards a piece begins below its node, the next one above its beginning, and takes parts until
    their mean of a = e^{−l} has fallen to the node's; downwards it begins above its node and takes
    parts until the mean has risen to it. Of the part that completes a piece only a fraction is
    taken, of all its mass alike. The last piece, which lacks its completion, is left where it is.

    Args:
      nodes: The nodes' losses.
      cell_of_part: For each part its cell; cell k has node k below and node k + 1 above.
      part_mass: P-mass of each part; what is gathered is taken away.
      part_gain: mass·(1 − a/a_node) of each part relative to its cell's lower node; likewise.
      parts: Which parts, contiguous.
      direction: 1 upwards from the first part, −1 downwards from the last.
      masses: Per node; what is gathered is added.

    Returns:
      The widest reach of a piece from its node, to which rounding errors of the balance scale.
    """
    order = range(parts.start, parts.stop)[::direction]
    first = parts.start
    cells, losses = cell_of_part[parts].tolist(), nodes.tolist()
    mass, gain = part_mass[parts].tolist(), part_gain[parts].tolist()
    kept = [1.0] * len(mass)
    reach = 0.0
    node = -1  # No piece is open.
    balance = piece = 0.0
    taken: list[tuple[int, float]] = []
    for part in order:
        i = part - first
        m, cell, share = mass[i], cells[i], 1.0
        while m > 0.0 and share > 0.0:
            if node < 0:
                node = cell + 1 if direction > 0 else cell
                balance = piece = 0.0
                taken = []
            # Relative to `node` instead: 1 − a/a_node = −expm1(x) + e^x·(1 − a/a_cell).
            x = losses[node] - losses[cell]
            if x > _WIDEST:  # e^x would overflow: leave the rest where it is.
                break
            relative = -m * math.expm1(x) + math.exp(x) * gain[i]
            reach = max(reach, abs(x))
            after = balance + share * relative
            if direction * after < 0.0:
                balance, piece = after, piece + share * m
                taken.append((i, share))
                break
            if piece > 0.0:
                used = min(abs(balance / relative), share) if relative else share
            elif relative >= 0.0:
                used = share  # A part at its node, but for rounding; or above it: no harm.
            else:
                node -= 1  # Below its node, by rounding: to the next one.
                used = share
            if node >= 0:
                masses[node] += piece + used * m
            for done, fraction in taken:
                kept[done] -= fraction
            kept[i] -= used
            share -= used
            node = -1
    fractions = np.maximum(np.array(kept), 0.0)
    part_mass[parts] *= fractions
    part_gain[parts] *= fractions
    return reach

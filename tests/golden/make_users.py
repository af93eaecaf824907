"""Writes users.json: what dp-accounting's PLD says of users of several records; some minutes."""

import datetime
import json
from importlib.metadata import version
from pathlib import Path

from dp_accounting.pld import privacy_loss_distribution
from scipy import stats

# Noise multiplier, sampling rate, records of a user, steps, δ, cell of the grid.
SETTINGS = [
    (2.0, 0.05, 4, 50, 1e-5, 2e-3),
    (1.0, 0.02, 3, 20, 1e-6, 2e-3),
    (4.0, 0.1, 8, 30, 1e-5, 2e-3),
]


def main() -> None:
    """All settings, from both sides."""
    points = []
    for noise, rate, records, steps, delta, interval in SETTINGS:
        counts = list(range(records + 1))
        ends = {}
        for end in ("lower", "upper"):
            one = privacy_loss_distribution.from_mixture_gaussian_mechanism(
                noise,
                counts,
                stats.binom.pmf(counts, records, rate).tolist(),
                pessimistic_estimate=end == "upper",
                value_discretization_interval=interval,
                use_connect_dots=end == "upper",
            )
            ends[end] = one.self_compose(steps).get_epsilon_for_delta(delta)
        setting = {
            "noise_multiplier": noise,
            "sampling_rate": rate,
            "records_per_user": records,
            "steps": steps,
            "delta": delta,
            "interval": interval,
        }
        points.append(setting | ends)
    document = {
        "what": "epsilon of users of k records, Poisson-sampled Gaussian, add or remove, from "
        "dp_accounting.pld's from_mixture_gaussian_mechanism, self-composed; lower: optimistic "
        "estimate, upper: pessimistic, connect the dots",
        "library": "dp-accounting",
        "version": version("dp-accounting"),
        "command": "python tests/golden/make_users.py",
        "date": datetime.date.today().isoformat(),
        "points": points,
    }
    text = json.dumps(document, indent=2)
    Path(__file__).with_name("users.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

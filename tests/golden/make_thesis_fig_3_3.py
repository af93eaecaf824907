"""Writes thesis_fig_3_3.json: the curves of the Thesis's Figure 3.3, by dp-accounting.

    python tests/golden/make_thesis_fig_3_3.py

Setting (Thesis, section 3.3): C = 1, σ = 1, δ = 1e-4, M clients that each add noise of variance
σ²C²/M, so that an effective noise multiplier of 1/√M protects a client's message. The privacy cost
is the moments accountant's: ε = min over λ = 1 … 64 of (α(λ) − log δ)/λ. The divergences
α(λ)/λ come from dp-accounting's Rényi accountant, the tail bound is applied here.
"""

import datetime
import importlib.metadata
import json
import math
from pathlib import Path

import dp_accounting as dpa

DELTA = 1e-4
ROUNDS = [1, 2, 5, 10, 20, 50, 100]


def epsilon(clients: int, rounds: int) -> float:
    orders = [moment + 1.0 for moment in range(1, 65)]
    accountant = dpa.rdp.RdpAccountant(orders)
    accountant.compose(dpa.GaussianDpEvent(1 / math.sqrt(clients)), rounds)
    return min(
        divergence - math.log(DELTA) / (order - 1)
        for order, divergence in zip(orders, accountant.rdp, strict=True)
    )


if __name__ == "__main__":
    golden = {
        "what": "Thesis, Figure 3.3: moments accountant, C=1, sigma=1, effective sigma 1/sqrt(M)",
        "library": "dp-accounting (Rényi divergences); tail bound of Abadi et al. 2016",
        "version": importlib.metadata.version("dp-accounting"),
        "command": "python tests/golden/make_thesis_fig_3_3.py",
        "date": datetime.date.today().isoformat(),
        "delta": DELTA,
        "points": [
            {"clients": clients, "rounds": rounds, "epsilon": epsilon(clients, rounds)}
            for clients in (1, 2, 5, 10)
            for rounds in ROUNDS
        ],
    }
    target = Path(__file__).with_name("thesis_fig_3_3.json")
    target.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

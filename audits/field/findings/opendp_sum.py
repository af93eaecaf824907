"""An integer sum of clamped values through a chain of the library.

Each stage's map is proved; the whole maps one record more or less to ε = 1, and the noise is an
exact discrete Laplace.
"""

from typing import Any

ABOUT = {
    "library": "opendp",
    "requirements": ["opendp==0.16.0"],
    "promise": "measurement.map(1) = 1: one record more or less costs ε = 1.",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "ADD_OR_REMOVE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 10), "dtype": int, "min_records": 1, "max_records": 8},
}


KEPT: dict[str, Any] = {}


def prepare() -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    chain = space >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum() >> dp.m.then_laplace(scale=10.0)
    assert chain.map(1) <= 1.0 + 1e-9
    KEPT["chain"] = chain


def sound(data: Any) -> Any:
    return KEPT["chain"]([int(value) for value in data])

"""A pytest plugin: differential-privacy audits in anybody's test suite.

```python
@pytest.mark.dp_claim(epsilon=1.0)
def test_noisy_count(dp_audit):
    dp_audit(noisy_count, pair=([0, 0], [0]))
```

pytest loads it by itself wherever dp-assay is installed, so that it must cost nothing: neither
numpy nor dp-assay is imported before a test asks for the fixture. The entry point has the module's
name, by which pytest knows that `-p pytest_dp_assay` is no second plugin.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_dp_assay.auditing import DpAudit

_PROPERTY = "dp_assay"
_MARKER = (
    "dp_claim(epsilon, delta=0 | mu | rho | noise_multiplier, sampling_rate=1, steps=1, "
    "sampling='poisson' | claim, relation='ADD_OR_REMOVE_ONE', confidence, max_samples, seconds, "
    "require_conclusive): what the test claims of the mechanism that it gives to the fixture "
    "dp_audit."
)
_LIMITS: dict[str, tuple[Callable[[str], Any], str]] = {
    "confidence": (float, "1 − the probability that a correct mechanism fails; default 0.999999"),
    "max_samples": (int, "the most draws per data set; default 20000"),
    "seconds": (float, "the time that an audit may draw for; default: no limit, for a hunt 30"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds an option and an ini value for each limit, and `--dp-seed`."""
    group = parser.getgroup("dp-assay", "audits of differential privacy (dp-assay)")
    for name, (kind, words) in _LIMITS.items():
        group.addoption(f"--dp-{name.replace('_', '-')}", type=kind, help=words)
        parser.addini(f"dp_{name}", words)
    group.addoption(
        "--dp-seed", type=int, help="of all audits; by default each test has one of its own"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> "DpAudit":
    """Audits a mechanism, and fails the test if the claim is refuted; see `DpAudit`."""
    from pytest_dp_assay.auditing import DpAudit

    limits = {}
    for name, (kind, _) in _LIMITS.items():
        given = request.config.getoption(f"dp_{name}")
        written = request.config.getini(f"dp_{name}")
        if given is not None or written:
            limits[name] = given if given is not None else kind(written)

    def note(words: str) -> None:
        request.node.user_properties.append((_PROPERTY, words))

    marker = request.node.get_closest_marker("dp_claim")
    return DpAudit.of(
        request.node.nodeid,
        () if marker is None else marker.args,
        {} if marker is None else marker.kwargs,
        limits,
        request.config.getoption("dp_seed"),
        note,
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line per audit: its headline, refuted or not."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    lines = [
        f"{report.nodeid}: {words}"
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, words in report.user_properties
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("dp-assay")
        for line in lines:
            terminalreporter.line(line)

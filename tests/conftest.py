"""Hypothesis profiles, slow notebooks, and the floor on the number of tests."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("dev", deadline=None)
settings.register_profile("thorough", parent=settings.get_profile("dev"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--collect-floor",
        type=int,
        default=0,
        help="fail when fewer tests than this were run or skipped",
    )


# A notebook cannot mark itself; these train for minutes.
_SLOW_NOTEBOOKS = ("07_dp_pvi_end_to_end.ipynb",)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the notebooks that take minutes."""
    for item in items:
        if item.path.name in _SLOW_NOTEBOOKS:
            item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fails a run that lost tests on the way (a collection hidden by a bad path or marker)."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    floor = session.config.getoption("--collect-floor")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    outcomes = ("passed", "failed", "skipped", "xfailed", "xpassed", "error")
    seen = sum(
        getattr(report, "when", "call") != "teardown"
        for outcome in outcomes
        for report in reporter.stats.get(outcome, [])
    )
    if seen < floor:
        reporter.write_line(f"collected {seen} tests, the floor is {floor}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

"""Which versions of which packages computed a number."""

import importlib.metadata

CORE = ("dp-accounting", "dp-assay", "numpy", "scipy")
"""What every certified number depends on."""


def installed(*more: str) -> dict[str, str]:
    """The versions of `CORE` and of the packages named, as far as they are installed.

    >>> sorted(installed("no-such-package")) == sorted(CORE)
    True
    """
    found = {}
    for name in (*CORE, *more):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found

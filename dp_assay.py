"""The `dp-assay` command, without the wait for what most commands never use.

dp-accounting imports scipy.stats and scipy.signal, which together take more than half of a
command's start-up; the accountants here need neither. So their names are filled by stand-ins that
load the module when something of it is wanted. Only the command does this: it is a process of its
own, where a library would meddle with what others import.
"""

import importlib
import sys
import types
from typing import Any


class _Later(types.ModuleType):
    """Stands in `sys.modules` for a module until something of it is wanted."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_loaded(self.__name__), name)


class _Norm:
    """Stands for `scipy.stats.norm`, which dp-accounting gives a name of its own at once."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_loaded("scipy.stats").norm, name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return _loaded("scipy.stats").norm(*arguments, **keywords)


def _loaded(name: str) -> types.ModuleType:
    if isinstance(sys.modules.get(name), _Later):
        del sys.modules[name]
    return importlib.import_module(name)


def _put_off() -> None:
    stats = _Later("scipy.stats")
    stats.__dict__["norm"] = _Norm()
    for module in (stats, _Later("scipy.signal")):
        sys.modules.setdefault(module.__name__, module)


def main() -> int:
    """Runs the command line and returns its exit code."""
    _put_off()
    try:
        from audits.cli import main as command
    except KeyboardInterrupt:
        return 130
    return command()


if __name__ == "__main__":
    sys.exit(main())

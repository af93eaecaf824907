"""`dp-assay dashboard`: experiments described, started, watched and compared in a browser."""

import argparse
import json
from pathlib import Path

from accountants import validate
from audits.cli import Commands, options

_EXAMPLES = """\
examples:
  dp-assay dashboard
  dp-assay dashboard --data records --folder my-runs
  dp-assay dashboard --host 0.0.0.0
      reachable from elsewhere; a token is asked for, and nothing is encrypted

It ends with an interrupt. Runs end with it, and go on from their checkpoints with the next one.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "dashboard",
        help="describe, start, watch and compare experiments in a browser",
        description="Serves web pages on this machine. Each run is a `dp-assay run` in a process "
        "of its own; what\nit will cost is shown before anything runs.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("dp-assay-runs"),
        metavar="FOLDER",
        help="where runs are kept, default ./dp-assay-runs; as private as the data",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="whose CSV and NPZ files are offered as records, default here",
    )
    parser.add_argument("--port", type=int, default=8800, metavar="N", help="default 8800; 0: any")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="NAME",
        help="where to listen, default 127.0.0.1; beyond this machine only with a token",
    )
    parser.add_argument(
        "--token",
        action="store_true",
        help="ask for a token here too; DP_ASSAY_DASHBOARD_TOKEN, or one that is made and shown",
    )
    parser.add_argument(
        "--at-once", type=int, default=2, metavar="N", help="runs that go at a time, default 2"
    )
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    try:
        from audits.dashboard.server import serve
    except ModuleNotFoundError as error:
        raise ValueError(
            f'the dashboard needs {error.name}: pip install "dp-assay[dashboard]".'
        ) from error

    def ready(url: str) -> None:
        print(json.dumps({"url": url}) if given.json else f"open {url}", flush=True)

    if not given.data.is_dir():
        raise validate.refusal("--data", "a folder", str(given.data))
    serve(
        given.folder,
        given.data,
        host=given.host,
        port=given.port,
        with_token=given.token,
        at_once=validate.count("--at-once", given.at_once),
        ready=ready,
    )
    return 0

"""The dashboard on a port: one at a time for a folder, ended by a signal, its runs with it."""

import contextlib
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn

from accountants import validate
from audits.dashboard.app import Dashboard
from audits.dashboard.guard import SHORTEST_TOKEN, is_loopback
from audits.dashboard.runner import Runner
from audits.dashboard.store import Store
from mechanisms import durable

TOKEN_VARIABLE = "DP_ASSAY_DASHBOARD_TOKEN"
_PATIENCE = 2.0  # for another dashboard that is just ending
_MOST_CONNECTIONS = 200


def serve(
    folder: Path,
    data: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8800,
    with_token: bool = False,
    at_once: int = 2,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Answers until a signal ends it; runs that go are ended too, and go on with the next one.

    Args:
      folder: Where runs and what they told are kept; made if it is not there.
      data: The folder whose tables are offered.
      host: Where to listen. Beyond loopback a token is asked for.
      port: Where to listen; 0 for any that is free.
      with_token: Asks for a token on loopback too.
      at_once: How many runs may go at a time.
      ready: Is told the address to open, once it answers.

    Raises:
      ValueError: It cannot listen there, or another dashboard is at the folder.
    """
    token_asked = with_token or not is_loopback(host)
    folder = folder.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(folder), contextlib.closing(_listening(host, port)) as listening:
        actual = listening.getsockname()[1]
        token = _token(folder) if token_asked else None
        with contextlib.closing(Store(folder / "store.sqlite")) as store:
            runner = Runner(store, folder / "runs", at_once=at_once)
            dashboard = Dashboard(store, runner, data)
            config = uvicorn.Config(
                dashboard.guarded(actual, token),
                log_level="warning",
                access_log=False,  # addresses may hold the token
                lifespan="off",
                server_header=False,
                proxy_headers=False,  # a stranger could write them
                ws="none",
                limit_concurrency=_MOST_CONNECTIONS,
                timeout_graceful_shutdown=2,
            )
            runner.begin()
            try:
                name = "127.0.0.1" if is_loopback(host) or host == "0.0.0.0" else host
                name = f"[{name}]" if ":" in name else name
                query = "" if token is None else f"?token={token}"
                ready(f"http://{name}:{actual}/{query}")
                _Server(config, dashboard).run(sockets=[listening])
            finally:
                runner.end()


class _Server(uvicorn.Server):
    """Tells the pages that are listening that it ends."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard) -> None:
        super().__init__(config)
        self._dashboard = dashboard

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._dashboard.closing = True
        super().handle_exit(sig, frame)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two dashboards would start the same runs."""
    with contextlib.ExitStack() as stack:
        try:
            mark = stack.enter_context(durable.exclusive(folder / "store", patience=_PATIENCE))
        except BlockingIOError:
            raise ValueError(
                f"`--folder` must be one that no other dashboard is at, got {str(folder)!r}."
            ) from None
        mark.write("process", os.getpid())
        yield


def _listening(host: str, port: int) -> socket.socket:
    validate.text("--host", host)
    validate.count("--port", port, minimum=0, maximum=65535)
    try:
        return socket.create_server(
            (host.removeprefix("[").removesuffix("]"), port),
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
        )
    except OSError as error:
        raise ValueError(
            f"`--host` and `--port` must be free to listen at, got {host!r} and {port}: "
            f"{error.strerror or error}."
        ) from error


def _token(folder: Path) -> str:
    """The token that the environment has, or one that is made once for the folder."""
    if given := os.environ.get(TOKEN_VARIABLE):
        if len(given) < SHORTEST_TOKEN:
            raise ValueError(
                f"`{TOKEN_VARIABLE}` must have at least {SHORTEST_TOKEN} characters, got "
                f"{len(given)}."
            )
        return given
    file = folder / "token"
    with contextlib.suppress(FileExistsError):
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(secrets.token_urlsafe(24))
    return file.read_text(encoding="ascii").strip()

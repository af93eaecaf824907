"""Flower's processes, started, watched and started again; needs the extra `flower`.

Flower gives TLS, authenticated nodes and a way through firewalls (nodes call the server). A run of
it lasts until one of its processes dies; then another run is begun, and the coordinator goes on
from its own state. Nothing of ours depends on Flower's.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from accountants import validate
from mechanisms.federated import courier_app, leash
from mechanisms.federated.relay import Relay

_APP = """\
[project]
name = "dp-assay-courier"
version = "1.0.0"
description = "Carries sealed bytes."
license = "Apache-2.0"
dependencies = ["flwr==1.41.0"]

[tool.flwr.app]
publisher = "dp-assay"

[tool.flwr.app.components]
serverapp = "courier_app.apps:server_app"
clientapp = "courier_app.apps:client_app"

[tool.flwr.app.config]
door = ""
nodes = ""
patience = 60.0
"""
# By its name: what it imports may not be installed where this file is read.
_COMMANDS = str(Path(__file__).with_name("flower_commands.py"))
_PAUSE = 0.5
_STARTS = 60.0  # seconds for a process to be there
_ENDS = 10.0
# An immediate restart of a killed node is refused until the server has noticed its death.
_NODE_RETRY = 5.0


def require_flower() -> None:
    """Raises `ValueError` if Flower is not installed."""
    if importlib.util.find_spec("flwr") is None:
        raise ValueError("the extra `flower` must be installed: pip install dp-assay[flower].")


def environment(home: Path) -> dict[str, str]:
    """What Flower's processes see: their own home, and nothing that calls elsewhere."""
    beside = str(Path(sys.executable).parent)  # Flower starts others of its commands by name
    return os.environ | {
        "PATH": os.pathsep.join(filter(None, (beside, os.environ.get("PATH")))),
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "PYTHONWARNINGS": "ignore",
    }


class Processes:
    """Child processes that end with their parent's work.

    Args:
      home: Flower's home, where their output goes as well.
    """

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._home = home
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: str, arguments: Sequence[str]) -> None:
        """Starts one of Flower's commands, in a session of its own."""
        with (self._home / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-I", leash.__file__, _command(command), *arguments],
                env=environment(self._home),
                stdin=subprocess.PIPE,  # never written to: it closes when this process dies
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_running(self, name: str) -> bool:
        """Whether it was started and has not ended."""
        return name in self.running and self.running[name].poll() is None

    def end(self, name: str) -> None:
        """Ends a process with all that it has started."""
        process = self.running.pop(name, None)
        if process is None:
            return
        _signal(process, signal.SIGTERM)
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS)
        _signal(process, signal.SIGKILL)  # whatever it has left behind
        process.wait(_ENDS)

    def end_all(self) -> None:
        """Ends all of them."""
        for name in list(self.running):
            self.end(name)


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    """To a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _command(name: str) -> str:
    """A script of this very environment."""
    beside = Path(sys.executable).with_name(name)
    if not beside.exists():
        raise ValueError(f"`{name}` must be beside {sys.executable}: install the extra `flower`.")
    return str(beside)


class FlowerCourier:
    """A courier over Flower: its server on this machine, nodes wherever the holders are.

    Use it as a context: that starts the server, and a thread that starts what dies again.

    Args:
      folder: The coordinator's folder; see `site.prepare`.
      host: What to listen on.
      port: Its port.
      patience: Seconds for one exchange.
    """

    def __init__(self, folder: Path, *, host: str, port: int, patience: float = 60.0) -> None:
        require_flower()
        self._folder = folder.resolve()
        self._host = validate.text("host", host)
        self._port = validate.count("port", port, maximum=65535)
        self._patience = validate.positive("patience", patience)
        self._home = self._folder / "flower"
        self._processes = Processes(self._home)
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._keep_going, daemon=True)
        self._relay = Relay(self._folder / "door.sock", patience=patience)
        self.begun = 0

    def __enter__(self) -> "FlowerCourier":
        self._write_app()
        self._relay.__enter__()
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._relay.__exit__(*error)
        self._ended.set()
        self._watch.join(_STARTS)
        self._processes.end_all()

    def exchange(self, asked: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """The answers that came in time."""
        return self._relay.exchange(asked)

    def process(self, name: str) -> "subprocess.Popen[bytes] | None":
        """One of Flower's processes here: "superlink"."""
        return self._processes.running.get(name)

    def _keep_going(self) -> None:
        while not self._ended.wait(_PAUSE):
            if not self._processes.is_running("superlink"):
                self._processes.end("superlink")
                try:
                    self._begin()
                except (OSError, subprocess.SubprocessError):
                    self._processes.end("superlink")  # and once more

    def _begin(self) -> None:
        """A server, the nodes that it may let in, and a run."""
        folder = self._folder
        keys = ["--ssl-ca-certfile", f"{folder}/ca.pem", "--ssl-certfile", f"{folder}/server.pem"]
        self._processes.start(
            "superlink",
            "flower-superlink",
            [
                *("--host", self._host, "--port", str(self._port), *keys),
                *("--ssl-keyfile", f"{folder}/server.key", "--enable-supernode-auth"),
                "--disable-runtime-dependency-installation",
            ],
        )
        _wait_for_port("127.0.0.1", self._port, self._ended)
        publics = sorted((folder / "nodes").glob("*.pub"), key=lambda file: int(file.stem))
        asked = [
            ["supernode", "register", str(file), "here", "--format", "json"] for file in publics
        ]
        nodes = [answer["node-id"] for answer in self._flwr(*asked)]
        settings = (
            f'door="{folder}/door.sock" patience={self._patience} '
            f'nodes="{",".join(str(node) for node in nodes)}"'
        )
        self._flwr(["run", str(self._home / "app"), "here", "--run-config", settings])
        self.begun += 1

    def _flwr(self, *commands: list[str]) -> list[dict[str, Any]]:
        """Runs commands of Flower's; gives the JSON objects that they print."""
        texts = [json.dumps(command) for command in commands]
        with (self._home / "flwr.log").open("ab") as log:
            done = subprocess.run(
                [sys.executable, _COMMANDS, *texts],
                env=environment(self._home),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                timeout=_STARTS,
                check=True,
            )
            log.write(done.stdout)
        return list(_objects(done.stdout.decode("utf-8")))

    def _write_app(self) -> None:
        app = self._home / "app"
        shutil.rmtree(app, ignore_errors=True)
        code = Path(courier_app.__file__).parent
        shutil.copytree(code, app / "courier_app", ignore=shutil.ignore_patterns("__pycache__"))
        (app / "pyproject.toml").write_text(_APP, encoding="utf-8")
        connection = {
            "address": f"127.0.0.1:{self._port}",
            "root-certificates": str(self._folder / "ca.pem"),
        }
        text = tomli_w.dumps({"superlink": {"default": "here", "here": connection}})
        (self._home / "config.toml").write_text(text, encoding="utf-8")


@contextlib.contextmanager
def node(folder: Path, *, server: str, socket_file: Path, port: int) -> Iterator[None]:
    """A Flower node that carries bytes to the holder at a socket; started again when it dies.

    Args:
      folder: The invitation's, with `ca.pem` and `node.key`.
      server: The server's host and port.
      socket_file: The holder's socket.
      port: A free port of this machine, on which the node's own processes find it.
    """
    require_flower()
    processes = Processes((folder / "flower").resolve())
    ended = threading.Event()

    def keep_going() -> None:
        while not ended.is_set():
            if not processes.is_running("supernode"):
                processes.end("supernode")
                processes.start(
                    "supernode",
                    "flower-supernode",
                    [
                        *("--superlink", server, "--root-certificates", f"{folder}/ca.pem"),
                        *("--auth-supernode-private-key", f"{folder}/node.key"),
                        *("--host", "127.0.0.1", "--port", str(port)),
                        *("--node-config", f'socket="{socket_file.resolve()}"'),
                    ],
                )
            ended.wait(_NODE_RETRY)

    thread = threading.Thread(target=keep_going, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_STARTS)
        processes.end_all()


def free_port() -> int:
    """A port of the loopback that nobody has at this moment."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, one after the other, whatever else it says."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        found, end = decoder.raw_decode(text, place)
        yield found
        place = text.find("{", end)


def _wait_for_port(host: str, port: int, ended: threading.Event) -> None:
    until = time.monotonic() + _STARTS
    while time.monotonic() < until and not ended.is_set():
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1.0):
            return
        ended.wait(_PAUSE)
    raise TimeoutError(f"nobody answers at {host}:{port}")

"""Headless Chromium through ChromeDriver's HTTP interface, with the standard library alone."""

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# As root, and without the connections to its maker that a browser opens by itself.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


def missing() -> str:
    """Which of the two programs is not installed; empty if both are."""
    found = {"chromium": chromium(), "chromedriver": shutil.which("chromedriver")}
    return ", ".join(name for name, path in found.items() if path is None)


def chromium() -> str | None:
    """The browser, under any of its names."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """One session; `with open_browser(...)` makes it."""

    def __init__(self, address: str, profile: Path) -> None:
        self._address = address
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {
                "binary": chromium(),
                "args": [*FLAGS, f"--user-data-dir={profile}"],
            },
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        body = {"capabilities": {"alwaysMatch": capabilities}}
        self._session = self._call("POST", "/session", body)["sessionId"]

    def visit(self, url: str, *, width: int, height: int = 900, scheme: str = "light") -> None:
        """Opens a page on a screen of that width, in light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.devtools("Emulation.setEmulatedMedia", {"features": [feature]})
        self._post("/url", {"url": url})

    def run(self, script: str) -> Any:
        """What a piece of JavaScript returns."""
        return self._post("/execute/sync", {"script": script, "args": []})

    def console(self) -> list[dict[str, Any]]:
        """What the page has written to the console since the last call."""
        entries: list[dict[str, Any]] = self._post("/se/log", {"type": "browser"})
        return entries

    def picture(self) -> bytes:
        """The whole page as PNG."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        options = {"captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(self.devtools("Page.captureScreenshot", options)["data"])

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.devtools("Page.printToPDF", {})["data"])

    def devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        """A command of the browser's own protocol."""
        return self._post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def close(self) -> None:
        """Ends the session."""
        self._call("DELETE", f"/session/{self._session}")

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("POST", f"/session/{self._session}{path}", body)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._address}{path}", data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise RuntimeError(error.read().decode()) from None


@contextlib.contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile; both programs end with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(port)
        browser = Browser(f"http://127.0.0.1:{port}", profile)
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.wait(timeout=30)


def _wait(port: int) -> None:
    """Until the driver listens."""
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"chromedriver does not listen on port {port}")

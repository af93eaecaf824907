"""Asks an ASGI application without a network or a thread, and keeps its cookies."""

from typing import Any

import anyio
import httpx


class Client:
    """A browser's manners, without the browser."""

    def __init__(self, app: Any, base_url: str) -> None:
        self._app = app
        self._base = base_url
        self.cookies = httpx.Cookies()

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """One request; redirections are not followed."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url=self._base, cookies=self.cookies
            ) as client:
                return await client.request(method, path, **more)

        answer = anyio.run(ask)
        self.cookies.update(answer.cookies)
        return answer

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)

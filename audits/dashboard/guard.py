"""Who may ask: an ASGI layer in front of every page.

The dashboard starts processes and reads files, so a page of somebody else's in the same browser
must not reach it. Three ways are closed:

* DNS rebinding (a stranger's host name that comes to mean this machine): without a token only
  requests to a loopback name are answered (any port: it may be the near end of a tunnel); with one,
  a stranger's name has no cookie.
* Forged requests: what changes anything must come from a page of this very origin, by `Origin`.
* Reading along from elsewhere: requests that a browser marks as made by another site are answered
  only if a person follows a link.

With a token (always, where the server can be reached from beyond loopback) every request but the
door's needs its cookie or an `Authorization: Bearer` header. The cookie is made from the token, is
not it, and cannot be read by scripts. Nothing here encrypts.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from accountants import validate

SHORTEST_TOKEN = 16
DOOR = "/enter"
"""The page that asks for the token."""
_OPEN = frozenset({DOOR, "/static/style.css"})
_SAFE = frozenset({"GET", "HEAD"})
_METHODS = frozenset({*_SAFE, "POST"})
_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Not "no-referrer": browsers would then send `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine to itself, and to nobody else.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if validate.text("host", host).lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets through to `app` what may pass.

    Attributes:
      app: What is guarded.
      port: Where it listens.
      token: What a browser must know; None to ask for nothing, on loopback only.
    """

    app: ASGIApp
    port: int
    token: str | None = None

    def __post_init__(self) -> None:
        validate.count("port", self.port, maximum=65535)
        if self.token is not None and len(validate.text("token", self.token)) < SHORTEST_TOKEN:
            raise ValueError(
                f"`token` must have at least {SHORTEST_TOKEN} characters, got {len(self.token)}."
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI call."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"`scope` must be one of HTTP, got {validate.shown(scope['type'])}.")
        answer: ASGIApp = self._refusal(scope) or self._door(scope) or self.app

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await answer(scope, receive, with_headers)

    @property
    def cookie(self) -> str:
        """The cookie's name: browsers keep one jar for all ports of a host."""
        return f"dp-assay-{self.port}"

    @property
    def pass_(self) -> str:
        """What the cookie holds."""
        assert self.token is not None
        return hmac.new(self.token.encode(), b"dp-assay dashboard", hashlib.sha256).hexdigest()

    def fits(self, token: str) -> bool:
        """Whether that is the token, in the same time for every wrong one."""
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())

    def admit(self, answer: Response) -> Response:
        """The answer with the cookie."""
        answer.set_cookie(self.cookie, self.pass_, httponly=True, samesite="lax", path="/")
        return answer

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to what nobody may ask, whoever asks."""
        headers, method = Headers(scope=scope), scope["method"]
        if method not in _METHODS:
            return _refused(405, f"The method must be one of {', '.join(sorted(_METHODS))}.")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or (self.token is None and not _is_loopback_host(hosts[0])):
            return _refused(421, f"Open http://127.0.0.1:{self.port}: this name is not known here.")
        if method not in _SAFE:
            ours = {f"{scheme}://{hosts[0]}".lower() for scheme in ("http", "https")}
            if headers.get("origin", "").lower() not in ours:
                return _refused(403, "This must be asked from the dashboard's own pages.")
        elif headers.get("sec-fetch-site") in ("cross-site", "same-site") and (
            headers.get("sec-fetch-mode") != "navigate"
        ):
            return _refused(403, "This must be asked from the dashboard's own pages.")
        return None

    def _door(self, scope: Scope) -> Response | None:
        """Where whoever has no cookie is sent; the cookie for who brings the token in a link."""
        if self.token is None or scope["path"] in _OPEN:
            return None
        headers = Headers(scope=scope)
        if self._knows(headers):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["method"] in _SAFE and self.fits(query.pop("token", [""])[0]):
            rest = urlencode(query, doseq=True)
            path = "/" + quote(scope["path"]).lstrip("/\\")
            return self.admit(RedirectResponse(f"{path}?{rest}".rstrip("?"), 303))
        if headers.get("accept", "").startswith("text/html") and scope["method"] in _SAFE:
            return RedirectResponse(DOOR, 303)
        return _refused(401, "This needs the token that was shown when the dashboard was started.")

    def _knows(self, headers: Headers) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.fits(token.strip()):
            return True
        try:
            jar = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        found = jar[self.cookie].value if self.cookie in jar else ""
        return hmac.compare_digest(found.encode(), self.pass_.encode())


def _is_loopback_host(host: str) -> bool:
    name, colon, port = host.rpartition(":")
    return is_loopback(name if colon and port.isdecimal() else host)


def _refused(status: int, words: str) -> Response:
    return PlainTextResponse(words + "\n", status)

"""The dashboard as an ASGI application: what each address answers."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs

import anyio
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from accountants import validate
from audits.dashboard import fields, form, pages
from audits.dashboard.federation import commands, invite
from audits.dashboard.guard import DOOR, Guard
from audits.dashboard.panels import made, runs_table
from audits.dashboard.planner import PlanError, facts, plan
from audits.dashboard.runner import Runner
from audits.dashboard.settings import Settings, offered
from audits.dashboard.store import Entry, State, Store
from audits.dashboard.watched import Watch, Watched
from audits.dashboard.words import certified_costs

_MOST_BYTES = 1_000_000
_MOST_FIELDS = 500
_MOST_LISTENERS = 64
_PAUSE = 0.35
_QUIET = 15.0  # seconds after which a listener is told that the dashboard is still there
_MOST_COMPARED = 4
_MOST_LISTED = 200

Row: TypeAlias = tuple[Entry, Watched, bool]


class Dashboard:
    """The pages over a store, and who keeps its runs going.

    Args:
      store: What is remembered.
      runner: Who keeps the runs going.
      data: The folder whose tables are offered.
    """

    def __init__(self, store: Store, runner: Runner, data: Path) -> None:
        self._store = store
        self._runner = runner
        self._data = data
        self._watch = Watch(store)
        self._listeners = threading.BoundedSemaphore(_MOST_LISTENERS)
        self.closing = False
        self.guard: Guard | None = None

    def app(self) -> Starlette:
        """The application, not yet guarded."""
        get, post = ["GET"], ["POST"]
        routes = [
            Route("/", self._runs, methods=get),
            Route("/events", self._all_events, methods=get),
            Route("/describe", self._form, methods=get),
            Route("/describe", self._describe, methods=post),
            Route("/plan", self._plan, methods=post),
            Route("/compare", self._compare, methods=get),
            Route("/runs/{run}", self._run, methods=get),
            Route("/runs/{run}/events", self._events, methods=get),
            Route("/runs/{run}/start", self._start, methods=post),
            Route("/runs/{run}/pause", self._pause, methods=post),
            Route("/runs/{run}/resume", self._resume, methods=post),
            Route("/runs/{run}/remove", self._remove, methods=post),
            Route("/runs/{run}/{file}", self._file, methods=get),
            Route("/static/{file}", _static, methods=get),
            Route(DOOR, self._door, methods=["GET", "POST"]),
        ]
        handlers: Mapping[Any, Any] = {HTTPException: _trouble, Exception: _crash}
        return Starlette(routes=routes, exception_handlers=handlers)

    def guarded(self, port: int, token: str | None) -> Guard:
        """The application behind its guard."""
        self.guard = Guard(self.app(), port, token)
        return self.guard

    async def _runs(self, request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(self._drawn, pages.runs))

    def _drawn(self, draw: Callable[[list[Row]], str], runs: list[str] | None = None) -> str:
        """A picture of these runs, or of all, while none of them changes."""
        with self._watch.still():
            entries = (
                self._store.entries()[:_MOST_LISTED] if runs is None else map(self._entry, runs)
            )
            return draw([self._row(entry) for entry in entries])

    def _row(self, entry: Entry) -> Row:
        with self._watch.seen(entry.id) as watched:
            return entry, watched, self._is_alive(entry)

    def _is_alive(self, entry: Entry) -> bool:
        going = entry.state in ("going", "pausing")
        return going and self._runner.folder_of(entry.id).is_alive()

    async def _form(self, request: Request) -> Response:
        like = request.query_params.get("like", "")
        values, text = dict(fields.DEFAULTS), ""
        if like:
            entry = self._entry(like)
            values, text = (entry.form, "") if entry.form else (values, entry.experiment)
        return HTMLResponse(pages.describe(values, text=text))

    async def _describe(self, request: Request) -> Response:
        values = await _fields(request)
        by_hand = values.get("toml")
        try:
            text = form.to_toml(values) if by_hand is None else by_hand
            planned = await run_in_threadpool(plan, text)
        except (form.FormError, PlanError) as error:
            problem = str(error)
            if by_hand is not None:
                page = pages.describe(fields.DEFAULTS, problem, text=by_hand)
            else:
                page = pages.describe(values, problem, form.named_in(problem, values))
            return HTMLResponse(page, 422)
        kept = {} if by_hand is not None else {k: values.get(k, "") for k in fields.FIELDS}
        run = await run_in_threadpool(
            lambda: self._store.add(
                name=planned.name, experiment=text, plan=planned.costs, form=kept
            )
        )
        return _see(f"/runs/{run}")

    async def _plan(self, request: Request) -> Response:
        try:
            text = form.to_toml(await _fields(request))
            async with _left_alone(request) as is_unwanted:
                planned = await run_in_threadpool(plan, text, unwanted=is_unwanted)
        except (form.FormError, PlanError) as error:
            # What is half typed is no error that a browser's console should speak of.
            return HTMLResponse(pages.problem_fragment(str(error)))
        return HTMLResponse(pages.plan_fragment(planned, float(facts(text)["delta"])))

    async def _run(self, request: Request) -> Response:
        return await self._run_page(self._entry_of(request))

    async def _run_page(self, entry: Entry, problem: str = "") -> Response:
        def drawn() -> str:
            with self._watch.seen(entry.id) as watched:
                alive = self._is_alive(entry)
                return pages.run(
                    entry,
                    watched,
                    alive,
                    offered=offered(self._data),
                    problem=problem,
                    to_do=self._to_do(entry),
                )

        return HTMLResponse(await run_in_threadpool(drawn), 422 if problem else 200)

    async def _start(self, request: Request) -> Response:
        entry = self._entry_of(request)
        try:
            settings = self._settings(await _fields(request))
        except (ValueError, TypeError) as error:
            return await self._run_page(entry, str(error))
        state: State = "going"
        if settings["where"] != "here":
            state = "paused"  # until its holders have joined
            try:
                await run_in_threadpool(self._invite, entry, settings)
            except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
                return await self._run_page(entry, str(error))
        if not self._store.start(entry.id, settings, state):
            raise HTTPException(409, "This run has been started already.")
        return _see(f"/runs/{entry.id}")

    def _to_do(self, entry: Entry) -> list[str]:
        """What a run's holders are to do."""
        settings = Settings.of(entry.settings)
        if settings.where == "here":
            return []
        return commands(self._runner.folder_of(entry.id), settings)

    def _invite(self, entry: Entry, settings: Mapping[str, Any]) -> None:
        invite(self._runner.folder_of(entry.id), entry.experiment, Settings.of(settings))

    def _settings(self, values: Mapping[str, str]) -> dict[str, Any]:
        """Checked settings; of files, only those that were offered."""
        given: dict[str, Any] = {"where": values.get("where") or "here"}
        known = offered(self._data)
        for name in ("data", "held_out"):
            if chosen := values.get(name, ""):
                validate.one_of(name, chosen, known)
                given[name] = str((self._data / chosen).resolve())
        if given["where"] != "here":
            given.pop("data", None)
            given |= {name: values.get(name, "") for name in ("target", "host", "listen")}
            given["port"] = _whole("port", values)
        elif given.get("data"):
            given |= {name: values.get(name, "") for name in ("target", "client")}
        else:
            given.pop("held_out", None)
            given["made_up"] = _whole("made_up", values)
        given["seed"] = _whole("seed", values)
        text = values.get("limit", "").strip()
        if text and given["where"] == "here":
            try:
                given["limit"] = float(text)
            except ValueError:
                raise validate.refusal("limit", "a number, or empty", text) from None
        Settings.of(given)
        return given

    async def _pause(self, request: Request) -> Response:
        return self._moved(self._entry_of(request), "going", "pausing")

    async def _resume(self, request: Request) -> Response:
        entry = self._entry_of(request)
        return self._moved(entry, "failed" if entry.state == "failed" else "paused", "going")

    def _moved(self, entry: Entry, before: Any, after: Any) -> Response:
        if not self._store.move(entry.id, [before], after):
            raise HTTPException(409, f"The run is {entry.state}: that cannot be asked of it now.")
        return _see(f"/runs/{entry.id}")

    async def _remove(self, request: Request) -> Response:
        entry = self._entry_of(request)
        if not await run_in_threadpool(self._runner.remove, entry.id):
            raise HTTPException(409, "The run is going: pause it first.")
        self._watch.forget(entry.id)
        return _see("/")

    async def _compare(self, request: Request) -> Response:
        chosen = list(dict.fromkeys(request.query_params.getlist("run")))[:_MOST_COMPARED]
        if len(chosen) < 2:
            raise HTTPException(422, f"Mark two to {_MOST_COMPARED} runs in the list to compare.")
        return HTMLResponse(await run_in_threadpool(self._drawn, pages.comparison, chosen))

    async def _events(self, request: Request) -> Response:
        run = self._entry_of(request).id

        def panels() -> tuple[dict[str, str], bool]:
            entry = self._store.entry(run)
            with self._watch.seen(run) as watched:
                found = made(entry, watched, self._is_alive(entry))
            return found, entry.state not in ("going", "pausing")

        return self._stream(request, panels)

    async def _all_events(self, request: Request) -> Response:
        return self._stream(request, lambda: ({"runs": self._drawn(runs_table)}, False))

    def _stream(
        self, request: Request, panels: Callable[[], tuple[dict[str, str], bool]]
    ) -> Response:
        if not self._listeners.acquire(blocking=False):
            raise HTTPException(503, "Too many pages are open.")

        async def told() -> AsyncIterator[str]:
            try:
                known: dict[str, str] = {}
                quiet = 0.0
                yield "retry: 1500\n\n"
                while not self.closing and not await request.is_disconnected():
                    try:
                        found, ended = await run_in_threadpool(panels)
                    except KeyError:  # the run has been removed
                        found, ended = {}, True
                    new = {name: text for name, text in found.items() if known.get(name) != text}
                    known.update(new)
                    if new:
                        yield f"event: panels\ndata: {json.dumps(new)}\n\n"
                    elif quiet >= _QUIET:
                        yield ": still here\n\n"
                    if ended:
                        yield "event: end\ndata: {}\n\n"
                        return
                    quiet = 0.0 if new or quiet >= _QUIET else quiet + _PAUSE
                    await anyio.sleep(_PAUSE)
            finally:
                self._listeners.release()

        return StreamingResponse(told(), media_type="text/event-stream")

    async def _file(self, request: Request) -> Response:
        entry, name = self._entry_of(request), request.path_params["file"]
        content = await run_in_threadpool(self._content, entry, name)
        if content is None:
            raise HTTPException(404, "There is no such file of this run.")
        kind = "application/json" if name.endswith(".json") else "application/toml"
        # With the run's number, so that files of two runs do not get each other's name.
        stem, _, ending = name.rpartition(".")
        headers = {"content-disposition": f'attachment; filename="{stem}-run-{entry.id}.{ending}"'}
        return Response(content, media_type=kind, headers=headers)

    def _content(self, entry: Entry, name: str) -> str | None:
        """A file of a run by its public name; no other can be named."""
        answer = entry.answer
        files: dict[str, Callable[[], str]] = {"experiment.toml": lambda: entry.experiment}
        costs = certified_costs(entry) or entry.plan
        for number, cost in enumerate(costs, start=1):
            if found := cost["certificate"]:
                files[f"certificate-{number}.json"] = partial(json.dumps, found, indent=2)
        if answer:
            folder = self._runner.folder_of(entry.id)
            files["answer.json"] = lambda: json.dumps(answer, indent=2)
            if folder.transcript.exists():
                files["transcript.json"] = lambda: folder.transcript.read_text(encoding="ascii")
        return files[name]() if name in files else None

    async def _door(self, request: Request) -> Response:
        guard = self.guard
        if guard is None or guard.token is None:
            return _see("/")
        if request.method != "POST":
            return HTMLResponse(pages.door())
        if guard.fits((await _fields(request)).get("token", "").strip()):
            return guard.admit(_see("/"))
        await anyio.sleep(0.5)
        return HTMLResponse(pages.door("That is not the token."), 403)

    def _entry_of(self, request: Request) -> Entry:
        return self._entry(request.path_params["run"])

    def _entry(self, number: str) -> Entry:
        try:
            return self._store.entry(int(number))
        except (KeyError, ValueError):
            raise HTTPException(404, "There is no such run.") from None


def _whole(name: str, values: Mapping[str, str]) -> int:
    try:
        return int(values.get(name, ""))
    except ValueError:
        raise validate.refusal(name, "a whole number", values.get(name, "")) from None


async def _fields(request: Request) -> dict[str, str]:
    """A form's fields; of a field that occurs twice, the last."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != (
        "application/x-www-form-urlencoded"
    ):
        raise HTTPException(415, "This must be a form.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise HTTPException(413, f"A form must have at most {_MOST_BYTES:,} bytes.")
    try:
        found = parse_qs(
            body.decode("utf-8"),
            keep_blank_values=True,
            max_num_fields=_MOST_FIELDS,
            errors="strict",
        )
    except ValueError:
        raise HTTPException(400, "This must be a form's fields, in UTF-8.") from None
    return {name: values[-1].replace("\r\n", "\n") for name, values in found.items()}


@contextlib.asynccontextmanager
async def _left_alone(request: Request) -> AsyncIterator[Callable[[], bool]]:
    """Whether the browser waits no more: while somebody types, most previews are out of date."""
    gone = threading.Event()

    async def look() -> None:
        while not gone.is_set():
            if await request.is_disconnected():
                gone.set()
            await anyio.sleep(_PAUSE)

    looking = asyncio.create_task(look())
    try:
        yield gone.is_set
    finally:
        gone.set()
        looking.cancel()


def _see(where: str) -> RedirectResponse:
    """Sends the browser on, so that a reload does not ask again."""
    return RedirectResponse(where, 303)


async def _static(request: Request) -> Response:
    own = resources.files("audits.dashboard").joinpath("static")
    name = request.path_params["file"]
    if name == "style.css":
        report = resources.files("audits.report").joinpath("style.css")
        sheets = [one.read_text(encoding="utf-8") for one in (report, own.joinpath(name))]
        return Response("\n".join([*sheets, form.hiding_rules()]), media_type="text/css")
    kinds = {"live.js": "text/javascript", "icon.svg": "image/svg+xml"}
    if name not in kinds:
        raise HTTPException(404, "There is no such file.")
    return Response(own.joinpath(name).read_text(encoding="utf-8"), media_type=kinds[name])


async def _trouble(request: Request, error: HTTPException) -> Response:
    words = {404: "Not found", 405: "Not like this", 409: "Not now"}
    title = words.get(error.status_code, "That did not work")
    return HTMLResponse(pages.trouble(title, str(error.detail)), error.status_code)


async def _crash(request: Request, error: Exception) -> Response:
    return HTMLResponse(
        pages.trouble("That did not work", "An error of the dashboard's; its log says more."), 500
    )

"""The dashboard in Chromium: describe, start, watch, finish; reloads, kills, strangers, phones."""

import contextlib
import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import browser
import pytest

from mechanisms import durable

pytestmark = pytest.mark.slow
PATIENCE = 240_000  # milliseconds; machines that test are busy
SCREENS = [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")]
LONG = 300


class Served:
    """A dashboard in a process of its own, which may be killed and started again."""

    def __init__(self, folder):
        self.folder = folder
        self.port = 0
        self.process = None
        self.start()

    def start(self):
        command = [sys.executable, "-m", "audits", "dashboard", "--folder", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), "--data", str(self.folder.parent)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.process.stdout.readline().removeprefix("open ").strip().rstrip("/")
        assert self.url, "the dashboard did not start"
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self):
        """As for want of memory: the process that serves, and the one that looks after it."""
        os.kill(durable.holder(self.folder / "store"), signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def chromium():
    """A browser, or a clear message that there is none."""
    if browser.chromium() is None:
        pytest.skip("no browser: install chromium (Debian: chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=browser.chromium(), args=[*browser.FLAGS[1:]]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dashboard")
    records = Path(__file__).parents[2] / "docs" / "records.csv"
    shutil.copy(records, folder / "records.csv")
    made = Served(folder / "runs")
    yield made
    made.end()


@pytest.fixture
def page(chromium, served):
    """A page whose console must stay empty, as on a wide screen."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    said = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    context.close()
    # While a dashboard is dead its pages may say that it cannot be reached.
    assert [text for text in said if "ERR_" not in text] == []


def describe(page, served, rounds, name="a run"):
    page.goto(f"{served.url}/describe")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Rounds", exact=True).fill(str(rounds))
    page.locator("[name='scopes.1.relation']").select_option("")
    page.get_by_role("button", name="Write the file and plan it").click()
    page.wait_for_url("**/runs/*")


def start(page, **settings):
    for label, value in settings.items():
        page.get_by_label(label).fill(value)
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator("progress").wait_for()


def rounds_made(page):
    return page.locator("progress").evaluate("bar => bar.value")


def until(condition, patience=PATIENCE / 1000):
    given_up = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < given_up, "it takes too long"
        time.sleep(0.05)


def finishes(page, rounds):
    page.locator("#panel-status").get_by_text("finished").wait_for()
    assert rounds_made(page) == rounds
    assert f"Round {rounds} of {rounds}" in page.locator("#panel-status").inner_text()


def test_describe_start_watch_finish_and_take_along(page, served, tmp_path):
    page.goto(f"{served.url}/describe")
    page.get_by_label("Rounds", exact=True).fill("6")
    plan = page.locator("#plan strong").first
    page.locator("#plan[aria-busy]").wait_for()
    page.locator("#plan:not([aria-busy])").wait_for()
    planned = plan.inner_text()
    page.get_by_role("button", name="Write the file and plan it").click()
    page.wait_for_url("**/runs/*")
    assert planned in page.locator("main").inner_text()
    assert page.locator("progress").count() == 0  # nothing has run
    page.get_by_label("Records", exact=True).select_option("records.csv")
    page.get_by_label("Column that says whose a record is").fill("client")
    start(page)
    page.locator("#panel-clients table tbody tr").nth(4).wait_for()
    finishes(page, 6)
    words = page.locator("main").inner_text()
    for shown in ("online", "offline"):
        assert shown in words or shown == "online"
    for title in ("Privacy", "Clients", "Learning", "Posterior", "Files"):
        page.get_by_role("heading", name=title).wait_for()
    assert "certified of what was run" in words
    with page.expect_download() as download:
        page.get_by_role("link", name="certificate-1.json").click()
    file = tmp_path / "certificate.json"
    download.value.save_as(file)
    checked = subprocess.run(
        [sys.executable, "-m", "audits", "verify", str(file)], capture_output=True, text=True
    )
    assert "VERIFIED" in checked.stdout, checked.stderr


def test_the_keyboard_alone_is_enough(page, served):
    page.goto(served.url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"

    def reach(words):
        """Tabs on until something of that name has the focus."""
        for _ in range(120):
            page.keyboard.press("Tab")
            name = page.evaluate(
                "(document.activeElement.labels?.[0] ?? document.activeElement).textContent"
            )
            if name.strip() == words:
                return
        raise AssertionError(f"{words} cannot be reached")

    reach("Describe")
    page.keyboard.press("Enter")
    page.wait_for_url("**/describe")
    reach("Rounds")
    page.keyboard.press("Control+a")
    page.keyboard.type(str(LONG))
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*")
    reach("Start")
    page.keyboard.press("Enter")
    page.locator("progress").wait_for()
    reach("Pause")
    before = rounds_made(page)
    until(lambda: rounds_made(page) > before + 2)
    # The page has changed under it, and the focus has stayed.
    assert page.evaluate("document.activeElement.textContent") == "Pause"
    page.keyboard.press("Enter")
    page.locator("#panel-status").get_by_text("paused").wait_for()
    paused_at = rounds_made(page)
    assert paused_at < LONG
    reach("Go on")
    page.keyboard.press("Enter")
    finishes(page, LONG)


def test_whatever_is_killed_or_loaded_anew_the_run_comes_to_its_end(page, served):
    """A reload, SIGKILL of the run, then of the dashboard, then its end; the page stays open."""
    describe(page, served, LONG)
    start(page)
    until(lambda: rounds_made(page) >= 3)
    seen = rounds_made(page)
    page.reload()
    page.locator("progress").wait_for()
    assert rounds_made(page) >= seen
    run = page.url.rsplit("/", 1)[1]
    checkpoint = served.folder / "runs" / run / "checkpoint"
    os.kill(durable.holder(checkpoint), signal.SIGKILL)
    seen = rounds_made(page)
    until(lambda: rounds_made(page) > seen)
    served.kill()
    page.locator("body[data-lost]").wait_for()
    served.start()
    page.locator("body:not([data-lost])").wait_for()
    seen = rounds_made(page)
    until(lambda: rounds_made(page) > seen)
    served.end()
    assert durable.holder(checkpoint) is None
    assert rounds_made(page) < LONG
    served.start()
    finishes(page, LONG)


def test_it_works_without_a_script(chromium, served):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    describe(page, served, 3, "no script")
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator("#panel-status").get_by_text("finished").wait_for()
    context.close()


@contextlib.contextmanager
def stranger(text):
    """Another site on this machine: the hardest case, as browsers take it for the same site."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_another_sites_page_neither_acts_nor_reads(chromium, served):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(served.url)
    before = page.locator("tbody tr").count()
    evil = (
        f'<form method="post" action="{served.url}/describe"><input name="toml" value="x"></form>'
        f'<iframe src="{served.url}"></iframe>'
    )
    with stranger(evil) as url:
        page.goto(url)
        read = page.evaluate(
            "async url => { try { return await (await fetch(url)).text() }"
            " catch (error) { return 'refused' } }",
            served.url,
        )
        assert read == "refused"
        sent = page.evaluate(
            "async url => { try { return await fetch(url, {method: 'POST', mode: 'no-cors',"
            " body: new URLSearchParams({toml: 'x'})}) } catch (error) { return 'refused' } }",
            f"{served.url}/describe",
        )
        assert sent == "refused"
        frame = page.frames[1]
        assert "Runs" not in frame.content()
        with page.expect_navigation():
            page.evaluate("document.forms[0].submit()")
        assert "must be asked from the dashboard's own pages" in page.content()
    page.goto(served.url)
    assert page.locator("tbody tr").count() == before
    context.close()


@pytest.fixture(scope="module")
def addresses(chromium, served):
    """One page of each kind, with a run that has come to its end and one that waits."""
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    describe(page, served, 4)
    waiting = page.url.rsplit("/", 1)[1]
    describe(page, served, 4, "a name that is much longer than names of experiments need to be")
    run = page.url.rsplit("/", 1)[1]
    start(page, **{"Limit: no client spends more ε than": "0.7"})
    finishes(page, 4)
    found = {
        "list": "/",
        "describe": "/describe",
        "described": f"/runs/{waiting}",
        "finished": f"/runs/{run}",
        "compare": f"/compare?run={waiting}&run={run}",
        "missing": "/runs/9999",
    }
    page.close()
    return found


KINDS = ["list", "describe", "described", "finished", "compare", "missing"]


@pytest.mark.parametrize("kind", KINDS)
def test_pages_fit_and_can_be_read(chromium, served, addresses, kind):
    """No page is wider than its screen; words have WCAG AA's contrast; a finger hits buttons."""
    page = chromium.new_page()
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(served.url + addresses[kind])
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(_CONTRASTS) == []
        small = page.evaluate(
            "[...document.querySelectorAll('button, .button, select, input[type=text]')]"
            ".filter(e => e.offsetParent && e.getBoundingClientRect().height < 44)"
            ".map(e => e.outerHTML)"
        )
        assert small == []
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input, select, textarea')]"
            ".filter(e => !e.labels.length && !e.ariaLabel).map(e => e.name)"
        )
        assert unnamed == []
    page.close()


# Words whose colour is too near to the paper behind them.
_CONTRASTS = """
(() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => channels(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if ((channels(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const words = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!words || !e.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push(`${e.tagName} ${e.textContent.slice(0, 40)} ${contrast}`);
  }
  return found;
})()
"""

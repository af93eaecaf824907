// Brings a page up to date while it is looked at. Everything works without it, a little later.
"use strict";

const main = document.querySelector("main[data-live]");
let source = null;

function put(id, html) {
  const panel = document.getElementById("panel-" + id);
  if (!panel || panel.innerHTML === html) return;
  if (id === "said") { panel.textContent = html; return; }
  // What is open, marked, scrolled or in focus stays so.
  const open = [...panel.querySelectorAll("details")].map(one => one.open);
  const checked = [...panel.querySelectorAll("input:checked")].map(one => one.id);
  const scrolled = [...panel.querySelectorAll(".scroll")].map(one => one.scrollLeft);
  const reach = "a, button, summary, input, .scroll";
  const focus = [...panel.querySelectorAll(reach)].indexOf(document.activeElement);
  panel.innerHTML = html;
  panel.querySelectorAll("details").forEach((one, k) => { one.open = open[k] ?? false; });
  panel.querySelectorAll(".scroll").forEach((one, k) => { one.scrollLeft = scrolled[k] ?? 0; });
  for (const box of checked) {
    const found = document.getElementById(box);
    if (found) found.checked = true;
  }
  if (focus >= 0) panel.querySelectorAll(reach)[focus]?.focus({ preventScroll: true });
}

function listen() {
  if (source || document.hidden) return;
  source = new EventSource(main.dataset.live);
  source.addEventListener("panels", event => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) put(id, html);
    document.body.dataset.heard = String(Number(document.body.dataset.heard ?? 0) + 1);
  });
  source.addEventListener("end", () => { leave(); });
  source.addEventListener("open", () => { delete document.body.dataset.lost; });
  source.addEventListener("error", () => { document.body.dataset.lost = "yes"; });
}

function leave() {
  source?.close();
  source = null;
}

if (main) {
  listen();
  // Browsers allow six connections to a server: pages that nobody sees give theirs back.
  document.addEventListener("visibilitychange", () => { document.hidden ? leave() : listen(); });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", listen);
}

const describing = document.querySelector("form[data-plan]");
if (describing) {
  const plan = document.getElementById("plan");
  let timer = null;
  let asked = null;
  const ask = async () => {
    asked?.abort();
    asked = new AbortController();
    plan.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(describing.dataset.plan, {
        method: "POST",
        body: new URLSearchParams(new FormData(describing)),
        signal: asked.signal,
      });
      plan.innerHTML = await answer.text();
      plan.removeAttribute("aria-busy");
    } catch (error) {
      if (error.name !== "AbortError") plan.removeAttribute("aria-busy");
    }
  };
  describing.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 600);
  });
  addEventListener("pageshow", ask);
}

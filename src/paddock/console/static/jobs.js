// The list of jobs: filter, order and columns change in place; chosen jobs stay chosen while rows come and go; views
// are kept in this browser. Without this file the same links and forms load the page anew.
const root = document.documentElement;
const main = () => document.getElementById("main");
// A console of several clusters has them below one origin: what is chosen is of one of them.
const cluster = /^\/s\/[^/]+(\/c\/[^/]+)/.exec(location.pathname)?.[1] || "";
const QUIET_MS = 300, MOST_VIEWS = 20, VIEWS = "paddock-views", CHOSEN = "paddock-chosen" + cluster;

// Another filter: the page of the new address is put over this one, and the stream of <main> goes over to it. There is
// one stream at any time: its address is looked up when it is asked for, and one of an address of before is broken off.
let asked, fetched = "", connection = null;
const stream = () => main().getAttribute("data-hx-sse:connect");

let waiting = 0;

async function show(address, replace) {
  clearTimeout(waiting);
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  try {
    const answer = await fetch(location.href, { signal, headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return void location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (signal.aborted) return;
    const fresh = page.getElementById("main");
    main().setAttribute("data-hx-sse:connect", fresh.getAttribute("data-hx-sse:connect"));
    follow();
    await htmx.swap({ sourceElement: main(), target: main(), text: fresh.innerHTML, swap: "innerMorph" });
    keepChoices();
    refresh();
    dispatchEvent(new Event("paddock:shown"));
  } catch (error) {
    if (error.name !== "AbortError") location.reload();
  }
}

function follow() {
  if (!connection || fetched === stream()) return;
  connection.lastEventId = "";
  connection.reader?.cancel();
}

addEventListener("htmx:config:request", (event) => {
  if (event.target !== main()) return;
  Object.defineProperty(event.detail.ctx.request, "action", { get: () => (fetched = stream()), set() {} });
});
addEventListener("htmx:sse:after:connection", (event) => {
  connection = event.detail.connection;
  setTimeout(follow);  // it has a reader then
});
addEventListener("htmx:sse:before:message", (event) => { if (fetched !== stream()) event.detail.cancelled = true; });
addEventListener("htmx:before:history:restore", (event) => event.preventDefault());

// The frame offers languages and colours at the address of the page.
function keepChoices() {
  for (const link of document.querySelectorAll("header a[href*='lang='], header a[href*='theme=']")) {
    const own = new URL(link.href), query = new URLSearchParams(location.search);
    for (const name of ["lang", "theme"]) if (own.searchParams.has(name)) query.set(name, own.searchParams.get(name));
    link.href = `${own.pathname}?${query}`;
  }
}

function addressOf(form) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    const before = query.get(name);
    if (value) query.set(name, before ? `${before},${value}` : value);
  }
  return `?${query}`;
}

addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form) return;
  if (form.id === "filter") {
    clearTimeout(waiting);
    waiting = setTimeout(() => show(addressOf(document.getElementById("filter")), true), QUIET_MS);
  }
  if (form.matches("[data-columns]")) show(addressOf(form));
});
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id === "filter" || form.matches("[data-columns]")) {
    event.preventDefault();
    show(addressOf(form));
  }
  if (form.matches("[data-save-view]")) {
    event.preventDefault();
    saveView(form.elements.name.value.trim());
    form.reset();
    form.closest("details").open = false;
  }
});
addEventListener("popstate", () => show(location.href, true));

// The chosen jobs, by their field's name: the UID of each.
const chosen = new Map(read(sessionStorage, CHOSEN));
const boxes = () => [...document.querySelectorAll(".pick input[name]")];

function choose(box, is) {
  if (is) chosen.set(box.name, box.value);
  else chosen.delete(box.name);
  sessionStorage.setItem(CHOSEN, JSON.stringify([...chosen]));
}

function refresh() {
  const shown = boxes();
  for (const box of shown) box.checked = chosen.get(box.name) === box.value;
  root.classList.toggle("choosing", chosen.size > 0);
  const form = document.getElementById("chosen"), said = form?.querySelector("output");
  if (said) {
    const most = Number(form.dataset.most), is = chosen.size > most ? "tooMany" : "counted";
    const text = said.dataset[is].replace("{count}", chosen.size);
    if (said.textContent !== text) said.textContent = text;
    for (const button of form.querySelectorAll("button[formaction]")) button.disabled = chosen.size > most;
  }
  const all = document.querySelector("[data-pick-all]");
  if (all) {
    const count = shown.filter((box) => box.checked).length;
    all.checked = count > 0 && count === shown.length;
    all.indeterminate = count > 0 && count < shown.length;
  }
  showViews();
}

addEventListener("change", (event) => {
  const box = event.target;
  if (box.matches(".pick input[name]")) choose(box, box.checked);
  else if (box.matches("[data-pick-all]")) for (const each of boxes()) choose(each, box.checked);
  else return;
  refresh();
});
addEventListener("formdata", (event) => {
  if (event.target.id !== "chosen") return;
  for (const [name, uid] of chosen) event.formData.set(name, uid);
});

// Views: an address of this page, by a name.
function read(store, key) {
  try {
    const found = JSON.parse(store.getItem(key) || "[]");
    return Array.isArray(found) ? found.filter((each) => Array.isArray(each) && each.every((text) => typeof text === "string")) : [];
  } catch {
    return [];
  }
}

function saveView(name) {
  if (!name) return;
  const others = read(localStorage, VIEWS).filter((each) => each[0] !== name);
  localStorage.setItem(VIEWS, JSON.stringify([...others, [name, location.search || "?"]].slice(-MOST_VIEWS)));
  showViews();
}

function showViews() {
  const nav = document.getElementById("views");
  if (!nav) return;
  const views = read(localStorage, VIEWS).filter(([, address]) => address.startsWith("?"));
  nav.hidden = !views.length;
  nav.replaceChildren(...views.map(([name, address]) => {
    const chip = document.createElement("span"), link = document.createElement("a"), remove = document.createElement("button");
    link.href = address;
    link.textContent = name;
    link.dataset.here = "";
    if (address === (location.search || "?")) link.setAttribute("aria-current", "true");
    remove.type = "button";
    remove.textContent = "×";
    remove.dataset.view = name;
    remove.setAttribute("aria-label", nav.dataset.remove.replace("{name}", name));
    chip.append(link, remove);
    return chip;
  }));
}

addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target.closest("a[data-here], [data-view], [data-pick-none]") : null;
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (target.matches("a")) return void show(target.getAttribute("href"));
  if (target.matches("[data-view]")) {
    const left = read(localStorage, VIEWS).filter((each) => each[0] !== target.dataset.view);
    localStorage.setItem(VIEWS, JSON.stringify(left));
  } else {
    chosen.clear();
    sessionStorage.removeItem(CHOSEN);
  }
  refresh();
});

// The page that says what was done: these jobs are chosen no more.
for (const field of document.querySelector("[data-done]")?.dataset.done.split(" ") || []) chosen.delete(field);
if (document.querySelector("[data-done]")) sessionStorage.setItem(CHOSEN, JSON.stringify([...chosen]));

addEventListener("htmx:sse:after:message", refresh);
addEventListener("storage", refresh);
refresh();

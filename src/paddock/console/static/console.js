// What every page has: ages that go on, keys, copied commands, colours that change in place. All of it works without
// this file by links, and none of it asks the server for anything.
const root = document.documentElement;
root.classList.add("scripts");

// The same words as the server's (kube/times.py, format_duration), with the units of the language.
const [y, d, h, m, s] = root.dataset.units?.split(",") || "ydhms";

function tellAge(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(whole / 60), hours = Math.floor(whole / 3600), days = Math.floor(whole / 86400);
  const two = (large, unit, small, smallUnit) => large + unit + (small ? small + smallUnit : "");
  if (whole < 120) return whole + s;
  if (minutes < 10) return two(minutes, m, whole % 60, s);
  if (minutes < 180) return minutes + m;
  if (hours < 8) return two(hours, h, minutes % 60, m);
  if (hours < 48) return hours + h;
  if (days < 8) return two(days, d, hours % 24, h);
  if (days < 730) return days + d;
  const years = Math.floor(days / 365);
  return years < 8 ? two(years, y, days % 365, d) : years + y;
}

function tick() {
  if (document.hidden) return;
  const now = Date.now() / 1000;
  for (const each of document.querySelectorAll("time[data-since]")) {
    const said = tellAge(now - Number(each.dataset.since));
    if (each.textContent !== said) each.textContent = said;
    if (!each.title) each.title = inUtc(new Date(each.dateTime));
  }
}
setInterval(tick, 1000);

// Times come in UTC, and are shown in the zone of who reads them; their title keeps UTC.
const two = (number) => String(number).padStart(2, "0");
const inUtc = (at) => at.toISOString().slice(0, 19).replace("T", " ") + " UTC";

function tellTime(at, clockAlone) {
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  return clockAlone ? clock : `${[at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-")} ${clock}`;
}

function localise() {
  for (const each of document.querySelectorAll("time[datetime]:not([data-since])")) {
    const at = new Date(each.dateTime);
    const said = tellTime(at, "clock" in each.dataset);
    if (each.textContent === said) continue;
    each.title = inUtc(at);
    each.textContent = said;
  }
}
localise();
new MutationObserver(localise).observe(document.getElementById("main"), { subtree: true, childList: true, characterData: true });

// The head: its menu on a phone, and what drops down.
addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const unfold = document.getElementById("unfold");
  if (unfold) {
    const menu = document.getElementById("menu");
    const open = Boolean(target && target.closest("#unfold")) && !menu.classList.contains("open");
    menu.classList.toggle("open", open);
    unfold.setAttribute("aria-expanded", String(open));
  }
  closeDrops(target);
});

function closeDrops(kept) {
  for (const each of document.querySelectorAll("details.drop[open]")) {
    if (!kept || !each.contains(kept)) each.open = false;
  }
}

async function copy(button) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling || button);
    return;
  }
  if (said === "✓") return;  // copied again at once
  button.textContent = "✓";
  setTimeout(() => { button.textContent = said; }, 1200);
}

function choose(link) {
  root.dataset.theme = link.dataset.themeName;
  document.cookie = `paddock-theme=${link.dataset.themeName}; path=/; max-age=31536000; samesite=strict`;
  for (const each of link.parentElement.children) each.toggleAttribute("aria-current", false);
  link.setAttribute("aria-current", "true");
  dispatchEvent(new Event("paddock:theme"));
}

addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const button = target && target.closest("button[data-copy]");
  if (button) return void copy(button);
  const theme = target && target.closest("a[data-theme-name]");
  if (!theme || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  choose(theme);
});

// Keys. A link or a button says its own by `data-key`; one in the chosen row comes first.
const rows = () => [...document.querySelectorAll("[data-row]")];
const chosen = () => document.activeElement && document.activeElement.closest("[data-row]");
let first = "";

function walk(step) {
  const all = rows(), at = all.indexOf(chosen());
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))];
  const link = next && next.querySelector("a, button, summary");
  if (link) link.focus();
  return Boolean(link);
}

function press(key) {
  const name = `[data-key="${CSS.escape(key)}"]`;
  const row = chosen();
  const target = (row && row.querySelector(name)) || [...document.querySelectorAll(name)].find((each) => !each.closest("[data-row]"));
  if (!target) return false;
  target.click();
  return true;
}

function act(key) {
  if (key === "j" || key === "k") return walk(key === "j" ? 1 : -1);
  if (key === "/") {
    const field = document.querySelector("main input[type=search]");
    if (field) { field.focus(); field.select(); }
    return Boolean(field);
  }
  if (key === "c") {
    const row = chosen();
    const button = (row || document).querySelector("button[data-copy]");
    if (button) copy(button);
    return Boolean(button);
  }
  return press(key);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  const target = event.target instanceof HTMLElement ? event.target : document.body;
  const typing = target.isContentEditable || target.matches("input, textarea, select");
  if (event.key === "Escape") {
    first = "";
    closeDrops(null);
    if (target !== document.body) target.blur();
    return;
  }
  if (typing || event.key === "Enter" || event.key === "Tab" || event.key === " ") return;
  const key = first ? `${first} ${event.key}` : event.key;
  first = key === "g" ? "g" : "";
  if (!first && act(key)) event.preventDefault();
});

// The stream of a live page: where it breaks off, what is shown is old. hx-sse goes on trying by itself.
const notice = document.getElementById("connection");
let lost = 0;

function tell(event) {
  if (event.target.closest("main")) tellLost(event.detail.status || 0);
}

function tellLost(status) {
  if (!notice) return;
  lost = lost || Date.now();
  const at = new Date(lost).toLocaleTimeString(root.lang, { hour12: false });
  const why = status === 401 ? "out" : status === 429 ? "full" : "down";
  const said = notice.dataset[why].replace("{time}", at);
  if (notice.textContent !== said) notice.textContent = said;
  notice.hidden = false;
  root.classList.add("stale");
}

function recover() {
  lost = 0;
  if (!notice) return;
  notice.hidden = true;
  root.classList.remove("stale");
}

// hx-sse tries again only where it was connected once.
function connectAgain(event) {
  const main = event.target, address = main.getAttribute("data-hx-sse:connect");
  if (!address || !event.detail.ctx) return;
  tell(event);
  setTimeout(() => htmx.ajax("GET", address, { source: main }), 2000);
}

addEventListener("htmx:error", connectAgain);
addEventListener("htmx:sse:error", tell);
addEventListener("htmx:sse:after:connection", recover);
// Of a page that asks by itself.
addEventListener("console:lost", (event) => tellLost(event.detail));
addEventListener("console:answered", recover);

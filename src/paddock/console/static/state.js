// What the tab tells while nobody looks at it: the state of what the page is about, in its title and its icon, and on
// request a notification when a job ends. A list says its mark itself (#told); of a page of a job it is the first state
// that stands there. While the tab is hidden its stream rests, so the page is asked for again, and only while
// something of it runs.
// A job of the same name may be in another cluster of this console.
const cluster = /^\/s\/[^/]+(\/c\/[^/]+)/.exec(location.pathname)?.[1] || "";
const HIDDEN_MS = 30_000, WATCHED = "paddock-watched" + cluster, MOST_WATCHED = 50;
const SIGNS = { Failed: "✕", Invalid: "✕", Completed: "✓", Running: "▶", Restarting: "↻", Pending: "…", Starting: "…" };
const ICONS = { Failed: "failed", Invalid: "failed", Completed: "completed", Running: "running", Restarting: "waiting", Pending: "waiting", Starting: "waiting" };
const ENDED = ["Completed", "Failed", "Cancelled", "Invalid"];
const title = document.title;
const icon = document.querySelector("link[rel=icon]");
const plain = icon && icon.href;

function look(page) {
  const told = page.getElementById("told");
  if (told) return { mark: told.dataset.mark, icon: told.dataset.icon, lives: "lives" in told.dataset };
  if (!/\/jobs\/[^/]+\/[^/]+\/[^/]+/.test(location.pathname)) return { mark: "", icon: "", lives: false };
  const phase = page.querySelector("main .phase")?.dataset.phase || "";
  return { mark: SIGNS[phase] || "", icon: ICONS[phase] || "", lives: phase in SIGNS && !ENDED.includes(phase) };
}

let lives = false;

function show(page) {
  const now = look(page);
  lives = now.lives;
  const said = now.mark ? `${now.mark} ${title}` : title;
  if (document.title !== said) document.title = said;
  if (icon) {
    const wanted = now.icon ? new URL(`paddock-${now.icon}.svg`, import.meta.url).href : plain;
    if (icon.href !== wanted) icon.href = wanted;
  }
  tell(page);
}

// Jobs to be told of, by their address within the session: the name of each.
function readWatched() {
  try {
    const found = JSON.parse(sessionStorage.getItem(WATCHED) || "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

// A button in a row is about its job; one of a page of a job says it: data-tell, data-name.
const addressOf = (button) => button.dataset.tell || button.closest("tr").id;

function keep(watched) {
  sessionStorage.setItem(WATCHED, JSON.stringify(watched));
  for (const button of document.querySelectorAll("[data-tell]")) {
    const is = String(addressOf(button) in watched);
    if (button.getAttribute("aria-pressed") !== is) button.setAttribute("aria-pressed", is);
  }
}

// A page of a job speaks of that job alone, whose address begins its own.
function findPhase(page, address) {
  const row = page.getElementById(address);
  if (row) return row.querySelector(".phase")?.dataset.phase || "";
  const here = location.pathname.endsWith(address) || location.pathname.includes(`${address}/`);
  return here ? page.querySelector("main .phase")?.dataset.phase || "" : "";
}

function tell(page) {
  const watched = readWatched();
  for (const [address, name] of Object.entries(watched)) {
    const phase = findPhase(page, address);
    if (!ENDED.includes(phase)) continue;
    delete watched[address];
    const body = page.getElementById(address)?.querySelector(".said")?.textContent || "";
    try {
      const notification = new Notification(`${name}: ${phase}`, { body, tag: address, icon: plain });
      notification.onclick = () => { focus(); notification.close(); };
    } catch {
      // A browser of a phone that tells nothing for a page: the title and the row say it.
    }
  }
  keep(watched);
}

async function ask(button) {
  const watched = readWatched(), address = addressOf(button);
  if (address in watched) {
    delete watched[address];
    return keep(watched);
  }
  if (!("Notification" in window) || (await Notification.requestPermission()) !== "granted") return refuse(button);
  watched[address] = button.dataset.name || button.closest("tr").querySelector("th a").textContent;
  keep(Object.fromEntries(Object.entries(watched).slice(-MOST_WATCHED)));
  show(document);
}

function refuse(button) {
  const said = document.createElement("p");
  said.className = "wrong";
  said.setAttribute("role", "status");
  said.textContent = button.dataset.refused || document.getElementById("told").dataset.refused;
  document.getElementById("main").prepend(said);
}

addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("button[data-tell]") : null;
  if (button) ask(button);
});

// The tab is hidden: what it would show is looked at now and then.
async function lookAgain() {
  if (!document.hidden || !lives) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (document.hidden) show(page);
  } catch {
    // It does not answer: the next look may find it.
  }
}
setInterval(lookAgain, HIDDEN_MS);
for (const each of ["htmx:sse:after:message", "paddock:shown"]) addEventListener(each, () => show(document));
show(document);

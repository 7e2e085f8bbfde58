// The form and the text of one job, brought together by the server 300 ms after the last key. Without this file the
// page's buttons do the same. What is typed while an answer is on its way stays; an answer that is no page of this form
// (an ended session, a console that is gone) leaves all that was typed where it is.
const form = document.getElementById("editor");
const text = document.getElementById("text");
// Without the place of the session: the next one has another.
const place = "paddock-draft:" + location.pathname.replace(/^\/s\/[^/]+/, "") + location.search;
const MOST_PAINTED = 3000; // lines: more are not painted at each key
let timer = 0;
let asked = null;
let sending = false;
let first = "";

if (form) {
  first = text.value;
  form.addEventListener("input", (event) => {
    keep();
    if (event.target === text) draw();
    if (!event.isComposing) soon();
  });
  form.addEventListener("compositionend", soon);
  form.addEventListener("submit", (event) => {
    if (!event.submitter || !event.submitter.value) return;
    event.preventDefault();
    send(event.submitter.value);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    const button = document.getElementById("send");
    if (!button.disabled) send(button.value);
  });
  form.addEventListener("click", press);
  text.addEventListener("scroll", follow);
  document.getElementById("lines").hidden = false;
  draw();
  offer();
  if (location.hash.startsWith("#f:")) visit(document.getElementById(decodeURIComponent(location.hash.slice(1))));
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(() => send("check"), 300);
}

function press(event) {
  const { line, field, step } = event.target.dataset;
  if (line) {
    event.preventDefault();
    show(Number(line));
  } else if (field) {
    event.preventDefault();
    visit(document.getElementById("f:" + field));
  } else if (step) {
    const input = event.target.parentElement.querySelector("input");
    input.value = String(Math.max(0, (parseInt(input.value, 10) || 0) + Number(step)));
    input.dispatchEvent(new Event("input", { bubbles: true }));
  } else if ("clear" in event.target.dataset) {
    const row = event.target.parentElement;
    for (const each of row.querySelectorAll("input:not([type=hidden]), select")) each.value = "";
    (row.parentElement.querySelector("input:not([type=hidden])") || row).focus();
    form.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

async function send(action) {
  if (sending && action === "check") return; // what is being created is not asked about
  clearTimeout(timer);
  if (asked) asked.abort();
  const mine = (asked = new AbortController());
  sending = action !== "check";
  const body = new FormData(form);
  body.set("do", action);
  const sent = new Map([...form.elements].filter((each) => each.name).map((each) => [each.name, each.value]));
  try {
    const answer = await fetch(location.href, { method: "POST", body, signal: mine.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.getElementById("editor") && !answer.redirected) {
      take(page, sent);
      if (action === "create" || action === "save") visit(form.querySelector("[aria-invalid]"));
    } else if (answer.redirected && answer.ok) {
      forget();
      location.assign(answer.url);
      return;
    } else {
      const said = page.querySelector("main .notice, main p, main h1");
      tell((said ? said.textContent : answer.statusText).trim());
    }
  } catch (error) {
    if (error.name !== "AbortError") tell(form.dataset.silent);
  }
  if (asked === mine) sending = false;
}

function take(page, sent) {
  document.getElementById("check").replaceChildren(...page.getElementById("check").childNodes);
  judge(page.getElementById("verdict"));
  bring(page, sent);
  const wanted = page.getElementById("text").value;
  if (text.value === sent.get("text") && text.value !== wanted) {
    const { scrollTop, selectionStart, selectionEnd } = text;
    const before = wanted.startsWith(text.value.slice(0, selectionStart));
    text.value = wanted;
    text.scrollTop = scrollTop;
    if (before && document.activeElement === text) text.setSelectionRange(selectionStart, selectionEnd);
  }
  draw();
  keep();
}

function judge(fresh) {
  const verdict = document.getElementById("verdict");
  verdict.className = fresh.className;
  if (verdict.textContent !== fresh.textContent) verdict.textContent = fresh.textContent;
}

// The form of a text that has none for a moment, as somebody types it, stays as it was, and takes nothing.
function bring(page, sent) {
  const fresh = page.getElementById("fields");
  const fields = document.getElementById("fields");
  const names = (root) => [...root.querySelectorAll("[name]")].map((each) => each.name).join();
  const gone = !names(fresh) && names(fields);
  fields.classList.toggle("out-of-step", Boolean(gone));
  for (const each of fields.querySelectorAll(".card")) each.inert = Boolean(gone);
  const [said, now] = [page, document].map((each) => each.getElementById("no-form"));
  now.hidden = said.hidden;
  now.textContent = said.textContent;
  if (gone) return;
  if (names(fields) === names(fresh)) update(fields, fresh, sent);
  else replace(fields, fresh, sent);
}

// A row of a table was filled, or the text has another role: the caret stays where it is.
function replace(fields, fresh, sent) {
  const active = fields.contains(document.activeElement) ? document.activeElement : null;
  const { name, selectionStart, selectionEnd } = active || {};
  const lists = [...fields.querySelectorAll("datalist")];
  fields.replaceChildren(...typedSince(fields, fresh, sent).childNodes);
  for (const each of lists) if (!document.getElementById(each.id)) fields.append(each);
  const now = name ? form.elements[name] : null;
  if (!now || now instanceof RadioNodeList) return;
  now.focus({ preventScroll: true });
  if (now.setSelectionRange) now.setSelectionRange(selectionStart, selectionEnd);
}

// What was typed in a field since it was sent goes into its fresh one; what was unfolded stays so.
function typedSince(fields, fresh, sent) {
  for (const each of fresh.querySelectorAll("[name^='f:'], [name^='t:']")) {
    const now = form.elements[each.name];
    if (now && now.value !== sent.get(each.name)) each.value = now.value;
  }
  for (const each of fields.querySelectorAll("details[open]")) {
    const now = fresh.querySelector(`#${each.id}`);
    if (now) now.open = true;
  }
  return fresh;
}

function update(fields, fresh, sent) {
  for (const each of fresh.querySelectorAll("[name]")) {
    const now = form.elements[each.name];
    if (each.name.startsWith("was:") || now.value === sent.get(each.name)) {
      if (now.value !== each.value) {
        if (each.options) now.replaceChildren(...each.cloneNode(true).childNodes);
        now.value = each.value;
      }
    }
    for (const mark of ["aria-invalid", "aria-describedby", "list"]) {
      if (each.hasAttribute(mark)) now.setAttribute(mark, each.getAttribute(mark));
      else if (mark !== "list") now.removeAttribute(mark);
    }
  }
  for (const each of fresh.querySelectorAll(".about")) {
    const now = document.getElementById(each.id);
    if (now.textContent !== each.textContent) now.replaceChildren(...each.childNodes);
  }
  for (const each of fresh.querySelectorAll("details[open]")) fields.querySelector(`#${each.id}`).open = true;
  for (const each of fresh.querySelectorAll("datalist")) {
    const now = document.getElementById(each.id);
    if (now) now.replaceWith(each);
    else fields.append(each);
  }
  for (const each of fresh.querySelectorAll("output")) document.getElementById(each.id).textContent = each.textContent;
}

function tell(said) {
  const line = document.createElement("p");
  line.className = "bad";
  line.textContent = said;
  const kept = [...form.querySelectorAll("#check [name=base]")];
  document.getElementById("check").replaceChildren(...kept, line);
  judge(line);
}

function visit(input) {
  if (!input) return;
  for (let each = input.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  input.focus();
  input.scrollIntoView({ block: "center" });
}

function draw() {
  const lines = text.value.split("\n");
  number(lines);
  const painted = lines.length <= MOST_PAINTED;
  const colours = document.getElementById("colours");
  colours.hidden = !painted;
  colours.parentElement.classList.toggle("painted", painted);
  colours.replaceChildren(...(painted ? lines.flatMap(paint) : []));
  follow();
}

function follow() {
  document.getElementById("lines").scrollTop = text.scrollTop;
  const colours = document.getElementById("colours");
  colours.scrollTop = text.scrollTop;
  colours.scrollLeft = text.scrollLeft;
}

// A line of YAML: its key, what it says, its comment. A block of text may look so too, which colours it and no more.
function paint(line) {
  const [, dash, key, rest] = line.match(/^(\s*(?:- )*)([\w./-]+:(?=\s|$))?(.*)$/s);
  const at = rest.search(/(^|\s)#/);
  const made = [dash, colour("key", key), at < 0 ? rest : rest.slice(0, at), colour("note", at < 0 ? "" : rest.slice(at)), "\n"];
  return made.filter((each) => each);
}

function colour(name, said) {
  if (!said) return "";
  const made = document.createElement("span");
  made.className = name;
  made.textContent = said;
  return made;
}

// The numbers of the lines, those with an error marked.
function number(found) {
  const lines = document.getElementById("lines");
  const wrong = new Set([...form.querySelectorAll("#check [data-wrong]")].map((each) => each.dataset.line));
  const made = [];
  for (let line = 1; line <= found.length; line++) {
    const shown = String(line);
    if (wrong.has(shown)) {
      const mark = document.createElement("span");
      mark.className = "wrong";
      mark.textContent = shown;
      made.push(mark, "\n");
    } else {
      made.push(shown + "\n");
    }
  }
  lines.replaceChildren(...made);
}

function show(line) {
  const lines = text.value.split("\n");
  const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  text.focus();
  text.setSelectionRange(begin, begin + (lines[line - 1] || "").length);
  text.scrollTop = Math.max(0, ((line - 4) * text.scrollHeight) / lines.length);
}

// A draft outlives an ended session and a closed page, in this browser, until it is sent.
function keep() {
  try {
    if (text.value === first) localStorage.removeItem(place);
    else localStorage.setItem(place, text.value);
  } catch {}
}

function forget() {
  try { localStorage.removeItem(place); } catch {}
}

function offer() {
  const button = document.getElementById("draft");
  let draft = "";
  try { draft = localStorage.getItem(place); } catch {}
  if (!draft || draft === text.value) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    text.value = draft;
    button.hidden = true;
    draw();
    send("check");
  });
}

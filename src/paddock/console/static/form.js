// The form and the text of one job, brought together by the server 300 ms after the last key. Without this file the
// page's buttons do the same. What is typed while an answer is on its way stays; an answer that is no page of this form
// (an ended session, a console that is gone) leaves all that was typed where it is.
const form = document.getElementById("editor");
const text = document.getElementById("text");
// Without the place of the session: the next one has another.
const place = "paddock-draft:" + location.pathname.replace(/^\/s\/[^/]+/, "") + location.search;
let timer = 0;
let asked = null;
let first = "";

if (form) {
  first = text.value;
  form.addEventListener("input", (event) => {
    keep();
    clearTimeout(timer);
    timer = setTimeout(() => send("check"), 300);
  });
  form.addEventListener("submit", (event) => {
    if (!event.submitter || !event.submitter.value) return;
    event.preventDefault();
    send(event.submitter.value);
  });
  form.addEventListener("click", (event) => {
    const line = event.target.dataset && event.target.dataset.line;
    if (!line) return;
    event.preventDefault();
    show(Number(line));
  });
  offer();
}

async function send(action) {
  clearTimeout(timer);
  if (asked) asked.abort();
  const mine = (asked = new AbortController());
  const body = new FormData(form);
  body.set("do", action);
  const sent = new Map([...form.elements].filter((each) => each.name).map((each) => [each.name, each.value]));
  try {
    const answer = await fetch(location.href, { method: "POST", body, signal: mine.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.getElementById("editor") && !answer.redirected) {
      take(page, sent);
    } else if (answer.redirected && answer.ok) {
      forget();
      location.assign(answer.url);
    } else {
      const said = page.querySelector("main .notice, main > p");
      tell((said ? said.textContent : answer.statusText).trim());
    }
  } catch (error) {
    if (error.name !== "AbortError") tell(form.dataset.silent);
  }
}

function take(page, sent) {
  document.getElementById("check").replaceChildren(...page.getElementById("check").childNodes);
  const fresh = page.getElementById("fields");
  const fields = document.getElementById("fields");
  const names = (root) => [...root.querySelectorAll("[name]")].map((each) => each.name).join();
  if (names(fields) === names(fresh)) update(fields, fresh, sent);
  else if (!fields.contains(document.activeElement)) fields.replaceChildren(...typedSince(fields, fresh, sent).childNodes);
  const wanted = page.getElementById("text").value;
  if (text.value === sent.get("text") && text.value !== wanted) {
    const { scrollTop, selectionStart, selectionEnd } = text;
    const before = wanted.startsWith(text.value.slice(0, selectionStart));
    text.value = wanted;
    text.scrollTop = scrollTop;
    if (before && document.activeElement === text) text.setSelectionRange(selectionStart, selectionEnd);
  }
  keep();
}

// What was typed in a field since it was sent goes into its fresh one; what was unfolded stays so.
function typedSince(fields, fresh, sent) {
  for (const each of fresh.querySelectorAll("[name^='f:']")) {
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
  }
  for (const each of fresh.querySelectorAll("details[open]")) fields.querySelector(`#${each.id}`).open = true;
  for (const each of fresh.querySelectorAll("[list]")) form.elements[each.name].setAttribute("list", each.getAttribute("list"));
  for (const each of fields.querySelectorAll("datalist")) each.remove();
  fields.append(...fresh.querySelectorAll("datalist"));
  for (const each of fresh.querySelectorAll("output")) document.getElementById(each.id).textContent = each.textContent;
}

function tell(said) {
  const line = document.createElement("p");
  line.className = "bad";
  line.textContent = said;
  const kept = [...form.querySelectorAll("#check [name=base]")];
  document.getElementById("check").replaceChildren(...kept, line);
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
    send("check");
  });
}

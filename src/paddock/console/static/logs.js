// A log of any length in a page: only the rows in view are there, the rest are asked for when they are scrolled to.
// Without this file the page has the same lines, a part at a time. Text is only ever set as text.

const LINE = 20; // pixels; the stylesheet has the same
const TALLEST = 15_000_000; // pixels that every browser can scroll; above it the scroll bar is scaled
const PART = 200; // lines that are asked for at once
const KEPT = 60; // parts
const AROUND = 12; // rows above and below the view

const form = document.querySelector("form.search");

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

class Pane {
  constructor(section) {
    const data = section.dataset;
    this.section = section;
    this.rank = data.rank;
    this.merged = Boolean(data.merged); // all ranks by time: its lines are numbered in their own logs as well
    this.words = JSON.parse(data.words);
    this.count = Number(data.count);
    this.over = Boolean(data.over);
    this.error = Number(data.error);
    this.at = Number(data.line) || 0; // the line that is marked, from 1
    this.parts = new Map();
    this.asked = new Set();
    this.follows = !this.over && !this.at && !location.search.includes("from=");
    this.view = section.querySelector(".view");
    this.whole = section.querySelector(".whole");
    this.rows = element("div", "rows");
    this.rows.style.position = "absolute";
    this.rows.style.minWidth = "100%";
    this.addTools();
    if (!this.merged) this.keep(Number(data.from) - 1, [...this.whole.children]);
    this.whole.replaceChildren(this.rows);
    this.resize();
    this.view.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.view.addEventListener("keydown", (event) => this.press(event));
    this.rows.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.draw()).observe(this.view);
    if (this.at) this.go(this.at, false);
    else if (location.search.includes("from=")) this.go(Number(data.from), false, true);
    else this.end();
    if (!this.over) setInterval(() => this.poll(), 1000);
  }

  // The lines that the page came with, as far as they are whole parts, so that its end need not be asked for.
  keep(first, rows) {
    const lines = rows.map((row) => {
      const pieces = [...row.querySelector("code").childNodes];
      return [row.dataset.level, 0, pieces.map((each) => (each.className === undefined ? each.data : [each.textContent, each.className]))];
    });
    for (let part = Math.ceil(first / PART); part * PART < this.count; part++) {
      const begin = part * PART - first, end = Math.min((part + 1) * PART, this.count) - first;
      if (end > lines.length) break;
      this.parts.set(part, lines.slice(begin, end));
    }
  }

  addTools() {
    const tools = this.section.querySelector(".tools");
    const add = (word, act) => {
      const button = element("button", "", this.words[word]);
      button.type = "button";
      button.addEventListener("click", act);
      tools.append(button);
      return button;
    };
    if (this.error) add("error", () => this.go(this.error, true));
    if (!this.merged) {
      add("previous", () => this.find(true));
      add("next", () => this.find(false));
    }
    add("end", () => this.end());
    if (!this.over) {
      this.button = add("follow", () => this.follow(!this.follows));
      this.follow(this.follows);
    }
    this.said = element("span", "quiet");
    this.said.setAttribute("role", "status");
    tools.append(this.said);
  }

  follow(on) {
    this.follows = on;
    this.button?.setAttribute("aria-pressed", String(on));
    if (on && this.rows.isConnected) this.end();
  }

  // -- where

  get visible() {
    return Math.max(1, Math.floor(this.view.clientHeight / LINE));
  }

  resize() {
    this.height = Math.min(this.count * LINE, TALLEST);
    this.whole.style.height = `${Math.max(this.height, LINE)}px`;
  }

  // Lines above the view, a fraction among them.
  get top() {
    const room = this.height - this.view.clientHeight;
    if (this.height < TALLEST || room <= 0) return this.view.scrollTop / LINE;
    return (this.view.scrollTop / room) * (this.count - this.view.clientHeight / LINE);
  }

  set top(lines) {
    const room = this.height - this.view.clientHeight;
    const scaled = this.height < TALLEST ? lines * LINE : (lines / (this.count - this.view.clientHeight / LINE)) * room;
    this.own = true;
    this.view.scrollTop = Math.max(0, scaled);
    this.draw();
  }

  scrolled() {
    if (!this.own && this.follows && this.view.scrollTop < this.last - 2) this.follow(false);
    this.own = false;
    this.last = this.view.scrollTop;
    this.draw();
  }

  end() {
    this.top = this.count;
  }

  go(line, marks = true, first = false) {
    const near = Math.min(Math.max(line, 1), Math.max(this.count, 1));
    if (this.follows) this.follow(false);
    if (marks) this.at = near;
    if (marks && !this.merged) {
      // the page's address names it from now on
      history.replaceState(null, "", `#rank=${encodeURIComponent(this.rank)}&line=${near}`);
    }
    this.top = near - 1 - (first ? 0 : Math.floor(this.visible / 3));
  }

  // -- rows

  draw() {
    const top = this.top;
    const begin = Math.max(0, Math.floor(top) - AROUND);
    const end = Math.min(this.count, Math.ceil(top) + this.visible + AROUND);
    const rows = [];
    for (let number = begin; number < end; number++) rows.push(this.row(number));
    this.rows.replaceChildren(...rows);
    this.rows.style.top = `${this.view.scrollTop - (top - begin) * LINE}px`;
    for (let part = Math.floor(begin / PART); part * PART < end; part++) this.ask(part);
  }

  row(number) {
    const told = this.parts.get(Math.floor(number / PART))?.[number % PART] ?? ["", 0, []];
    const [level, size, pieces, rank = this.rank, own = number + 1, lane, time] = told;
    const row = element("div", number + 1 === this.at ? "row at" : "row");
    row.dataset.level = level;
    row.dataset.number = number + 1;
    const place = `#rank=${encodeURIComponent(rank)}&line=${own}`;
    const link = element("a", "n", this.merged ? (rank ? `${rank}:${own}` : "") : own);
    link.href = place;
    link.tabIndex = -1;
    if (this.merged) {
      const at = new URLSearchParams(this.section.dataset.query).get("at");
      link.href = `?${new URLSearchParams({ rank, at, line: own })}${place}`;
      link.classList.add(`lane-${lane}`);
      row.append(element("span", "when", time ? new Date(time * 1000).toTimeString().slice(0, 8) : ""));
    }
    const code = element("code");
    for (const piece of pieces) {
      code.append(typeof piece === "string" ? piece : element("span", piece[1], piece[0]));
    }
    if (size) code.append(element("span", "cut", ` … ${size} B`));
    row.append(link, code);
    return row;
  }

  // -- asking

  async fetch(what, query) {
    const { address, query: own } = this.section.dataset;
    const answer = await fetch(`${address}/${what}?${own}&${new URLSearchParams(query)}`);
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  }

  async ask(part) {
    if (this.parts.has(part) || this.asked.has(part)) return;
    this.asked.add(part);
    try {
      const told = await this.fetch("lines", { from: part * PART + 1, n: PART });
      this.parts.set(part, told.lines);
      if (this.parts.size > KEPT) this.parts.delete(this.parts.keys().next().value);
      this.asked.delete(part);
      this.grow(told);
      this.draw();
    } catch {
      this.say(this.words.lost);
      setTimeout(() => this.asked.delete(part), 2000);
    }
  }

  async poll() {
    if (document.hidden || this.over || this.polling) return;
    this.polling = true;
    try {
      this.grow(await this.fetch("lines", { n: 0 }));
      if (this.said.textContent === this.words.lost) this.say("");
    } catch {
      this.say(this.words.lost);
    } finally {
      this.polling = false;
    }
  }

  grow(told) {
    this.over = told.over;
    if (told.count === this.count) return;
    if (told.count < this.count) this.parts.clear();
    this.parts.delete(Math.floor(Math.max(0, this.count - 1) / PART)); // its last line may have grown
    this.parts.delete(Math.floor(this.count / PART));
    // Lines of the same moments may come from several ranks, one after the other.
    if (this.merged) for (const part of this.parts.keys()) if ((part + 1) * PART > this.count - 1000) this.parts.delete(part);
    this.count = told.count;
    this.section.querySelector(".empty")?.remove();
    this.resize();
    if (this.follows) this.end();
    else this.draw();
  }

  // -- finding

  async find(back) {
    const { q, regex, level } = form.elements;
    if (!q.value && !level.value) return q.focus();
    const query = { q: q.value, regex: regex.checked ? 1 : "", level: level.value };
    const from = this.at || Math.floor(this.top) + 1;
    Object.assign(query, back ? { before: from, last: 1 } : { from: this.at ? from + 1 : from });
    this.say("…");
    try {
      const told = await this.fetch("find", query);
      this.say(told.wrong ?? (told.lines.length ? "" : told.whole ? this.words.none : this.words.partly));
      if (told.lines?.length) this.go(told.lines[0]);
    } catch {
      this.say(this.words.lost);
    }
  }

  say(text) {
    this.said.textContent = text;
  }

  // -- what is pressed

  click(event) {
    const row = event.target.closest(".row");
    if (!row || String(getSelection())) return;
    const number = Number(row.dataset.number);
    if (event.target.closest(".n")) {
      if (this.merged) return; // the link leads to the rank's own log
      event.preventDefault();
      this.go(number);
    } else this.open(number);
  }

  async open(number) {
    this.at = number;
    this.draw();
    const told = await this.fetch("lines", { from: number, n: 1, whole: 1 });
    const pieces = told.lines[0]?.[2] ?? [];
    this.detail ??= this.section.appendChild(element("pre", "detail"));
    this.detail.tabIndex = 0;
    this.detail.setAttribute("aria-label", this.words.detail);
    this.detail.replaceChildren(
      ...pieces.map((piece) => (typeof piece === "string" ? piece : element("span", piece[1], piece[0])))
    );
  }

  close() {
    this.detail?.remove();
    this.detail = undefined;
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, k: -1 }[event.key];
    const act = {
      n: () => this.find(false),
      N: () => this.find(true),
      f: () => this.button && this.follow(!this.follows),
      G: () => this.end(),
      End: () => this.end(),
      Home: () => this.go(1, false, true),
      x: () => this.error && this.go(this.error),
      Enter: () => this.at && this.open(this.at),
      Escape: () => this.close(),
    }[event.key];
    if (!step && !act) return;
    event.preventDefault();
    event.stopPropagation();
    if (step) this.go((this.at || Math.floor(this.top) + 1) + step);
    else act();
  }
}

document.documentElement.classList.add("scripted");
const panes = new Map();

// `#rank=worker-1&line=5120`: of a pane that is open, else of a page that has it open.
function follow() {
  const named = new URLSearchParams(location.hash.slice(1));
  const line = Number(named.get("line"));
  const rank = named.get("rank");
  if (!rank || !line) return;
  const pane = panes.get(rank);
  if (pane) return pane.at === line || pane.go(line);
  const address = new URL(location.href);
  if (address.searchParams.get("rank") === rank) return; // it has no such rank
  address.searchParams.set("rank", rank);
  address.searchParams.delete("merged");
  location.replace(address);
}

for (const section of document.querySelectorAll(".pane")) {
  const pane = new Pane(section);
  panes.set(pane.rank, pane);
}
follow();
addEventListener("hashchange", follow);

// While the job goes on: its ranks, attempts and cause again, as the server shows them.
const REFRESHED = [".why", ".attempts", ".left-out", ".ranks"];
let refreshing = !document.querySelector(".ranks")?.dataset.over;

function refresh(fresh, selector) {
  const [old, next] = [document.querySelector(selector), fresh.querySelector(selector)];
  if (!old || !next || old.innerHTML === next.innerHTML || old.contains(document.activeElement)) return;
  const open = [...old.querySelectorAll("details")].map((each) => each.open);
  next.querySelectorAll("details").forEach((each, place) => (each.open = open[place] ?? false));
  old.replaceWith(document.adoptNode(next));
}

setInterval(async () => {
  if (!refreshing || document.hidden) return;
  const answer = await fetch(location.pathname + location.search).catch(() => undefined);
  if (!answer?.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!panes.size && fresh.querySelector(".pane")) return location.reload();
  for (const selector of REFRESHED) refresh(fresh, selector);
  refreshing = !fresh.querySelector(".ranks")?.dataset.over;
}, 5000);

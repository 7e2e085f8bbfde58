// A log of any length in a page: only the rows in view are there, the rest are asked for when they are scrolled to.
// Rows are kept: one is added, taken away or changed in its place, so what a reader has selected stays selected.
// Without this file the page has the same lines, a part at a time. Text is only ever set as text.

const TALLEST = 15_000_000; // pixels that every browser can scroll; above it the scroll bar is scaled
const PART = 200; // lines that are asked for at once
const KEPT = 4_000_000; // characters of all parts of a log
const AROUND = 12; // rows above and below the view
const PINNED = 2_000; // rows of a selection that reaches out of the view
const HITS = 10_000; // numbers of lines with a hit that are asked for at once
const MOST_HITS = 100_000;
const MARKS = 100; // hits that are marked in one row

const form = document.querySelector("form.search");
const fields = form.elements;

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// What this browser remembers of how logs are shown.
const shown = { wrap: false, times: false, size: 1 };
try {
  Object.assign(shown, JSON.parse(localStorage.getItem("paddock-logs") || "{}"));
} catch {
  // no storage: every page begins anew
}

function remember() {
  try {
    localStorage.setItem("paddock-logs", JSON.stringify(shown));
  } catch {
    // as above
  }
}

// Why there is no answer; `status` 0: the console did not answer.
class Unanswered extends Error {
  constructor(status) {
    super(String(status));
    this.status = status;
  }
}

async function ask(address, signal) {
  const answer = await fetch(address, { signal }).catch((error) => {
    throw error.name === "AbortError" ? error : new Unanswered(0);
  });
  // Who is signed out is led to another page.
  if (answer.redirected) throw new Unanswered(401);
  if (!answer.ok) throw new Unanswered(answer.status);
  return answer;
}

// The first place in a sorted list whose number is not below this one.
function findPlace(list, number) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

function writePieces(code, pieces) {
  code.replaceChildren(
    ...pieces.map((piece) => (typeof piece === "string" ? document.createTextNode(piece) : element("span", piece[1], piece[0])))
  );
}

function tellTime(seconds) {
  const at = new Date(seconds * 1000);
  return [at.toTimeString().slice(0, 8), at.toISOString()];
}

// -- what is looked for

// The same as the server's search (wanted.py), for the rows in view alone. A pattern that may take for ever is not tried
// here: its lines are marked, and not the place in them.
function buildPattern({ text, regex }) {
  if (!text || (regex && (text.match(/[*+{]/g) || []).length > 1)) return undefined;
  try {
    return new RegExp(regex ? text : text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), text === text.toLowerCase() ? "gi" : "g");
  } catch {
    return undefined;
  }
}

function readWanted() {
  return { text: fields.q.value, regex: fields.regex.checked, level: fields.level.value, only: fields.only.checked };
}

// Whether the same lines are looked for.
function isSame(one, other) {
  return one !== undefined && ["text", "regex", "level"].every((name) => one[name] === other[name]);
}

const highlights = globalThis.CSS?.highlights && { all: new Highlight(), now: new Highlight() };
if (highlights) {
  CSS.highlights.set("log-hit", highlights.all);
  CSS.highlights.set("log-hit-now", highlights.now);
}

function markRow(code, pattern, highlight) {
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let text = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push([text.length, node]);
    text += node.data;
  }
  const locate = (place) => {
    const [begin, node] = nodes.findLast(([start]) => start <= place);
    return [node, Math.min(place - begin, node.data.length)];
  };
  let count = 0;
  for (const found of text.matchAll(pattern)) {
    if (!found[0] || count++ >= MARKS) break;
    const range = new Range();
    range.setStart(...locate(found.index));
    range.setEnd(...locate(found.index + found[0].length - 1));
    range.setEnd(range.endContainer, range.endOffset + 1);
    highlight.add(range);
  }
}

// -- one log

class Pane {
  constructor(page, section) {
    const data = section.dataset;
    this.page = page;
    this.words = page.words;
    this.section = section;
    this.rank = data.rank;
    this.merged = Boolean(data.merged); // all ranks by time: its lines are numbered in their own logs as well
    this.count = Number(data.count);
    this.over = Boolean(data.over);
    this.error = Number(data.error);
    this.at = Number(data.line) || 0; // the line that is marked, from 1
    this.list = undefined; // the numbers of the lines that are shown; all of them
    this.hits = undefined;
    this.parts = new Map();
    this.held = 0; // characters of the parts
    this.stale = new Set(); // parts that are shown until they are there again
    this.asked = new Set();
    this.made = new Map(); // rows by their keys
    this.ended = new AbortController();
    this.follows = !this.over && !this.at && !location.search.includes("from=");
    this.view = section.querySelector(".view");
    this.whole = section.querySelector(".whole");
    this.rows = element("div", "rows");
    this.addTools();
    if (!this.merged && !shown.times) this.keep(Number(data.from) - 1, [...this.whole.children]);
    this.whole.replaceChildren(this.rows);
    this.listen();
    this.dress();
    if (this.at) this.go(this.at, false);
    else if (location.search.includes("from=")) this.go(Number(data.from), false, true);
    else this.end();
  }

  listen() {
    const { signal } = this.ended;
    this.view.addEventListener("scroll", () => this.scrolled(), { passive: true, signal });
    this.view.addEventListener("keydown", (event) => this.press(event), { signal });
    this.view.addEventListener("copy", (event) => this.copy(event), { signal });
    this.rows.addEventListener("click", (event) => this.click(event), { signal });
    this.section.addEventListener("focusin", () => this.page.choose(this), { signal });
    this.sized = new ResizeObserver(() => this.resized());
    this.sized.observe(this.view);
  }

  dispose() {
    this.ended.abort();
    this.sized.disconnect();
    this.parts.clear();
    this.made.clear();
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
      this.put(part, lines.slice(begin, end));
    }
  }

  addTools() {
    const tools = this.section.querySelector(".tools");
    const add = (text, act, title) => {
      const button = element("button", "", text);
      button.type = "button";
      if (title) [button.title, button.ariaLabel] = [title, `${text} ${title}`];
      button.addEventListener("click", act);
      tools.append(button);
      return button;
    };
    const { words } = this;
    this.errorButton = add(words.error, () => this.goToError());
    this.errorButton.hidden = !this.error;
    add(words.end, () => this.end());
    if (this.page.live) {
      this.button = add(words.follow, () => this.follow(!this.follows));
      this.button.setAttribute("aria-pressed", String(this.follows));
    }
    this.wrapButton = add(words.wrap, () => this.page.change({ wrap: !shown.wrap }));
    if (!this.merged) this.timeButton = add(words.time, () => this.page.change({ times: !shown.times }));
    add("A−", () => this.page.change({ size: Math.max(0, shown.size - 1) }), words.smaller);
    add("A+", () => this.page.change({ size: Math.min(3, shown.size + 1) }), words.larger);
    this.said = element("span", "quiet");
    this.said.setAttribute("role", "status");
    tools.append(this.said);
  }

  // How it is shown, by what the browser remembers. The line at the top stays there.
  dress() {
    const line = this.rows.isConnected && this.height !== undefined ? this.top : undefined;
    this.view.classList.toggle("wrapped", shown.wrap);
    if (!this.merged) this.view.classList.toggle("timed", shown.times);
    this.view.dataset.size = shown.size;
    this.wrapButton.setAttribute("aria-pressed", String(shown.wrap));
    this.timeButton?.setAttribute("aria-pressed", String(shown.times));
    this.line = parseFloat(getComputedStyle(this.view).lineHeight);
    if (shown.times && !this.merged && !this.timed) for (const part of this.parts.keys()) this.stale.add(part);
    this.timed = shown.times;
    this.fit();
    if (line === undefined) return;
    if (this.follows) this.end();
    else this.top = line;
  }

  resized() {
    const { top } = this;
    this.fit();
    if (this.follows) this.end();
    else if (this.at && this.indexOf(this.at) >= top + this.visible) this.go(this.at, false);
    else this.draw();
  }

  // -- what is shown: all lines, or those with a hit

  get size() {
    return this.list ? this.list.length : this.count;
  }

  numberOf(index) {
    return this.list ? this.list[index] : index + 1;
  }

  indexOf(number) {
    return this.list ? findPlace(this.list, number) : number - 1;
  }

  follow(on) {
    if (on && this.page.newest > this.page.attempt) return void this.page.goOver();
    this.follows = on;
    this.button?.setAttribute("aria-pressed", String(on));
    if (on) this.end();
  }

  // -- where

  get visible() {
    return Math.max(1, Math.floor(this.view.clientHeight / this.line));
  }

  // The divider above the lines scrolls with them.
  get lead() {
    return this.whole.offsetTop;
  }

  fit() {
    // A wrapped line is taller than others, so the last one is to reach the top.
    const more = shown.wrap ? Math.max(0, this.view.clientHeight - this.line) : 0;
    this.height = Math.min(this.size * this.line, TALLEST);
    this.whole.style.height = `${Math.max(this.height, this.line) + more}px`;
    this.room = Math.max(0, this.height + more - this.view.clientHeight);
  }

  // Lines above the view, a fraction among them.
  get top() {
    if (this.placed?.scroll === this.view.scrollTop) return this.placed.lines;
    const above = Math.max(0, this.view.scrollTop - this.lead);
    if (this.height < TALLEST || this.room <= 0) return above / this.line;
    return (above / this.room) * this.lastTop;
  }

  set top(lines) {
    const near = Math.max(0, Math.min(lines, this.lastTop));
    const scaled = this.height < TALLEST ? near * this.line : (near / this.lastTop) * this.room;
    this.own = true;
    // At its begin the divider is seen.
    this.view.scrollTop = scaled ? scaled + this.lead : 0;
    this.last = this.view.scrollTop;
    this.placed = { scroll: this.view.scrollTop, lines: near };
    this.draw();
  }

  get lastTop() {
    return shown.wrap ? this.size - 1 : Math.max(0, this.size - this.view.clientHeight / this.line);
  }

  scrolled() {
    if (!this.own && this.follows && this.view.scrollTop < this.last - 2) this.follow(false);
    this.own = false;
    this.last = this.view.scrollTop;
    this.draw();
  }

  end() {
    if (this.follows && this.isSelected()) {
      this.say(this.words.selected);
      return this.draw();
    }
    if (this.said?.textContent === this.words.selected) this.say("");
    this.top = shown.wrap ? this.size - this.visible : this.size;
    if (shown.wrap) this.endWrapped();
  }

  // So that the last row is whole at the bottom, however tall it is.
  endWrapped() {
    const above = this.rows.offsetHeight - this.view.clientHeight;
    const row = [...this.rows.children].find((each) => each.offsetTop + each.offsetHeight > above);
    this.top = row && above > 0 ? row.place + Math.max(0, above - row.offsetTop) / row.offsetHeight : 0;
  }

  go(line, marks = true, first = false) {
    const near = Math.min(Math.max(line, 1), Math.max(this.count, 1));
    if (this.follows) this.follow(false);
    if (marks) this.at = near;
    if (marks && !this.merged) {
      // the page's address names it from now on
      history.replaceState(null, "", `#rank=${encodeURIComponent(this.rank)}&line=${near}`);
    }
    this.top = this.indexOf(near) - (first ? 0 : Math.floor(this.visible / 3));
    if (marks) this.page.tellHits();
  }

  // An error may come while the log is open, and an echo gives way to one of the rank's own.
  setError(line) {
    this.error = line;
    this.errorButton.hidden = !line;
  }

  goToError() {
    if (this.list) this.page.showAll();
    this.go(this.error);
  }

  // -- rows

  draw() {
    const top = this.top;
    const first = Math.max(0, Math.floor(top) - AROUND);
    const last = Math.min(this.size, Math.ceil(top) + this.visible + AROUND);
    const [begin, end] = this.pin(first, last);
    this.place(begin, end);
    this.move(top, begin);
    this.mark();
    for (let part = Math.floor(first / PART); part * PART < last; part++) this.ask(part);
    if (this.list && last === this.size && this.hits?.more) this.search();
  }

  // With the rows in which something is selected: what is copied is whole.
  pin(begin, end) {
    const range = this.isSelected();
    const [from, upto] = range ? [range.startContainer, range.endContainer].map((node) => this.rowOf(node)?.place) : [];
    if (from === undefined || upto === undefined) return [begin, end];
    const all = [Math.min(begin, from), Math.min(this.size, Math.max(end, upto + 1))];
    return all[1] - all[0] > PINNED ? [begin, end] : all;
  }

  isSelected() {
    const selection = getSelection();
    if (!selection?.rangeCount || selection.isCollapsed) return undefined;
    const range = selection.getRangeAt(0);
    return this.rows.contains(range.startContainer) || this.rows.contains(range.endContainer) ? range : undefined;
  }

  rowOf(node) {
    return (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest?.(".row") ?? undefined;
  }

  place(begin, end) {
    const wanted = new Map();
    for (let place = begin; place < end; place++) {
      const told = this.parts.get(Math.floor(place / PART))?.[place % PART];
      const number = this.numberOf(place);
      // Of a merged log a line that comes late moves the numbers of the others.
      const key = this.merged && told ? `${told[3]}:${told[4]}` : number;
      wanted.set(key, [place, number, told]);
    }
    for (const [key, row] of this.made) {
      if (wanted.has(key)) continue;
      row.remove();
      this.made.delete(key);
    }
    let next = this.rows.firstChild;
    for (const [key, [place, number, told]] of wanted) {
      let row = this.made.get(key);
      if (!row) this.made.set(key, (row = this.build(key)));
      if (row === next) next = next.nextSibling;
      else this.rows.insertBefore(row, next);
      row.place = place;
      this.update(row, number, told);
    }
  }

  build() {
    const row = element("div", "row");
    row.when = row.appendChild(element("span", "when"));
    row.link = row.appendChild(element("a", "n"));
    row.link.tabIndex = -1;
    row.code = row.appendChild(element("code"));
    return row;
  }

  update(row, number, told) {
    const isHit = this.hits !== undefined && this.hits.lines[findPlace(this.hits.lines, number)] === number;
    row.classList.toggle("at", number === this.at);
    row.classList.toggle("hit", isHit);
    if (row.told === told && row.number === number && row.told !== undefined) return;
    if (row.number !== number || (this.merged && row.told !== told)) this.name(row, number, told);
    if (told === undefined) return;
    const [level, size, pieces] = told;
    if (row.dataset.level !== level) row.dataset.level = level;
    const time = told[6];
    if (time && row.time !== time) [row.when.textContent, row.when.title] = tellTime((row.time = time));
    this.write(row, row.told?.[2], pieces);
    if (row.size !== size) {
      row.size = size;
      row.querySelector(".cut")?.remove();
      if (size) row.append(element("span", "cut", ` … ${size} B`));
    }
    row.told = told;
  }

  name(row, number, told) {
    row.number = number;
    row.dataset.number = number;
    const [rank, own] = this.merged ? [told?.[3] ?? "", told?.[4] ?? 0] : [this.rank, number];
    const place = `#rank=${encodeURIComponent(rank)}&line=${own}`;
    row.link.textContent = this.merged ? (rank ? `${rank}:${own}` : "") : own;
    row.link.href = this.merged ? `?${new URLSearchParams({ rank, at: this.page.attempt, line: own })}${place}` : place;
    if (this.merged && told) row.link.className = `n lane-${told[5]}`;
  }

  // A line that grows keeps its text, in which something may be selected.
  write(row, before, pieces) {
    if (before === pieces) return;
    const [old, fresh] = [before?.[0], pieces[0]];
    const grows = before?.length === 1 && pieces.length === 1 && typeof old === "string" && typeof fresh === "string";
    if (grows && fresh.startsWith(old)) {
      if (fresh.length > old.length) row.code.firstChild.appendData(fresh.slice(old.length));
    } else if (before === undefined || JSON.stringify(before) !== JSON.stringify(pieces)) writePieces(row.code, pieces);
  }

  // Puts the rows where the view is.
  move(top, begin) {
    let above = (top - begin) * this.line;
    if (shown.wrap) {
      const row = this.rows.children[Math.floor(top) - begin];
      above = row ? row.offsetTop + (top - Math.floor(top)) * row.offsetHeight : this.rows.offsetHeight;
    }
    this.rows.style.top = `${Math.max(0, this.view.scrollTop - this.lead) - above}px`;
  }

  // Hits in the text of the rows: without a change of the page's elements.
  mark() {
    const pattern = this.hits?.pattern;
    if (!highlights || !pattern) return;
    this.page.marking ??= requestAnimationFrame(() => this.page.mark());
  }

  // -- asking

  async fetch(what, query, signal = this.ended.signal) {
    const { address, query: own } = this.section.dataset;
    const answer = await ask(`${address}/${what}?${own}&${new URLSearchParams(query)}`, signal);
    return answer.json();
  }

  put(part, lines) {
    this.held -= this.parts.get(part)?.held ?? 0;
    this.parts.delete(part);
    lines.held = lines.reduce((sum, [, , pieces]) => sum + pieces.reduce((all, each) => all + (each.length > 2 || typeof each === "string" ? each.length : each[0].length), 0), 0);
    this.parts.set(part, lines);
    this.held += lines.held;
    while (this.held > KEPT && this.parts.size > 2) {
      const [oldest, dropped] = this.parts.entries().next().value;
      this.held -= dropped.held;
      this.parts.delete(oldest);
      this.stale.delete(oldest);
    }
  }

  forget() {
    this.parts.clear();
    this.stale.clear();
    this.held = 0;
    this.version = (this.version ?? 0) + 1; // answers that were asked for before are dropped
    this.asked.clear();
  }

  async ask(part) {
    if (this.asked.has(part) || (this.parts.has(part) && !this.stale.has(part))) return;
    this.asked.add(part);
    this.stale.delete(part);
    const { version } = this;
    const query = this.list ? { numbers: this.list.slice(part * PART, (part + 1) * PART) } : { from: part * PART + 1, n: PART };
    if (shown.times && !this.merged) query.times = 1;
    try {
      const told = await this.fetch("lines", query);
      if (version !== this.version) return;
      this.asked.delete(part);
      if (query.times) {
        told.lines.forEach((line, place) => (line[6] = told.times[place]));
        this.say(told.times.length && told.times.every((each) => each === null) ? this.words.untimed : "");
      }
      this.put(part, told.lines);
      this.grow(told);
      this.draw();
      if (this.follows && shown.wrap) this.end();
    } catch (error) {
      this.fail(error);
      setTimeout(() => version === this.version && this.asked.delete(part), 2000);
    }
  }

  async poll() {
    if (this.polling) return;
    this.polling = true;
    try {
      const told = await this.fetch("lines", { n: 0 });
      const { lost, out, forbidden, silent } = this.words;
      if (told.silent) this.say(silent);
      else if ([lost, out, forbidden, silent].includes(this.said.textContent)) this.say("");
      this.page.isRefused = false;
      dispatchEvent(new CustomEvent("console:answered"));
      this.grow(told);
      this.page.notice(told);
    } catch (error) {
      this.fail(error);
    } finally {
      this.polling = false;
    }
  }

  fail(error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Unanswered)) throw error;
    const word = { 401: "out", 403: "forbidden", 404: "forbidden" }[error.status] ?? "lost";
    this.say(this.words[word]);
    // What is shown is old then: the head of the page says so too, and what to do.
    if (word !== "forbidden") dispatchEvent(new CustomEvent("console:lost", { detail: error.status }));
    // It may be so while the console starts: it is asked again, but seldom.
    this.page.isRefused = word !== "lost";
  }

  grow(told) {
    this.over = told.over;
    if (told.count === this.count) return;
    const before = this.count;
    this.count = told.count;
    this.section.querySelector(".empty")?.remove();
    if (told.count < before) {
      this.forget();
      this.hits &&= { ...this.hits, lines: [], upto: 0, more: false };
    }
    if (!this.list) this.age(before);
    if (this.hits && !this.hits.more) this.search();
    this.fit();
    if (this.follows) this.end();
    else this.draw();
  }

  // The parts that have changed: the last line may have grown, and lines follow it.
  age(before) {
    this.stale.add(Math.floor(Math.max(0, before - 1) / PART));
    this.stale.add(Math.floor(before / PART));
    // Lines of the same moments may come from several ranks, one after the other.
    if (this.merged) for (const part of this.parts.keys()) if ((part + 1) * PART > before - 1000) this.stale.add(part);
  }

  // -- finding

  // `wanted`: another search; without it the one that is shown goes on behind what it has.
  async search(wanted, moves = true) {
    if (wanted) {
      this.searching?.abort();
      this.searching = new AbortController();
      this.hits = { wanted, pattern: buildPattern(wanted), lines: [], upto: 0, more: false, moves };
    } else if (this.isSearching || this.hits.lines.length >= MOST_HITS || (this.merged && Date.now() - this.searched < 3000)) return;
    this.searched = Date.now();
    const { hits } = this;
    const { text, regex, level } = hits.wanted;
    const known = this.merged ? 0 : hits.upto;
    this.isSearching = true;
    try {
      const signal = AbortSignal.any([this.ended.signal, this.searching.signal]);
      const told = await this.fetch("find", { q: text, regex: regex ? 1 : "", level, from: Math.max(1, known), most: HITS }, signal);
      if (hits !== this.hits) return;
      this.take(hits, told, known);
    } catch (error) {
      hits.goesOn = false;
      this.fail(error);
    } finally {
      if (hits === this.hits) this.isSearching = false;
    }
    // Its time was over before its log was: it goes on behind what was searched.
    if (hits === this.hits && hits.goesOn) this.search();
  }

  take(hits, told, known) {
    hits.wrong = told.wrong;
    hits.goesOn = told.whole === false && told.upto > known && !this.merged;
    if (told.wrong === undefined) {
      // The last line that was searched may have grown, and is searched again.
      const kept = known ? hits.lines : [];
      hits.lines = kept.concat(told.lines.filter((line) => !kept.length || line > kept.at(-1)));
      Object.assign(hits, { upto: Math.max(told.upto, known), more: told.more, whole: told.whole });
    }
    if (hits.wanted.only && told.wrong === undefined) this.showOnly(hits.lines);
    if (!hits.begun && (hits.lines.length || !hits.goesOn)) {
      hits.begun = true;
      if (hits.moves) this.goToHit();
    }
    this.draw();
    this.page.tellHits();
  }

  showOnly(list) {
    const line = this.numberOf(Math.floor(this.top)) ?? this.count;
    const same = this.list && list && this.list.length <= list.length && this.list.every((each, place) => each === list[place]);
    if (!same) this.forget();
    else this.stale.add(Math.floor(Math.max(0, this.list.length - 1) / PART)).add(Math.floor(this.list.length / PART));
    this.list = list;
    this.placed = undefined;
    this.fit();
    if (this.follows) this.end();
    else this.top = this.at ? this.indexOf(this.at) - Math.floor(this.visible / 3) : this.indexOf(line);
  }

  drop() {
    this.searching?.abort();
    this.hits = undefined;
    if (this.list) this.showOnly(undefined);
    this.draw();
  }

  // The first hit at what is shown, or behind it; where there is none, the first of all. A level alone is chosen by who
  // goes on following.
  goToHit() {
    const { lines, wanted } = this.hits;
    if (!lines.length || (this.follows && !wanted.text) || (this.at && lines[findPlace(lines, this.at)] === this.at)) return;
    const from = this.at || (this.numberOf(Math.floor(this.top)) ?? 1);
    this.go(lines[findPlace(lines, from)] ?? lines[0]);
  }

  async step(back) {
    const { hits } = this;
    if (!hits?.lines.length) return;
    const { lines } = hits;
    const from = this.at || (this.numberOf(Math.floor(this.top)) ?? 1);
    let place = findPlace(lines, from);
    if (back) place -= 1;
    else if (lines[place] === this.at) place += 1;
    if (place === lines.length && hits.more) {
      await this.search();
      if (hits !== this.hits) return;
    }
    this.go(hits.lines.at(place % hits.lines.length));
  }

  say(text) {
    if (this.said.textContent !== text) this.said.textContent = text;
  }

  // -- what is pressed

  click(event) {
    const row = event.target.closest(".row");
    if (!row || String(getSelection())) return;
    if (event.target.closest(".n")) {
      if (this.merged) return; // the link leads to the rank's own log
      event.preventDefault();
      this.go(row.number);
    } else this.open(row.number);
  }

  // What is selected of each line, without what stands beside it.
  copy(event) {
    const range = this.isSelected();
    if (!range) return;
    const texts = [...this.rows.children].filter((row) => range.intersectsNode(row.code)).map((row) => {
      const part = range.cloneRange();
      if (!row.code.contains(part.startContainer)) part.setStart(row.code, 0);
      if (!row.code.contains(part.endContainer)) part.setEnd(row.code, row.code.childNodes.length);
      return String(part);
    });
    event.clipboardData.setData("text/plain", texts.join("\n"));
    event.preventDefault();
  }

  async open(number) {
    this.at = number;
    this.draw();
    const told = await this.fetch("lines", { from: number, n: 1, whole: 1 }).catch((error) => this.fail(error));
    if (!told) return;
    this.detail ??= this.addDetail();
    writePieces(this.detail.text, told.lines[0]?.[2] ?? []);
  }

  addDetail() {
    const detail = this.section.appendChild(element("div", "detail"));
    detail.setAttribute("role", "region");
    detail.setAttribute("aria-label", this.words.detail);
    const add = (text, act) => {
      const button = detail.appendChild(element("button", "", text));
      button.type = "button";
      button.addEventListener("click", act);
    };
    detail.text = element("pre");
    detail.text.tabIndex = 0;
    add(this.words.close, () => this.close());
    add(this.words.copy, () => navigator.clipboard.writeText(detail.text.textContent).catch(() => getSelection().selectAllChildren(detail.text)));
    detail.append(detail.text);
    return detail;
  }

  close() {
    const had = this.detail?.contains(document.activeElement);
    this.detail?.remove();
    this.detail = undefined;
    if (had) this.view.focus();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, k: -1 }[event.key];
    const act = {
      n: () => this.step(false),
      N: () => this.step(true),
      f: () => this.button && this.follow(!this.follows),
      w: () => this.page.change({ wrap: !shown.wrap }),
      t: () => this.page.change({ times: !shown.times }),
      "+": () => this.page.change({ size: Math.min(3, shown.size + 1) }),
      "-": () => this.page.change({ size: Math.max(0, shown.size - 1) }),
      G: () => this.end(),
      End: () => this.end(),
      Home: () => this.go(1, false, true),
      x: () => this.error && this.goToError(),
      Enter: () => this.at && this.open(this.at),
      Escape: () => this.close(),
    }[event.key];
    if (!step && !act) return;
    event.preventDefault();
    event.stopPropagation();
    if (!step) return act();
    const from = this.indexOf(this.at || this.numberOf(Math.floor(this.top)) || 1);
    const near = this.numberOf(Math.min(this.size - 1, Math.max(0, from + (this.at ? step : 0))));
    if (near) this.go(near);
  }
}

// -- the page

const REFRESHED = [".why", ".newer", ".attempts", ".left-out", ".ranks"];
// Of another attempt these are replaced as well.
const OF_ATTEMPT = [".why", ".newer", ".attempts", ".views", ".left-out", ".lanes", ".same"];

function refresh(fresh, selector) {
  const [old, next] = [document.querySelector(selector), fresh.querySelector(selector)];
  if (!old || !next || old.outerHTML === next.outerHTML || old.contains(document.activeElement)) return;
  const selection = getSelection();
  if (!selection.isCollapsed && old.contains(selection.anchorNode)) return;
  const open = [...old.querySelectorAll("details")].map((each) => each.open);
  next.querySelectorAll("details").forEach((each, place) => (each.open = open[place] ?? each.open));
  old.replaceWith(document.adoptNode(next));
}

class LogPage {
  constructor() {
    this.panes = [];
    this.beats = 0;
    this.begin();
    this.timer = setInterval(() => this.beat(), 1000);
    document.addEventListener("visibilitychange", () => this.beat());
    document.addEventListener("selectionchange", () => this.goOn());
    addEventListener("resize", () => this.stretch());
    narrow.addEventListener("change", () => this.fold());
    this.hear();
    this.followHash();
    if (fields.q.value || fields.level.value) this.find();
  }

  begin() {
    for (const pane of this.panes) pane.dispose();
    this.lanes = document.querySelector(".lanes");
    this.read(document);
    this.words = this.lanes ? JSON.parse(this.lanes.dataset.words) : {};
    this.attempt = Number(this.lanes?.dataset.attempt ?? 0);
    this.fold();
    this.stretch();
    this.panes = [...document.querySelectorAll(".pane")].map((section) => new Pane(this, section));
    this.pane = this.panes[0];
  }

  // How the job is, as the server has it.
  read(fresh) {
    const ranks = fresh.querySelector(".ranks");
    this.live = !ranks || Boolean(ranks.dataset.live);
    this.newest = Number(ranks?.dataset.newest ?? 0);
  }

  choose(pane) {
    this.pane = pane;
    this.tellHits();
  }

  change(changes) {
    Object.assign(shown, changes);
    remember();
    for (const pane of this.panes) pane.dress();
  }

  // The log reaches down to the end of the window.
  stretch() {
    const under = [...document.querySelectorAll(".same, .notes")].reduce((sum, each) => sum + each.offsetHeight, 0);
    const below = under + 24;
    for (const view of document.querySelectorAll(".view")) {
      const height = `${Math.max(320, innerHeight - view.getBoundingClientRect().top - scrollY - below)}px`;
      if (view.style.height !== height) view.style.height = height;
    }
  }

  // -- while the job goes on

  beat() {
    if (document.hidden || !this.live) return;
    this.beats++;
    if (this.isRefused && this.beats % 10 !== 0) return;
    // The last lines of an attempt that is over may come late.
    for (const pane of this.panes) if (!pane.over || this.beats % 5 === 0) pane.poll();
    if (this.beats % 5 === 0) this.refresh();
  }

  // What each answer tells of the job.
  notice({ newest, live }) {
    if (newest > this.newest) {
      this.newest = newest;
      if (!this.panes.some((pane) => pane.follows)) this.refresh();
    }
    this.goOn();
    if (!live && this.live && newest === this.attempt) this.refresh();
  }

  // Who follows the job goes on into its next attempt, unless something is selected.
  goOn() {
    const following = this.panes.filter((pane) => pane.follows);
    if (!following.length) return;
    if (this.panes.some((pane) => pane.isSelected())) return;
    if (this.newest > this.attempt) return void this.goOver();
    for (const pane of following) if (pane.said.textContent === this.words.selected) pane.end();
  }

  address(changes) {
    const address = new URL(location.href);
    address.hash = "";
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined) address.searchParams.delete(name);
      else address.searchParams.set(name, value);
    }
    return address;
  }

  async load(address) {
    address.searchParams.set("bare", 1);
    try {
      const answer = await ask(address);
      return new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch (error) {
      if (this.pane) this.pane.fail(error);
      return undefined;
    }
  }

  // Its ranks, attempts and cause again, of the attempt that is shown.
  async refresh() {
    if (this.refreshing) return;
    this.refreshing = true;
    const { attempt } = this;
    const fresh = await this.load(this.address(this.panes.length ? { at: attempt } : {}));
    this.refreshing = false;
    if (!fresh || attempt !== this.attempt) return;
    if (!this.panes.length && fresh.querySelector(".pane")) return location.reload();
    this.read(fresh);
    for (const selector of REFRESHED) refresh(fresh, selector);
    this.stretch();
    const sections = [...fresh.querySelectorAll(".pane")];
    for (const pane of this.panes) pane.setError(Number(sections.find((each) => each.dataset.rank === pane.rank)?.dataset.error));
    if (!this.live) clearInterval(this.timer);
    this.goOn();
  }

  async goOver() {
    if (this.going) return;
    this.going = true;
    const ranks = this.panes.map((pane) => pane.rank).filter(Boolean).join(",");
    const address = this.address({ at: this.newest, rank: ranks || undefined, line: undefined, from: undefined, after: undefined });
    const fresh = await this.load(new URL(address));
    this.going = false;
    if (fresh?.querySelector(".pane")) this.show(fresh, address);
  }

  show(fresh, address) {
    const isInView = this.pane?.section.contains(document.activeElement);
    history.replaceState(null, "", address);
    for (const selector of OF_ATTEMPT) {
      const [old, next] = [document.querySelector(selector), fresh.querySelector(selector)];
      if (old && next) old.replaceWith(document.adoptNode(next));
    }
    fields.at.value = address.searchParams.get("at");
    this.begin();
    for (const pane of this.panes) pane.follow(true);
    if (isInView) this.pane.view.focus();
    if (fields.q.value || fields.level.value) this.find(false);
  }

  // -- finding

  // `moves`: to the first hit.
  find(moves = true) {
    const wanted = readWanted();
    const isEmpty = !wanted.text && !wanted.level;
    const named = { q: wanted.text, regex: wanted.regex ? "1" : "", level: wanted.level, only: wanted.only ? "1" : "" };
    const address = this.address(Object.fromEntries(Object.entries(named).map(([name, text]) => [name, text || undefined])));
    address.hash = location.hash;
    if (address.href !== location.href) history.replaceState(null, "", address);
    for (const pane of this.panes) {
      if (isEmpty) pane.drop();
      else if (!isSame(pane.hits?.wanted, wanted)) {
        if (pane.list && !wanted.only) pane.showOnly(undefined);
        pane.search(wanted, moves);
      } else if (pane.hits.wanted.only !== wanted.only) {
        pane.hits.wanted = wanted;
        pane.showOnly(wanted.only ? pane.hits.lines : undefined);
      }
    }
    this.mark();
    this.tellHits();
  }

  showAll() {
    fields.only.checked = false;
    this.find();
  }

  mark() {
    cancelAnimationFrame(this.marking);
    this.marking = undefined;
    if (!highlights) return;
    highlights.all.clear();
    highlights.now.clear();
    for (const { hits, rows } of this.panes) {
      if (!hits?.pattern) continue;
      for (const row of rows.querySelectorAll(".row.hit")) markRow(row.code, hits.pattern, row.classList.contains("at") ? highlights.now : highlights.all);
    }
  }

  tellHits() {
    const said = form.querySelector("output");
    const { hits, at } = this.pane ?? {};
    const text = hits ? this.sayHits(hits, at) : "";
    if (said.textContent !== text) said.textContent = text;
  }

  sayHits({ lines, more, whole, wrong, begun }, at) {
    if (wrong !== undefined) return wrong;
    if (!begun) return "…";
    if (!lines.length) return whole ? this.words.none : this.words.partly;
    const place = findPlace(lines, at);
    const count = lines.length;
    const word = lines[place] === at ? (more ? "many" : "hit") : "hits";
    return fill(this.words[word], { place: place + 1, count: more && word === "hits" ? `${count}+` : count });
  }

  // -- what is pressed

  hear() {
    let waiting;
    const later = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.find(), 250);
    };
    fields.q.addEventListener("input", later);
    form.addEventListener("change", (event) => {
      // A level is chosen to see its lines alone.
      if (event.target === fields.level) fields.only.checked = Boolean(fields.level.value);
      if (event.target !== fields.q) this.find();
    });
    fields.q.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      clearTimeout(waiting);
      this.stepOrFind(event.shiftKey);
    });
    form.querySelector(".next").addEventListener("click", () => this.stepOrFind(false));
    form.querySelector(".previous").addEventListener("click", () => this.stepOrFind(true));
    addEventListener("hashchange", () => this.followHash());
    document.addEventListener("keydown", (event) => this.press(event));
  }

  stepOrFind(back) {
    const { hits } = this.pane ?? {};
    if (isSame(hits?.wanted, readWanted())) this.pane.step(back);
    else if (fields.q.value || fields.level.value) this.find();
    else fields.q.focus();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const open = this.panes.find((pane) => pane.detail);
    if (event.key === "Escape" && open) {
      event.preventDefault();
      return open.close();
    }
    if (event.target.matches?.("input, textarea, select")) return;
    const keys = document.querySelector("dialog.keys");
    if (event.key === "?") keys.showModal();
    else if (event.key === "/" && !keys.open) {
      document.querySelector(".finder").open = true;
      fields.q.focus();
      fields.q.select();
    } else return;
    event.preventDefault();
  }

  // `#rank=worker-1&line=5120`: of a pane that is open, else of a page that has it open.
  followHash() {
    const named = new URLSearchParams(location.hash.slice(1));
    const [rank, line] = [named.get("rank"), Number(named.get("line"))];
    if (!rank || !line) return;
    const pane = this.panes.find((each) => each.rank === rank);
    if (pane) return void (pane.at === line || pane.go(line));
    const address = new URL(location.href);
    if (address.searchParams.get("rank") === rank) return; // it has no such rank
    address.searchParams.set("rank", rank);
    address.searchParams.delete("merged");
    location.replace(address);
  }

  // On a phone the log comes first: what stands above it is folded.
  fold() {
    for (const each of document.querySelectorAll(".folds")) each.open = !narrow.matches;
  }
}

const narrow = matchMedia("(max-width: 700px)");

document.documentElement.classList.add("scripted");
// What is searched for is looked for in the logs that are open; in the others where a reader asks for it.
if (!location.search.includes("all=")) document.querySelector("details.found")?.remove();
new LogPage();

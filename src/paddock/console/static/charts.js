// The curves of a page: each element with data-chart is drawn, and drawn again when the server changes the attribute.
// Colours are the stylesheet's; nothing here writes a style into the page's text.
//
// data-chart is JSON:
//   axis      what x is, in the reader's language: "step"
//   at        a place on this axis: "at step {x}". Left out it is the axis and the number
//   kind      "step", "epoch", "reading" or "time" (seconds since the start); left out it is a count
//   from0     whether y begins at 0, as an amount does; such a chart has no log scale and is not smoothed:
//             what is held against a limit is drawn as it is
//   exact     whether it is never smoothed, as a number that a program chose or that is measured seldom
//   segments  parts of curves, of one run or of several:
//     curve     its entry in the legend; parts with one name are shown and hidden together. Left out it is the label
//     label     what it is called at the cursor: "worker-0, attempt 1"
//     lane      0 to 7, its colour
//     earlier   how many attempts of its curve came later: these are paler
//     repeated  whether a restart lost it, so that it was done again: thin and dashed
//     x, y      as long as each other; x grows; null in y is a gap
//     mean      as y: of the readings that each point stands for, where these are several. Smoothing goes by it
//   restarts  [x, text, number]: a flag with the number above the plot. Left out it has none
//   lines     {label, y}: levels to hold the curves against, such as a limit. Left out there are none
//
// [data-chart-smooth], [data-chart-log], [data-chart-whole] are buttons for all charts of a page (chart_parts.html).
// What they say is kept in the address, for who gets it, and in this browser.

const HEIGHT = 240;
const HEAD = 24; // room for the flags
const FLAG = 26, FLAGS = 50; // the room of a flag with one number, and with two
const MOST_DOTS = 120;
const MOST_TOLD = 10; // rows at the cursor, restarts of a flag
const REACH = 4; // a level that is so many times as high as the curves does not press them down
const KEPT = "paddock-charts";
const SMOOTH = [0, 0.6, 0.9, 0.98];
const FEWEST = 20; // readings of a curve that is smoothed
const USUAL = 200; // readings of the curve that the shares are meant for
const TIMES = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];
const WHOLE = Array.from({ length: 45 }, (_, place) => [1, 2, 5][place % 3] * 10 ** Math.floor(place / 3));
const drawn = new Map();

// What the reader has chosen.

function readSettings() {
  const address = new URLSearchParams(location.search);
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(KEPT)) || {};
  } catch {
    // Nothing is kept: storage may be off.
  }
  const smooth = Number(address.get("smooth") ?? kept.smooth);
  return { smooth: SMOOTH.includes(smooth) ? smooth : 0, log: Number(address.get("log") ?? kept.log) === 1 };
}

const settings = readSettings();

function keepSettings() {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries({ smooth: settings.smooth, log: Number(settings.log) })) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(history.state, "", address);
  try {
    localStorage.setItem(KEPT, JSON.stringify({ smooth: settings.smooth, log: Number(settings.log) }));
  } catch {
    // It lasts as long as the page.
  }
}

function showSettings() {
  for (const each of document.querySelectorAll("[data-chart-smooth]")) {
    each.ariaPressed = String(Number(each.dataset.chartSmooth) === settings.smooth);
  }
  for (const each of document.querySelectorAll("[data-chart-log]")) each.ariaPressed = String(settings.log);
  const isZoomed = [...drawn.values()].some(({ plot }) => findZoom(plot));
  for (const each of document.querySelectorAll("[data-chart-whole]")) each.hidden = !isZoomed;
}

// Numbers in words.

// Seconds since the start, as the server writes them.
function tellTime(seconds) {
  const found = [];
  let left = Math.round(seconds);
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]]) {
    const count = Math.floor(left / size);
    if (count) found.push(count + unit);
    left -= count * size;
  }
  return found.slice(0, 2).join("") || "0s";
}

function tellNumber(value, digits = 10) {
  const size = Math.abs(value);
  if (size && (size < 1e-4 || size >= 1e9)) return value.toExponential(Math.min(digits, 4) - 1).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(digits)));
}

function tellPlace({ axis, kind, at = `${axis} {x}` }, x) {
  return at.replace("{x}", kind === "time" ? tellTime(x) : tellNumber(kind === "epoch" ? Math.floor(x) : x));
}

// Curves.

// A mean of all values up to each, in which the last ones count most; the first ones count no more than they are. Of a
// short curve fewer count: the mean reaches over the same part of the picture.
function smoothOut(values, chosen) {
  const share = chosen ** Math.max(1, USUAL / values.length);
  let sum = 0, weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = share * sum + (1 - share) * value;
    weight = share * weight + (1 - share);
    return sum / weight;
  });
}

const isLog = (chart) => settings.log && !chart.from0 && chart.segments.some(({ y }) => y.some((value) => value > 0));

// What is drawn, one after the other: each part as it was read, and over it as it is smoothed.
function listColumns(chart) {
  const place = isLog(chart) ? (values) => values.map((value) => (value > 0 ? value : null)) : (values) => values;
  return chart.segments.flatMap((segment) => {
    const isSmooth = settings.smooth > 0 && !chart.from0 && !chart.exact && !segment.repeated && segment.x.length >= FEWEST;
    segment.curve ??= segment.label;
    segment.smooth = isSmooth ? smoothOut(segment.mean || segment.y, settings.smooth) : null;
    const columns = [{ segment, y: place(segment.y), pale: isSmooth }];
    return isSmooth ? [...columns, { segment, y: place(segment.smooth), pale: false }] : columns;
  });
}

const join = (columns) => uPlot.join(columns.map(({ segment, y }) => [segment.x, y]));

function colourOf(name) {
  const probe = document.createElement("span");
  probe.className = name;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

// The newest attempt is full, earlier ones are paler; what was done again is thin and dashed.
function lookOf({ segment: { earlier, repeated }, pale }) {
  return { width: repeated || pale ? 1 : 1.5, dash: repeated ? [4, 4] : [], alpha: pale ? 0.25 : earlier ? 0.65 : 1 };
}

// Axes.

function splitLog(low, high) {
  const ratio = high / low, found = [];
  if (ratio < 3) {
    const size = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(size));
    const step = [1, 2, 5, 10].find((each) => each * unit >= size) * unit;
    for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(at * step);
    return found;
  }
  const parts = ratio > 1e4 ? [1] : ratio > 30 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    found.push(...parts.map((each) => each * 10 ** power));
  }
  return found.filter((each) => each >= low && each <= high);
}

function buildHeight(chart) {
  if (isLog(chart)) {
    const pad = (low, high) => Math.max(1.001, (high / low) ** 0.05);
    return { distr: 3, range: (_, low, high) => (low > 0 ? [low / pad(low, high), high * pad(low, high)] : [0.1, 1]) };
  }
  if (!chart.from0) return {};
  return {
    range: (_, low, high) => {
      const levels = (chart.lines || []).map(({ y }) => y).filter((y) => y <= high * REACH);
      return [0, Math.max(high || 0, ...levels) * 1.05 || 1];
    },
  };
}

function buildAxes(chart, ink, line) {
  const plain = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const log = isLog(chart) ? { splits: (_, __, low, high) => splitLog(low, high), filter: (_, splits) => splits } : {};
  const time = { incrs: TIMES, values: (_, xs) => xs.map(tellTime) };
  return [
    { ...plain, size: 32, ...(chart.kind === "time" ? time : { incrs: WHOLE }) },
    { ...plain, ...log, size: 64, values: (_, ys) => ys.map((y) => (y === null ? "" : tellNumber(y))) },
  ];
}

// Restarts: a line where an attempt began, and above the plot a flag with its number that says why. A list below the
// charts says the same.

function groupFlags(places) {
  const groups = [];
  for (const place of places) {
    const last = groups.at(-1);
    if (last && place.left - last[0].left < (last.length > 1 ? FLAGS : FLAG)) last.push(place);
    else groups.push([place]);
  }
  return groups;
}

function buildFlag(group, width) {
  const flag = document.createElement("button"), text = document.createElement("span");
  const [first, last] = [group[0], group.at(-1)];
  flag.type = "button";
  flag.className = "chart-flag";
  flag.classList.toggle("left", first.left > width / 2);
  flag.append(first === last ? String(first.number) : `${first.number}–${last.number}`, text);
  const told = group.slice(0, MOST_TOLD).map((each) => each.text);
  text.textContent = [...told, ...(told.length < group.length ? ["…"] : [])].join("\n");
  flag.ariaLabel = text.textContent;
  flag.style.left = `${Math.round(first.left)}px`;
  return flag;
}

function markRestarts(restarts) {
  const strip = document.createElement("div");
  strip.className = "chart-flags";
  const marks = restarts.map(([x, text, number]) => {
    const mark = document.createElement("div");
    mark.className = "chart-mark";
    return { x, text, number: number ?? text, mark };
  });
  let shown = "";
  return {
    ready: (plot) => {
      plot.over.append(...marks.map(({ mark }) => mark));
      plot.over.parentElement.append(strip);
    },
    draw: (plot) => {
      const width = plot.over.clientWidth;
      strip.style.left = plot.over.style.left;
      strip.style.width = `${width}px`;
      for (const each of marks) {
        each.left = plot.valToPos(each.x, "x");
        each.mark.hidden = !(each.left >= 0 && each.left <= width);
        each.mark.style.left = `${Math.round(each.left)}px`;
      }
      const places = marks.filter(({ mark }) => !mark.hidden).sort((one, other) => one.left - other.left);
      const key = places.map(({ number, left }) => `${number}:${Math.round(left)}`).join();
      if (key !== shown) strip.replaceChildren(...groupFlags(places).map((group) => buildFlag(group, width)));
      shown = key;
    },
  };
}

// Levels that the curves are held against.
function drawLines(lines, ink) {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ink;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    for (const { y } of lines) {
      const top = Math.round(plot.valToPos(y, "y", true));
      if (top < bbox.top || top > bbox.top + bbox.height) continue;
      ctx.beginPath();
      ctx.moveTo(bbox.left, top);
      ctx.lineTo(bbox.left + bbox.width, top);
      ctx.stroke();
    }
    ctx.restore();
  };
}

// What the curves have at the cursor, in each chart of the same axis.

function findNearest(xs, x) {
  let low = 0, high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  return Math.abs(xs[high] - x) < Math.abs(xs[low] - x) ? high : low;
}

// Of each curve the part that counts at this place: what was not lost before what was, then the newest.
function readAt(chart, hidden, x, slack) {
  const found = new Map();
  for (const segment of chart.segments) {
    const { curve, x: xs, repeated, earlier } = segment;
    if (hidden.has(curve) || !xs.length || x < xs[0] - slack || x > xs.at(-1) + slack) continue;
    const before = found.get(curve)?.segment;
    if (before && (repeated > before.repeated || (repeated === before.repeated && earlier > before.earlier))) continue;
    found.set(curve, { segment, at: findNearest(xs, x) });
  }
  return [...found.values()].filter(({ segment, at }) => segment.y[at] !== null);
}

function buildRow({ segment, at }) {
  const row = document.createElement("div"), name = document.createElement("span"), value = document.createElement("b");
  row.className = `lane-${segment.lane}`;
  name.textContent = segment.label;
  value.textContent = tellNumber(segment.y[at], 5);
  row.append(name, value);
  if (segment.smooth) {
    const smooth = document.createElement("small");
    smooth.textContent = tellNumber(segment.smooth[at], 5);
    row.append(smooth);
  }
  return row;
}

function tellAtCursor(chart, hidden) {
  const tip = document.createElement("div");
  tip.className = "chart-tip";
  tip.style.position = "absolute";
  tip.ariaHidden = "true"; // the table below has the numbers
  tip.hidden = true;
  return {
    ready: (plot) => plot.over.append(tip),
    setCursor: (plot) => {
      const { left, top } = plot.cursor;
      const slack = plot.posToVal(8, "x") - plot.posToVal(0, "x");
      const found = left >= 0 ? readAt(chart(), hidden, plot.posToVal(left, "x"), slack) : [];
      tip.hidden = !found.length;
      if (tip.hidden) return;
      const head = document.createElement("div");
      head.textContent = tellPlace(chart(), found[0].segment.x[found[0].at]);
      const rows = found.slice(0, MOST_TOLD).map(buildRow);
      tip.replaceChildren(head, ...rows, ...(rows.length < found.length ? ["…"] : []));
      const isRight = left > plot.over.clientWidth / 2;
      tip.style.left = `${Math.round(isRight ? left - tip.offsetWidth - 12 : left + 12)}px`;
      const lowest = plot.over.clientHeight - tip.offsetHeight;
      tip.style.top = `${Math.round(Math.max(0, Math.min(top < 0 ? 0 : top + 12, lowest)))}px`;
    },
  };
}

// The legend: one button for each curve, which hides it.

function buildLegend(chart, state) {
  const legend = document.createElement("div");
  legend.className = "chart-legend";
  const lanes = new Map(chart.segments.map(({ curve, lane }) => [curve, lane]));
  for (const [curve, lane] of lanes) {
    const button = document.createElement("button");
    button.type = "button";
    button.ariaPressed = String(!state.hidden.has(curve));
    const colour = document.createElement("i"), name = document.createElement("span");
    colour.className = `lane-${lane}`;
    name.textContent = curve;
    button.append(colour, name);
    button.addEventListener("click", () => {
      if (!state.hidden.delete(curve)) state.hidden.add(curve);
      button.ariaPressed = String(!state.hidden.has(curve));
      showCurves(state);
    });
    legend.append(button);
  }
  for (const { label } of chart.lines || []) {
    const level = document.createElement("span");
    level.className = "chart-level";
    level.textContent = label;
    legend.append(level);
  }
  return legend;
}

function showCurves({ plot, columns, hidden }) {
  plot.batch(() => {
    columns.forEach(({ segment }, place) => {
      const show = !hidden.has(segment.curve);
      if (plot.series[place + 1].show !== show) plot.setSeries(place + 1, { show });
    });
  });
}

// The whole.

function findZoom(plot) {
  const known = plot.data[0], { min, max } = plot.scales.x;
  return known.length && (min > known[0] || max < known[known.length - 1]) ? { min, max } : null;
}

function sizeOf(element) {
  const full = document.fullscreenElement;
  if (!full || !full.contains(element)) return { width: element.clientWidth, height: HEIGHT + HEAD };
  const legend = element.querySelector(".chart-legend")?.offsetHeight || 0;
  const left = innerHeight - element.getBoundingClientRect().top - legend - 48;
  return { width: element.clientWidth, height: Math.max(HEIGHT, Math.floor(left)) };
}

function draw(element) {
  const chart = JSON.parse(element.dataset.chart), columns = listColumns(chart), data = join(columns);
  const { axis, kind, segments, restarts = [], lines = [] } = chart;
  const names = segments.map((each) => [each.curve, each.label, each.lane, each.earlier, Boolean(each.smooth)]);
  const shape = JSON.stringify([axis, kind, restarts, lines, names, isLog(chart)]);
  const before = drawn.get(element), zoom = before && findZoom(before.plot);
  if (before && before.shape === shape) {
    Object.assign(before, { chart, columns });
    before.plot.setData(data, !zoom);
    if (zoom) before.plot.redraw();
    return;
  }
  if (before) before.plot.destroy();
  const state = { chart, columns, shape, hidden: before ? before.hidden : new Set() };
  state.plot = build(element, state, data);
  before?.legend.remove();
  state.legend = buildLegend(chart, state);
  element.append(state.legend);
  drawn.set(element, state);
  if (zoom) state.plot.setScale("x", zoom);
}

function build(element, state, data) {
  const { chart, columns, hidden } = state;
  const ink = colourOf("chart-ink"), line = colourOf("chart-line");
  const colours = Array.from({ length: 8 }, (_, lane) => colourOf(`lane-${lane}`));
  const flags = markRestarts(chart.restarts || []), tip = tellAtCursor(() => state.chart, hidden);
  const options = {
    ...sizeOf(element),
    padding: [chart.restarts?.length ? HEAD : 8, 12, 0, 0],
    scales: { x: { time: false }, y: buildHeight(chart) },
    axes: buildAxes(chart, ink, line),
    series: [
      {},
      ...columns.map((column) => {
        const { segment, pale } = column, colour = colours[segment.lane];
        const few = (plot) => segment.x.length === 1 || plot.data[0].length < MOST_DOTS;
        return {
          show: !hidden.has(segment.curve),
          stroke: colour,
          ...lookOf(column),
          points: { show: (plot) => !segment.repeated && !pale && few(plot), size: 4, fill: colour },
        };
      }),
    ],
    legend: { show: false },
    cursor: {
      sync: { key: `${chart.kind}:${chart.axis}`, scales: ["x", null], setSeries: false },
      points: columns.length > 2 * MOST_TOLD ? { show: false } : {},
      y: false,
      hover: { prox: 16 }, // a part that has no reading here has no dot
    },
    hooks: {
      ready: [flags.ready, flags.draw, tip.ready],
      draw: [flags.draw, drawLines(chart.lines || [], ink)],
      setCursor: [tip.setCursor],
      setScale: [showSettings],
    },
  };
  return new uPlot(options, data, element);
}

function forget(element) {
  resized.unobserve(element);
  drawn.get(element).plot.destroy();
  drawn.delete(element);
}

// `anew`: with other colours or settings.
function drawAll(anew) {
  for (const element of [...drawn.keys()]) {
    if (!element.isConnected) forget(element);
    else if (anew) drawn.get(element).shape = "";
  }
  for (const element of document.querySelectorAll("[data-chart]")) {
    if (!drawn.has(element)) resized.observe(element);
    if (anew || !drawn.has(element)) draw(element);
  }
  showSettings();
}

function fit(element) {
  const plot = drawn.get(element)?.plot, size = sizeOf(element);
  if (plot && size.width && (plot.width !== size.width || plot.height !== size.height)) plot.setSize(size);
}

const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => fit(target)));

addEventListener("click", ({ target }) => {
  const button = target instanceof Element && target.closest("button");
  if (!button) return;
  const { chartSmooth, chartLog, chartWhole, chartFull } = button.dataset;
  if (chartSmooth !== undefined) settings.smooth = Number(chartSmooth);
  else if (chartLog !== undefined) settings.log = !settings.log;
  else if (chartWhole !== undefined) return void widen();
  else if (chartFull !== undefined) return void turnFull(button.closest("section"));
  else return;
  keepSettings();
  drawAll(true);
});

function widen() {
  for (const { plot } of drawn.values()) plot.setScale("x", { min: plot.data[0][0], max: plot.data[0].at(-1) });
}

function turnFull(section) {
  if (document.fullscreenElement) document.exitFullscreen();
  else section.requestFullscreen();
}

addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && document.fullscreenElement) document.exitFullscreen();
});
document.addEventListener("fullscreenchange", () => [...drawn.keys()].forEach(fit));
document.documentElement.classList.toggle("no-fullscreen", !document.fullscreenEnabled);

new MutationObserver((changes) => {
  for (const { type, target } of changes) {
    if (type === "attributes") draw(target);
  }
  drawAll(false);
}).observe(document.getElementById("main"), { subtree: true, childList: true, attributeFilter: ["data-chart"] });

addEventListener("paddock:theme", () => drawAll(true));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
drawAll(false);

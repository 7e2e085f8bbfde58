// The curves of a page: each element with data-chart is drawn, and drawn again when the server changes the attribute.
// Colours are the stylesheet's; nothing here writes a style into the page's text.

const HEIGHT = 240;
const MOST_DOTS = 120;
const drawn = new WeakMap();
const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

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

function colourOf(element, name) {
  const probe = document.createElement("span");
  probe.className = name;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

// A line where an attempt began, and beside it which one and why; moved as the chart is zoomed.
function markRestarts(restarts) {
  const marks = restarts.map(([x, label]) => {
    const mark = document.createElement("div"), text = document.createElement("span");
    mark.className = "chart-mark";
    mark.ariaHidden = "true"; // a sentence below the chart says the same
    text.textContent = label;
    mark.append(text);
    return [x, mark];
  });
  return {
    ready: (plot) => plot.over.append(...marks.map(([, mark]) => mark)),
    draw: (plot) => {
      for (const [x, mark] of marks) {
        const left = plot.valToPos(x, "x");
        mark.hidden = !(left >= 0 && left <= plot.over.clientWidth);
        mark.classList.toggle("left", left > plot.over.clientWidth * 0.6);
        mark.style.left = `${Math.round(left)}px`;
      }
    },
  };
}

// The newest attempt is full, earlier ones are paler, every second of these dashed as well; what was done again is thin.
function lookOf({ earlier, repeated }) {
  const dash = repeated ? [4, 4] : earlier && earlier % 2 === 0 ? [12, 3] : [];
  return { width: repeated ? 1 : 1.5, dash, alpha: earlier ? 0.65 : 1 };
}

function draw(element) {
  const { axis, time, from0, segments, restarts } = JSON.parse(element.dataset.chart);
  const before = drawn.get(element);
  const shape = JSON.stringify([axis, restarts, segments.map((each) => [each.label, each.lane, each.earlier])]);
  const data = uPlot.join(segments.map((each) => [each.x, each.y]));
  if (before && before.shape === shape) {
    const { plot } = before, known = plot.data[0], { min, max } = plot.scales.x;
    const zoomed = min > known[0] || max < known[known.length - 1];
    plot.setData(data, !zoomed);
    if (zoomed) plot.redraw();
    return;
  }
  if (before) before.plot.destroy();
  const ink = colourOf(element, "chart-ink"), line = colourOf(element, "chart-line");
  for (const each of segments) each.colour = colourOf(element, `lane-${each.lane}`);
  const marks = markRestarts(restarts);
  const plain = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const options = {
    width: element.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false }, y: from0 ? { range: (_, low, high) => [0, high * 1.05 || 1] } : {} },
    axes: [time ? { ...plain, incrs: TIMES, values: (_, xs) => xs.map(tellTime) } : plain, { ...plain, size: 64 }],
    series: [
      time ? { label: axis, value: (_, x) => (x === null ? "--" : tellTime(x)) } : { label: axis },
      ...segments.map((each) => ({
        label: each.label,
        stroke: each.colour,
        ...lookOf(each),
        points: { show: (plot) => !each.repeated && plot.data[0].length < MOST_DOTS, size: 4, fill: each.colour },
      })),
    ],
    legend: {
      markers: {
        fill: (_, number) => (segments[number - 1]?.earlier ? null : segments[number - 1]?.colour),
        dash: (_, number) => (segments[number - 1]?.repeated ? "dashed" : "solid"),
      },
    },
    hooks: { ready: [marks.ready, marks.draw], draw: [marks.draw] },
  };
  const plot = new uPlot(options, data, element);
  drawn.set(element, { plot, shape });
}

function drawAll(anew) {
  for (const element of document.querySelectorAll("[data-chart]")) {
    if (anew && drawn.has(element)) {
      drawn.get(element).plot.destroy();
      drawn.delete(element);
    }
    if (anew || !drawn.has(element)) {
      draw(element);
      resized.observe(element);
    }
  }
}

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const plot = drawn.get(target)?.plot;
    if (plot && plot.width !== target.clientWidth) plot.setSize({ width: target.clientWidth, height: HEIGHT });
  }
});

new MutationObserver((changes) => {
  for (const { type, target } of changes) {
    if (type === "attributes") draw(target);
  }
  drawAll(false);
}).observe(document.getElementById("main"), { subtree: true, childList: true, attributeFilter: ["data-chart"] });

addEventListener("paddock:theme", () => drawAll(true));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
drawAll(false);

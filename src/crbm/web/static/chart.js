// A line chart of the free energy after each mean-field step.

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 240;
const HEIGHT = 84;
const MARGIN = { left: 6, right: 6, top: 18, bottom: 16 };

function shape(tag, attributes, text = "") {
  const node = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

/** An empty chart; fill it with `drawEnergies`. */
export function energyChart() {
  const chart = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img" });
  chart.setAttribute("aria-label", "Free energy, not computed yet");
  return chart;
}

/** Draw the energies at the start of mean field and after each step. */
export function drawEnergies(chart, values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const range = high - low > 1e-3 ? high - low : 1;
  const x = (step) => MARGIN.left + (step / (values.length - 1)) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (value) => HEIGHT - MARGIN.bottom - 2 - ((value - low) / range) * (HEIGHT - MARGIN.top - MARGIN.bottom - 2);
  const points = values.map((value, step) => `${x(step)},${y(value)}`).join(" ");
  const best = values.indexOf(low);
  const floor = HEIGHT - MARGIN.bottom + 2;
  chart.replaceChildren(
    shape("line", { x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: floor, y2: floor, class: "axis" }),
    shape("polyline", { points, class: "line" }),
    ...values.map((value, step) =>
      shape("circle", { cx: x(step), cy: y(value), r: step === best ? 3.5 : 1.8, class: step === best ? "best" : "dot" })),
    shape("text", { x: MARGIN.left, y: y(values[0]) - 7 }, values[0].toFixed(1)),
    shape("text", { x: WIDTH - MARGIN.right, y: y(values.at(-1)) - 7, "text-anchor": "end" }, values.at(-1).toFixed(1)),
    shape("text", { x: MARGIN.left, y: HEIGHT - 2, class: "quiet" }, "start"),
    shape("text", { x: WIDTH - MARGIN.right, y: HEIGHT - 2, "text-anchor": "end", class: "quiet" }, `${values.length - 1} steps`),
  );
  chart.setAttribute(
    "aria-label",
    `Free energy from ${values[0].toFixed(1)} at the start to ${values.at(-1).toFixed(1)} after ${values.length - 1} steps`,
  );
}

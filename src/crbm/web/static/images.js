// View of image models: damage an image and see how each model restores it, as in Figure 2.

import { modelUrl, get, latest, post } from "./api.js";
import { drawEnergies, energyChart } from "./chart.js";
import { checkbox, element, segments, slider } from "./dom.js";
import { Easel } from "./easel.js";
import { inputColour, isUncertain, paint, restoredColour } from "./paint.js";

export async function imageView(models, showError) {
  const shape = models[0].image_shape;
  const examples = await get(modelUrl(models[0], "examples"));
  const settings = { shaded: true, known: false };
  const cards = models.map((model) => new Card(model, shape));
  const results = element("section", { className: "results", "aria-label": "Restorations" },
    legend(), element("div", { className: "cards" }, ...cards.map((card) => card.root)));
  const restore = latest(results, async (state) => {
    try {
      await Promise.all(cards.map((card) => card.request(state)));
      showError();
    } catch (error) {
      showError(error.message);
    }
  });
  const easel = new Easel(shape, (seen) => {
    const state = { seen, drawing: Array.from(easel.drawing), shaded: settings.shaded };
    if (settings.known) state.known = seen.map((pixel, place) => (easel.hides(place) ? null : pixel));
    panel.update(state);
    restore(state);
  });
  const panel = inputPanel(easel, examples.inputs, settings, shape);
  if (examples.inputs.length) easel.load(examples.inputs[Math.min(3, examples.inputs.length - 1)]);
  else easel.refresh();
  return element("div", { className: "split" }, panel.root, results);
}

const differences = (one, other) => one.reduce((sum, pixel, place) => sum + (pixel !== other[place]), 0);

function inputPanel(easel, images, settings, [height, width]) {
  const wrong = element("p", { className: "wrong" });
  const pen = segments({
    label: "Pen", selected: "1", options: [{ value: "1", text: "Draw" }, { value: "0", text: "Erase" }],
    onChange: (value) => { easel.pen = Number(value); },
  });
  const clear = element("button", { type: "button", className: "plain", onclick: () => easel.clear() }, "Clear");
  const shuffle = element("button", { type: "button", className: "plain", onclick: () => easel.shuffleNoise() }, "Shuffle");
  const patch = slider({
    label: "Patch", min: 0, max: Math.floor(Math.min(height, width) / 2), value: easel.patch.size, unit: " px",
    onInput: (size) => easel.resizePatch(size),
  });
  const noise = slider({
    label: "Flipped pixels", min: 0, max: 30, value: 0, unit: " %", onInput: (share) => easel.setNoise(share / 100),
  });
  const known = checkbox({
    label: "Pixels outside the patch are known",
    onChange: (checked) => { settings.known = checked; easel.refresh(); },
  });
  const shaded = checkbox({
    label: "Shade uncertain pixels", checked: true,
    onChange: (checked) => { settings.shaded = checked; easel.refresh(); },
  });
  const root = element("section", { className: "panel", "aria-label": "Input" },
    element("h2", {}, "Input"),
    gallery(images, [height, width], (pixels) => easel.load(pixels)),
    easel.root, wrong,
    element("div", { className: "row" }, pen, clear),
    element("details", { className: "options", open: matchMedia("(min-width: 46rem)").matches },
      element("summary", {}, "Damage and options"),
      element("div", { className: "stack" },
        patch.root,
        element("div", { className: "row" }, noise.root, shuffle),
        known.root, shaded.root,
        element("p", { className: "hint" }, "Draw on the image, drag the patch, or move either with the arrow keys."))));
  const update = ({ seen, drawing }) => { wrong.replaceChildren(count(differences(seen, drawing)), " damaged"); };
  return { root, update };
}

const count = (n) => `${n} ${n === 1 ? "pixel" : "pixels"}`;

/** Thumbnails of the example images. */
function gallery(images, [height, width], onChoose) {
  const thumbs = images.map((pixels, place) => {
    const canvas = element("canvas", { width, height });
    paint(canvas, pixels.map((pixel) => inputColour(pixel > 0.5, false)));
    return element("button", {
      type: "button", className: "thumb", "aria-label": `Example ${place + 1}`, onclick: () => onChoose(pixels),
    }, canvas);
  });
  return element("div", { className: "gallery" }, ...thumbs);
}

function legend() {
  const item = (kind, text) => element("li", {}, element("span", { className: `swatch ${kind}` }), text);
  return element("ul", { className: "legend", "aria-label": "Colours" },
    item("both", "unchanged"), item("added", "added"), item("removed", "removed"), item("unsure", "uncertain"));
}

/** One model's restored image, its errors, and the free energy after each step. */
class Card {
  constructor(model, [height, width]) {
    this.model = model;
    this.canvas = element("canvas", { width, height, className: "picture", role: "img", "aria-label": `Restored by ${model.name}` });
    this.error = element("p", { className: "wrong" });
    this.changes = element("p", { className: "hint" });
    this.chart = model.kind === "AutoClassifier" ? null : energyChart(); // it pools models and has no mean field
    const energies = this.chart ? [element("h3", {}, "Free energy after each mean-field step"), this.chart] : [];
    this.root = element("article", { className: "card", dataset: { model: model.name } },
      element("h2", {}, model.name), element("p", { className: "hint" }, summary(model)),
      this.canvas, this.error, this.changes, ...energies);
  }

  async request(state) {
    const body = { input: state.seen, known: state.known ?? null };
    const [prediction, trajectory] = await Promise.all([
      post(modelUrl(this.model, "predict"), body),
      this.chart && post(modelUrl(this.model, "trajectory"), body),
    ]);
    this.#show(state, prediction);
    if (this.chart) drawEnergies(this.chart, trajectory.free_energy);
  }

  #show({ seen, drawing, shaded }, { prediction, probabilities }) {
    paint(this.canvas, prediction.map((pixel, place) => restoredColour(seen[place], pixel, probabilities[place], shaded)));
    const [wrong, before] = [differences(prediction, drawing), differences(seen, drawing)];
    this.error.replaceChildren(element("strong", {}, count(wrong)), ` wrong · ${before} before`);
    Object.assign(this.root.dataset, { wrong, before, prediction: prediction.join("") });
    const added = prediction.filter((pixel, place) => pixel && !seen[place]).length;
    const removed = prediction.filter((pixel, place) => !pixel && seen[place]).length;
    const uncertain = probabilities.filter(isUncertain).length;
    this.changes.textContent = `${added} added · ${removed} removed · ${uncertain} uncertain`;
  }
}

const OBJECTIVES = { perceptron: "CD-PercLoss", max_margin: "max margin", exact: "likelihood" };

/** A short description of a model, in the paper's terms. */
function summary({ kind, parameters }) {
  const { objective, objective_params: settings, n_hidden: hidden } = parameters;
  const name = objective === "cd" ? `CD-${settings?.n_steps ?? 1}` : OBJECTIVES[objective];
  const parts = [kind.replace("Classifier", ""), name, hidden && `${hidden} hidden`];
  return parts.filter(Boolean).join(" · ");
}

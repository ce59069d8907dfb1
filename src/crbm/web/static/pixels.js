// View of models that label pixels: pick or drop an image, damage it, paint known labels.

import { modelUrl, get, latest, post } from "./api.js";
import { checkbox, element, segments, slider } from "./dom.js";

const UNKNOWN = 255;
const LARGEST_SIDE = 512; // larger images are made smaller before they are sent
const N_SAMPLES = 3;

export async function pixelView(models, showError) {
  const photo = new Photo(models[0], () => update());
  const cards = models.map((model) => new Card(model));
  const results = element("section", { className: "results", "aria-label": "Labels" },
    legend(models[0]), ...cards.map((card) => card.root));
  const refresh = latest(results, async (state) => {
    try {
      await Promise.all(cards.map((card) => card.request(state)));
      showError();
    } catch (error) {
      showError(error.message);
    }
  });
  const update = () => { if (photo.ready) refresh(photo.state()); };
  const { images } = await get(modelUrl(models[0], "example-images"));
  const panel = inputPanel(models[0], photo, images, cards, showError);
  if (images.length) await photo.load(`data:image/png;base64,${images[0]}`);
  return element("div", { className: "split" }, panel, results);
}

function inputPanel(model, photo, images, cards, showError) {
  const open = async (file) => {
    try {
      await photo.load(await dataUrl(file));
    } catch {
      showError(`“${file.name}” cannot be shown as an image. Pick a PNG, JPEG, WebP or BMP file.`);
    }
  };
  const labels = model.label_names.map((name, label) => ({ value: String(label), text: name }));
  const pen = segments({
    label: "Pen", selected: String(UNKNOWN), className: "wrap",
    options: [...labels, { value: String(UNKNOWN), text: "Unknown" }, { value: "noise", text: "Noise" }],
    onChange: (value) => { photo.pen = value; },
  });
  const clear = element("button", { type: "button", className: "plain", onclick: () => photo.clear() }, "Clear paint");
  const size = slider({ label: "Pen size", min: 1, max: 31, value: 7, unit: " px", onInput: (value) => { photo.penSize = value; } });
  const noise = slider({ label: "Noise", min: 0, max: 100, value: 0, unit: " %", onInput: (value) => photo.setNoise(value / 100) });
  const overlay = checkbox({
    label: "Show the image below the labels", checked: true,
    onChange: (checked) => cards.forEach((card) => card.show(checked)),
  });
  return element("section", { className: "panel", "aria-label": "Input" },
    element("h2", {}, "Image"), picker(open), examples(images, photo), photo.root,
    element("p", { className: "hint" }, "Paint labels that you know, or noise to be removed, on the image."),
    pen, size.root, noise.root, overlay.root, element("div", { className: "row" }, clear));
}

/** A field for a file, which may also be dropped on it. */
function picker(onFile) {
  const input = element("input", { type: "file", accept: "image/png,image/jpeg,image/webp,image/bmp", "aria-label": "Image file" });
  input.addEventListener("change", () => { if (input.files[0]) onFile(input.files[0]); });
  const root = element("div", { className: "drop" }, "Drop an image here, or pick one:", input);
  root.addEventListener("dragover", (event) => { event.preventDefault(); root.classList.add("over"); });
  root.addEventListener("dragleave", () => root.classList.remove("over"));
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    root.classList.remove("over");
    if (event.dataTransfer.files[0]) onFile(event.dataTransfer.files[0]);
  });
  return root;
}

function examples(images, photo) {
  return element("div", { className: "strip" }, ...images.map((content, place) => {
    const url = `data:image/png;base64,${content}`;
    return element("button", { type: "button", className: "thumb", "aria-label": `Example ${place + 1}`, onclick: () => photo.load(url) },
      element("img", { src: url, alt: "" }));
  }));
}

function legend(model) {
  const items = model.label_names.map((name, label) => {
    const swatch = element("span", { className: "swatch label" });
    swatch.style.background = model.colours[label];
    return element("li", {}, swatch, name);
  });
  return element("ul", { className: "legend", "aria-label": "Colours" }, ...items);
}

/** The image that is sent: what was loaded, with noise, and the labels painted on it. */
class Photo {
  constructor(model, onChange) {
    Object.assign(this, { model, onChange, pen: String(UNKNOWN), penSize: 7, noise: 0, ready: false });
    this.canvas = element("canvas", { width: 1, height: 1, role: "img", "aria-label": "Image to paint on" });
    this.root = element("div", { className: "photo" }, this.canvas);
    this.canvas.addEventListener("pointerdown", (event) => { this.canvas.setPointerCapture(event.pointerId); this.#dab(event); });
    this.canvas.addEventListener("pointermove", (event) => { if (this.canvas.hasPointerCapture(event.pointerId)) this.#dab(event); });
    this.canvas.addEventListener("pointerup", () => this.onChange());
  }

  async load(url) {
    const image = await loaded(url);
    const scale = Math.min(1, LARGEST_SIDE / Math.max(image.width, image.height));
    this.width = Math.max(1, Math.round(image.width * scale));
    this.height = Math.max(1, Math.round(image.height * scale));
    const canvas = element("canvas", { width: this.width, height: this.height });
    canvas.getContext("2d").drawImage(image, 0, 0, this.width, this.height);
    this.clean = canvas.getContext("2d").getImageData(0, 0, this.width, this.height);
    Object.assign(this.canvas, { width: this.width, height: this.height });
    this.draws = Float64Array.from({ length: 2 * this.width * this.height }, Math.random);
    this.ready = true;
    this.clear();
  }

  clear() {
    if (!this.ready) return;
    this.known = new Uint8Array(this.width * this.height).fill(UNKNOWN);
    this.noisy = new Uint8Array(this.width * this.height);
    this.#draw();
    this.onChange();
  }

  setNoise(share) {
    this.noise = share;
    if (!this.ready) return;
    this.#draw();
    this.onChange();
  }

  /** What the models get: the image, and the labels if any are known. */
  state() {
    const isKnown = this.known.some((label) => label !== UNKNOWN);
    return { pixels: this.#damaged(), image: png(this.#damaged()), known: isKnown ? png(grey(this.known, this.width, this.height)) : null };
  }

  /** The image with random colours where there is noise. */
  #damaged() {
    const result = new ImageData(new Uint8ClampedArray(this.clean.data), this.width, this.height);
    for (let place = 0; place < this.noisy.length; place += 1) {
      if (!this.noisy[place] && this.draws[2 * place] >= this.noise) continue;
      const value = this.draws[2 * place + 1] < 0.5 ? 0 : 255;
      result.data.set([value, value, value], 4 * place);
    }
    return result;
  }

  #draw() {
    const shown = this.#damaged();
    this.known.forEach((label, place) => {
      if (label !== UNKNOWN) shown.data.set(label ? rgb(this.model.colours[label]) : [40, 40, 40], 4 * place);
    });
    this.canvas.getContext("2d").putImageData(shown, 0, 0);
  }

  #dab(event) {
    if (!this.ready) return;
    const box = this.canvas.getBoundingClientRect();
    const row = ((event.clientY - box.top) / box.height) * this.height;
    const column = ((event.clientX - box.left) / box.width) * this.width;
    const reach = this.penSize / 2;
    for (let r = Math.max(0, Math.ceil(row - reach - 0.5)); r < Math.min(this.height, row + reach); r += 1) {
      for (let c = Math.max(0, Math.ceil(column - reach - 0.5)); c < Math.min(this.width, column + reach); c += 1) {
        const place = r * this.width + c;
        if (this.pen === "noise") this.noisy[place] = 1;
        else this.known[place] = Number(this.pen);
      }
    }
    this.#draw();
  }
}

/** One model's labels, how unsure it is, and samples. */
class Card {
  constructor(model) {
    this.model = model;
    this.overlaid = true;
    this.maps = element("div", { className: "maps" });
    this.shares = element("p", { className: "hint" });
    this.root = element("article", { className: "card", dataset: { model: model.name } },
      element("h2", {}, model.name), this.shares, this.maps);
  }

  async request(state) {
    const body = { image: state.image, known: state.known, n_samples: N_SAMPLES };
    const answer = await post(modelUrl(this.model, "label-image"), body);
    const masks = await Promise.all([answer.mask, ...answer.samples].map(values));
    this.latest = { answer, masks, pixels: state.pixels, unsure: await values(answer.uncertainty) };
    this.show(this.overlaid);
  }

  show(overlaid) {
    this.overlaid = overlaid;
    if (!this.latest) return;
    const { answer, masks, pixels, unsure } = this.latest;
    const titles = ["Labels", ...answer.samples.map((_, place) => `Sample ${place + 1}`)];
    const figures = masks.map((mask, place) => figure(titles[place], this.#coloured(mask, pixels)));
    figures.splice(1, 0, figure("Uncertainty", grey(unsure, answer.width, answer.height)));
    this.maps.replaceChildren(...figures);
    const present = answer.labels.filter(({ share }) => share > 0);
    this.shares.textContent = present.map(({ name, share }) => `${name} ${(100 * share).toFixed(1)} %`).join(" · ");
    this.root.dataset.mask = masks[0].join("");
    this.root.dataset.unsure = answer.mean_uncertainty;
  }

  #coloured(mask, pixels) {
    const result = new ImageData(pixels.width, pixels.height);
    const colours = this.model.colours.map(rgb);
    mask.forEach((label, place) => {
      const below = pixels.data.subarray(4 * place, 4 * place + 3);
      const share = this.overlaid ? (label === 0 && colours.length === 2 ? 0 : 0.6) : 1;
      const mixed = colours[label].map((value, channel) => share * value + (1 - share) * below[channel]);
      result.data.set([...mixed, 255], 4 * place);
    });
    return result;
  }
}

function figure(title, pixels) {
  const canvas = element("canvas", { width: pixels.width, height: pixels.height, role: "img", "aria-label": title });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return element("figure", {}, canvas, element("figcaption", {}, title));
}

const rgb = (colour) => [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16));

function grey(values, width, height) {
  const result = new ImageData(width, height);
  values.forEach((value, place) => result.data.set([value, value, value, 255], 4 * place));
  return result;
}

/** Pixels as a PNG file in base64. */
function png(pixels) {
  const canvas = element("canvas", { width: pixels.width, height: pixels.height });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas.toDataURL("image/png").split(",")[1];
}

/** The first channel of a PNG file in base64. */
async function values(content) {
  const image = await loaded(`data:image/png;base64,${content}`);
  const canvas = element("canvas", { width: image.width, height: image.height });
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  return Uint8Array.from({ length: data.length / 4 }, (_, place) => data[4 * place]);
}

async function loaded(url) {
  const image = new Image();
  image.src = url;
  await image.decode();
  return image;
}

const dataUrl = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result);
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
});

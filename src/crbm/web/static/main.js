// The page: one view for each group of models that take the same input.

import { get } from "./api.js";
import { fillSegments } from "./dom.js";
import { imageView } from "./images.js";
import { labelView } from "./labels.js";

const status = document.querySelector("#status");
const view = document.querySelector("#view");

/** Tell a mistake, or with nothing take it back. */
function say(text = "") {
  status.textContent = text;
}

/** Models that can stand side by side: same inputs, same outputs. */
function grouped(models) {
  const groups = new Map();
  for (const model of models) {
    const key = JSON.stringify([model.n_inputs, model.image_shape ?? model.label_names]);
    groups.set(key, [...(groups.get(key) ?? []), model]);
  }
  return [...groups.values()];
}

function title([model, ...others]) {
  const count = others.length ? ` · ${others.length + 1} models` : ` · ${model.name}`;
  if (model.image_shape) return `Images ${model.image_shape[1]} × ${model.image_shape[0]}${count}`;
  return `${model.n_labels} ${model.n_labels === 1 ? "label" : "labels"}${count}`;
}

async function show(group) {
  say();
  const make = group[0].image_shape ? imageView : labelView;
  view.replaceChildren(await make(group, say));
}

async function start() {
  const groups = grouped(await get("/api/models"));
  const tabs = document.querySelector("#tabs");
  tabs.hidden = groups.length < 2;
  const options = groups.map((group, place) => ({ value: String(place), text: title(group) }));
  fillSegments(tabs, options, "0", (value) => show(groups[Number(value)]).catch((error) => say(error.message)));
  await show(groups[0]);
}

start().catch((error) => say(error.message));

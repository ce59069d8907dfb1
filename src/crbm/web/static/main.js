// The page: one view for each group of models with the same inputs and outputs.

import { get } from "./api.js";
import { fillSegments } from "./dom.js";
import { imageView } from "./images.js";
import { pixelView } from "./pixels.js";
import { labelView } from "./labels.js";
import { tokenForm } from "./token.js";

const status = document.querySelector("#status");
const view = document.querySelector("#view");

/** Show an error message; without a text, clear it. */
function showError(text = "") {
  status.textContent = text;
}

/** Group models by inputs and outputs; a group is shown side by side. */
function groupModels(models) {
  const groups = new Map();
  for (const model of models) {
    const key = JSON.stringify([model.columns ?? model.n_inputs, model.image_shape ?? model.label_names, model.colours]);
    groups.set(key, [...(groups.get(key) ?? []), model]);
  }
  return [...groups.values()];
}

function title([model, ...others]) {
  if (model.colours) return `Labels of pixels${others.length ? ` · ${others.length + 1} models` : ` · ${model.name}`}`;
  const count = others.length ? ` · ${others.length + 1} models` : ` · ${model.name}`;
  if (model.image_shape) return `Images ${model.image_shape[1]} × ${model.image_shape[0]}${count}`;
  return `${model.n_labels} ${model.n_labels === 1 ? "label" : "labels"}${count}`;
}

async function show(group) {
  showError();
  const make = group[0].colours ? pixelView : group[0].image_shape ? imageView : labelView;
  view.replaceChildren(await make(group, showError));
}

async function start() {
  const groups = groupModels(await get("/api/models"));
  const tabs = document.querySelector("#tabs");
  tabs.hidden = groups.length < 2;
  const options = groups.map((group, index) => ({ value: String(index), text: title(group) }));
  tabs.replaceChildren();
  fillSegments(tabs, options, "0", (value) => show(groups[Number(value)]).catch((error) => showError(error.message)));
  await show(groups[0]);
}

/** Start, or ask for the token if the server needs one. */
function begin() {
  start().catch((error) => {
    if (error.status === 401) view.replaceChildren(tokenForm(begin));
    else showError(error.message);
  });
}

begin();

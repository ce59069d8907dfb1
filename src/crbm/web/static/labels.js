// View of label models: label probabilities, label sets, and the effect of known labels.

import { modelUrl, get, latest, post } from "./api.js";
import { element, segments } from "./dom.js";
import { Form, formColumns } from "./fields.js";
import { parseRow } from "./rows.js";

const MAX_LINES = 40;
const N_SETS = 5;
const percent = (p) => (p > 0 && p < 0.001 ? "<0.1 %" : `${(100 * p).toFixed(1)} %`);

export async function labelView(models, showError) {
  const names = models[0].label_names;
  const examples = await firstExamples(models);
  const known = {};
  let input = null;
  const board = new Board(models, names, (name, value) => {
    if (value === null) delete known[name];
    else known[name] = value;
    update();
  });
  const lists = models.map((model, index) => new SetList(model, index));
  const refresh = latest(board.root, async (row, given) => {
    try {
      const free = models.map((model) => post(modelUrl(model, "predict"), { input: row }));
      const conditional = models.map((model) => post(modelUrl(model, "predict"), { input: row, known: given }));
      const sets = models.map((model) => post(modelUrl(model, "top-k"), { input: row, known: given, k: N_SETS }));
      const predictions = await Promise.all(conditional);
      board.show(predictions, await Promise.all(free), given);
      (await Promise.all(sets)).forEach((result, index) => lists[index].show(result.sets, predictions[index].labels));
      showError();
    } catch (error) {
      showError(error.message);
    }
  });
  const update = () => { if (input) refresh(input, { ...known }); };
  const panel = inputPanel(models[0], examples, (row) => { input = row; update(); });
  panel.choose(0);
  const clear = element("button", { type: "button", className: "plain", onclick: () => board.clear() }, "Clear known labels");
  const labels = element("section", { className: "panel", "aria-label": "Labels" },
    element("div", { className: "row" }, element("h2", {}, "Labels"), clear),
    modelKey(models), board.root);
  const sets = element("section", { className: "results", "aria-label": "Most probable label sets" },
    ...lists.map((list) => list.root));
  return element("div", { className: "split labels" }, panel.root, labels, sets);
}

async function firstExamples(models) {
  for (const model of models) {
    if (model.n_examples) return (await get(modelUrl(model, "examples"))).inputs;
  }
  return [];
}

/** The legend: the colour of each model. */
function modelKey(models) {
  const items = models.map((model, index) =>
    element("li", {}, element("span", { className: `swatch model-${index % 6}` }), model.name));
  return element("ul", { className: "legend", "aria-label": "Models" }, ...items,
    element("li", {}, element("span", { className: "swatch tick" }), "without known labels"));
}

/** The input: a form if the columns have names, else a row of numbers. */
function inputPanel(model, examples, onRow) {
  const columns = formColumns(model);
  return columns ? formPanel(model, columns, examples, onRow) : rowPanel(model, examples, onRow);
}

function formPanel(model, columns, examples, onRow) {
  const names = columns.map(({ name }) => name);
  const rows = examples.length ? examples : [{}];
  const records = rows.map((row) => (Array.isArray(row) ? Object.fromEntries(names.map((name, index) => [name, row[index]])) : row));
  const form = new Form(columns, onRow);
  const choose = (index) => {
    form.fill(records[index]);
    onRow(form.record());
  };
  const options = records.map((_, index) => ({ value: String(index), text: examples.length ? String(index + 1) : "Empty" }));
  const picker = segments({ label: "Example", options, selected: "0", onChange: (value) => choose(Number(value)), className: "wrap" });
  const root = element("section", { className: "panel", "aria-label": "Input" },
    element("h2", {}, "Input"),
    element("p", { className: "caption" }, examples.length ? "Examples" : "The model file has no examples"), picker, form.root);
  return { root, choose };
}

function rowPanel(model, examples, onRow) {
  const rows = examples.length ? examples : [new Array(model.n_inputs).fill(0)];
  const options = rows.map((_, index) => ({ value: String(index), text: examples.length ? String(index + 1) : "All zero" }));
  const problem = element("p", { className: "problem", role: "alert" });
  const text = element("textarea", { rows: 6, spellcheck: false, id: "row" });
  text.addEventListener("input", () => {
    const { row, error } = parseRow(text.value, model.n_inputs);
    problem.textContent = error ?? "";
    if (row) onRow(row);
  });
  const choose = (index) => {
    text.value = rows[index].map((value) => (value === null ? "?" : Number(value.toPrecision(6)))).join(", ");
    problem.textContent = "";
    onRow(rows[index]);
  };
  const picker = segments({ label: "Example", options, selected: "0", onChange: (value) => choose(Number(value)), className: "wrap" });
  const root = element("section", { className: "panel", "aria-label": "Input" },
    element("h2", {}, "Input"),
    element("p", { className: "caption" }, examples.length ? "Examples" : "The model file has no examples"), picker,
    element("label", { className: "caption", for: "row" }, `Or paste a row of ${model.n_inputs} numbers`),
    text, problem,
    element("p", { className: "hint" }, "Separated by commas, semicolons, tabs or spaces."));
  return { root, choose };
}

/** One line per label: its known value and each model's probability. */
class Board {
  constructor(models, names, onKnown) {
    this.lines = names.map((name) => new Line(name, models, onKnown));
    this.list = element("ul", { className: "board" }, ...this.lines.map((line) => line.root));
    this.root = element("div", {}, this.list);
    if (names.length > MAX_LINES) this.root.prepend(this.#filter());
  }

  #filter() {
    const input = element("input", { type: "search", placeholder: "Filter labels", "aria-label": "Filter labels" });
    input.addEventListener("input", () => {
      this.filter = input.value.toLowerCase();
      this.#showMatches();
    });
    return input;
  }

  show(given, free, known) {
    this.lines.forEach((line, index) => line.show(
      given.map((result) => result.probabilities[index]),
      free.map((result) => result.probabilities[index]),
      known[line.name],
    ));
    if (this.lines.length > MAX_LINES) this.#showMatches();
  }

  /** With many labels, show the most probable ones that match the filter. */
  #showMatches() {
    const matching = this.lines.filter((line) => line.name.toLowerCase().includes(this.filter ?? ""));
    matching.sort((a, b) => b.rank - a.rank);
    this.list.replaceChildren(...matching.slice(0, MAX_LINES).map((line) => line.root));
  }

  clear() {
    for (const line of this.lines) line.clear();
  }
}

class Line {
  constructor(name, models, onKnown) {
    Object.assign(this, { name, onKnown, rank: 0 });
    this.choice = segments({
      label: `${name}: known value`, selected: "", className: "tiny",
      options: [
        { value: "0", text: "no", title: `${name} is known to be absent` },
        { value: "", text: "?", title: `${name} is not known` },
        { value: "1", text: "yes", title: `${name} is known to be present` },
      ],
      onChange: (value) => onKnown(name, value === "" ? null : Number(value)),
    });
    this.bars = models.map((model, index) => new Bar(`${name}, ${model.name}`, index));
    this.root = element("li", { dataset: { label: name } },
      element("span", { className: "name", title: name }, name), this.choice,
      element("div", { className: "bars" }, ...this.bars.map((bar) => bar.root)));
  }

  show(given, free, known) {
    this.rank = known === undefined ? Math.max(...given) : 2;
    this.root.classList.toggle("given", known !== undefined);
    this.root.dataset.probability = String(given[0]);
    this.bars.forEach((bar, index) => bar.show(given[index], free[index]));
  }

  clear() {
    const input = this.choice.querySelector("input[value='']");
    if (input.checked) return;
    input.checked = true;
    this.onKnown(this.name, null);
  }
}

/** A probability, and a tick at its value without known labels. */
class Bar {
  constructor(label, index) {
    this.fill = element("div", { className: `fill model-${index % 6}` });
    this.tick = element("div", { className: "tick" });
    this.track = element("div", { className: "track", role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 1 },
      this.fill, this.tick);
    this.value = element("span", { className: "value" });
    this.root = element("div", { className: "bar" }, this.track, this.value);
  }

  show(now, free) {
    this.fill.style.width = `${100 * now}%`;
    this.tick.style.left = `${100 * free}%`;
    this.track.setAttribute("aria-valuenow", now.toFixed(4));
    this.value.textContent = percent(now);
  }
}

// What each value of the parameter `prediction` predicts.
const RULES = {
  marginals: "Predicted: the labels above their thresholds",
  mode: "Predicted: the most probable set",
  example_f1: "Predicted: the highest expected F1",
  jaccard: "Predicted: the highest expected Jaccard index",
};

function chips(labels) {
  return labels.length ? labels.map((label) => element("span", { className: "chip" }, label)) : ["no label"];
}

/** The prediction of one model, and its most probable label sets. */
class SetList {
  constructor(model, index) {
    this.index = index;
    this.predicted = element("div", { className: "chips predicted" });
    this.list = element("ol", { className: "sets" });
    const rule = RULES[model.parameters.prediction] ?? "Predicted";
    this.root = element("article", { className: "card", dataset: { model: model.name } },
      element("h2", {}, model.name), element("p", { className: "hint" }, rule), this.predicted, element("p", { className: "hint" }, "Most probable label sets and their joint probabilities"), this.list);
  }

  show(sets, predicted) {
    this.predicted.replaceChildren(...chips(predicted));
    this.list.replaceChildren(...sets.map(({ labels, probability }) => {
      const fill = element("div", { className: `fill model-${this.index % 6}` });
      fill.style.width = `${100 * probability}%`;
      return element("li", {},
        element("div", { className: "chips" }, ...chips(labels)),
        element("div", { className: "bar" }, element("div", { className: "track" }, fill), element("span", { className: "value" }, percent(probability))));
    }));
  }
}

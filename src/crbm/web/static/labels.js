// Label models: how likely each label is, which sets are, and what changes when some are known.

import { about, get, latest, post } from "./api.js";
import { element, segments } from "./dom.js";
import { parseRow } from "./rows.js";

const MANY = 40;
const N_SETS = 5;
const percent = (p) => (p > 0 && p < 0.001 ? "<0.1 %" : `${(100 * p).toFixed(1)} %`);

export async function labelView(models, say) {
  const names = models[0].label_names;
  const examples = await firstExamples(models);
  const known = {};
  let input = null;
  const board = new Board(models, names, (name, value) => {
    if (value === null) delete known[name];
    else known[name] = value;
    update();
  });
  const lists = models.map((model, place) => new SetList(model, place));
  const refresh = latest(board.root, async (row, told) => {
    try {
      const free = models.map((model) => post(about(model, "predict"), { input: row }));
      const given = models.map((model) => post(about(model, "predict"), { input: row, known: told }));
      const sets = models.map((model) => post(about(model, "top-k"), { input: row, known: told, k: N_SETS }));
      board.show(await Promise.all(given), await Promise.all(free), told);
      (await Promise.all(sets)).forEach((found, place) => lists[place].show(found.sets));
      say();
    } catch (error) {
      say(error.message);
    }
  });
  const update = () => { if (input) refresh(input, { ...known }); };
  const panel = inputPanel(models[0], examples, (row) => { input = row; update(); });
  panel.choose(0);
  const forget = element("button", { type: "button", className: "plain", onclick: () => board.forget() }, "Forget what is known");
  const labels = element("section", { className: "panel", "aria-label": "Labels" },
    element("div", { className: "row" }, element("h2", {}, "Labels"), forget),
    modelKey(models), board.root);
  const sets = element("section", { className: "results", "aria-label": "Likely label sets" },
    ...lists.map((list) => list.root));
  return element("div", { className: "split labels" }, panel.root, labels, sets);
}

async function firstExamples(models) {
  for (const model of models) {
    if (model.n_examples) return (await get(about(model, "examples"))).inputs;
  }
  return [];
}

/** Which bar is which model's. */
function modelKey(models) {
  const items = models.map((model, place) =>
    element("li", {}, element("span", { className: `swatch model-${place % 6}` }), model.name));
  return element("ul", { className: "legend", "aria-label": "Models" }, ...items,
    element("li", {}, element("span", { className: "swatch tick" }), "with nothing known"));
}

function inputPanel(model, examples, onRow) {
  const rows = examples.length ? examples : [new Array(model.n_inputs).fill(0)];
  const options = rows.map((_, place) => ({ value: String(place), text: examples.length ? String(place + 1) : "All zero" }));
  const problem = element("p", { className: "problem", role: "alert" });
  const text = element("textarea", { rows: 6, spellcheck: false, id: "row" });
  text.addEventListener("input", () => {
    const { row, error } = parseRow(text.value, model.n_inputs);
    problem.textContent = error ?? "";
    if (row) onRow(row);
  });
  const choose = (place) => {
    text.value = rows[place].map((value) => Number(value.toPrecision(6))).join(", ");
    problem.textContent = "";
    onRow(rows[place]);
  };
  const picker = segments({ label: "Example", options, chosen: "0", onChange: (value) => choose(Number(value)), className: "wrap" });
  const root = element("section", { className: "panel", "aria-label": "Input" },
    element("h2", {}, "Input"),
    element("p", { className: "caption" }, examples.length ? "Examples" : "The model file carries no examples"), picker,
    element("label", { className: "caption", for: "row" }, `Or paste a row of ${model.n_inputs} numbers`),
    text, problem,
    element("p", { className: "hint" }, "Separated by commas, semicolons, tabs or spaces."));
  return { root, choose };
}

/** One line per label: what is known of it, and each model's probability. */
class Board {
  constructor(models, names, onKnown) {
    this.lines = names.map((name) => new Line(name, models, onKnown));
    this.list = element("ul", { className: "board" }, ...this.lines.map((line) => line.root));
    this.root = element("div", {}, this.list);
    if (names.length > MANY) this.root.prepend(this.#filter());
  }

  #filter() {
    const input = element("input", { type: "search", placeholder: "Filter labels", "aria-label": "Filter labels" });
    input.addEventListener("input", () => {
      this.wanted = input.value.toLowerCase();
      this.#arrange();
    });
    return input;
  }

  show(given, free, known) {
    this.lines.forEach((line, place) => line.show(
      given.map((found) => found.probabilities[place]),
      free.map((found) => found.probabilities[place]),
      known[line.name],
    ));
    if (this.lines.length > MANY) this.#arrange();
  }

  /** With very many labels: the likeliest, and whatever is searched for. */
  #arrange() {
    const fitting = this.lines.filter((line) => line.name.toLowerCase().includes(this.wanted ?? ""));
    fitting.sort((one, other) => other.rank - one.rank);
    this.list.replaceChildren(...fitting.slice(0, MANY).map((line) => line.root));
  }

  forget() {
    for (const line of this.lines) line.forget();
  }
}

class Line {
  constructor(name, models, onKnown) {
    Object.assign(this, { name, onKnown, rank: 0 });
    this.choice = segments({
      label: `${name}: what is known`, chosen: "", className: "tiny",
      options: [
        { value: "0", text: "no", title: `${name} is known to be absent` },
        { value: "", text: "?", title: `${name} is not known` },
        { value: "1", text: "yes", title: `${name} is known to be present` },
      ],
      onChange: (value) => onKnown(name, value === "" ? null : Number(value)),
    });
    this.bars = models.map((model, place) => new Bar(`${name}, ${model.name}`, place));
    this.root = element("li", { dataset: { label: name } },
      element("span", { className: "name", title: name }, name), this.choice,
      element("div", { className: "bars" }, ...this.bars.map((bar) => bar.root)));
  }

  show(given, free, known) {
    this.rank = known === undefined ? Math.max(...given) : 2;
    this.root.classList.toggle("told", known !== undefined);
    this.root.dataset.probability = String(given[0]);
    this.bars.forEach((bar, place) => bar.show(given[place], free[place]));
  }

  forget() {
    const input = this.choice.querySelector("input[value='']");
    if (input.checked) return;
    input.checked = true;
    this.onKnown(this.name, null);
  }
}

/** A probability now, and a tick where it was with nothing known. */
class Bar {
  constructor(label, place) {
    this.fill = element("div", { className: `fill model-${place % 6}` });
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

/** The likeliest whole sets of one model. */
class SetList {
  constructor(model, place) {
    this.place = place;
    this.list = element("ol", { className: "sets" });
    this.root = element("article", { className: "card", dataset: { model: model.name } },
      element("h2", {}, model.name), element("p", { className: "hint" }, "Likeliest sets, joint probability"), this.list);
  }

  show(sets) {
    this.list.replaceChildren(...sets.map(({ labels, probability }) => {
      const fill = element("div", { className: `fill model-${this.place % 6}` });
      fill.style.width = `${100 * probability}%`;
      const chips = labels.length ? labels.map((label) => element("span", { className: "chip" }, label)) : ["no label"];
      return element("li", {},
        element("div", { className: "chips" }, ...chips),
        element("div", { className: "bar" }, element("div", { className: "track" }, fill), element("span", { className: "value" }, percent(probability))));
    }));
  }
}

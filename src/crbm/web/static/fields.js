// A form with one field per column of a table: numbers, choices, texts, dates.

import { element } from "./dom.js";

const MISSING = "";
let forms = 0;

/** The columns to ask for: those of a table, or named numbers if they are few. */
export function formColumns(model, most = 60) {
  if (model.columns) return model.columns;
  if (!model.input_names || model.input_names.length > most) return null;
  return model.input_names.map((name) => ({ name, kind: "number" }));
}

/** A form that calls `onRecord` with an object from names to values or null. */
export class Form {
  constructor(columns, onRecord) {
    this.prefix = `form-${(forms += 1)}`;
    this.fields = columns.map((column, index) => makeField(column, `${this.prefix}-${index}`));
    this.root = element("form", { className: "fields", autocomplete: "off" }, ...this.fields.map(({ root }) => root));
    this.root.addEventListener("submit", (event) => event.preventDefault());
    this.root.addEventListener("input", () => {
      if (this.root.checkValidity()) onRecord(this.record());
    });
  }

  record() {
    return Object.fromEntries(this.fields.map(({ name, read }) => [name, read()]));
  }

  fill(record) {
    for (const { name, write } of this.fields) write(record[name] ?? null);
  }
}

function makeField(column, id) {
  const { input, read, write } = makers[column.kind](column);
  input.id = id;
  const caption = element("label", { className: "caption", for: id, title: column.name }, column.name);
  const root = element("div", { className: `field ${column.kind}`, dataset: { column: column.name } }, caption, input);
  return { name: column.name, root, read, write };
}

const makers = {
  number() {
    const input = element("input", { type: "number", step: "any", placeholder: "missing" });
    const read = () => (input.value === MISSING ? null : Number(input.value));
    const write = (value) => { input.value = value === null ? MISSING : String(Number(Number(value).toPrecision(6))); };
    return { input, read, write };
  },

  boolean() {
    const input = choice([["missing", MISSING], ["yes", "true"], ["no", "false"]]);
    const read = () => (input.value === MISSING ? null : input.value === "true");
    const write = (value) => { input.value = value === null ? MISSING : String(Boolean(value)); };
    return { input, read, write };
  },

  categorical({ levels }) {
    const input = choice([["missing", MISSING], ...levels.map((level) => [level, level])]);
    const read = () => (input.value === MISSING ? null : input.value);
    const write = (value) => {
      const known = value === null || levels.includes(String(value));
      if (!known) input.append(element("option", { value: String(value) }, `${value} (other)`));
      input.value = value === null ? MISSING : String(value);
    };
    return { input, read, write };
  },

  text() {
    const input = element("textarea", { rows: 4, placeholder: "missing" });
    const read = () => (input.value === MISSING ? null : input.value);
    const write = (value) => { input.value = value ?? MISSING; };
    return { input, read, write };
  },

  date() {
    const input = element("input", { type: "datetime-local", step: 1 });
    const read = () => (input.value === MISSING ? null : input.value);
    const write = (value) => {
      const hasTime = value !== null && !/T00:00:00$/.test(value);
      input.type = hasTime ? "datetime-local" : "date";
      input.value = value === null ? MISSING : value.slice(0, hasTime ? 19 : 10);
    };
    write(null);
    return { input, read, write };
  },
};

function choice(options) {
  return element("select", {}, ...options.map(([text, value]) => element("option", { value }, text)));
}

// Create elements. Text is never parsed as HTML, so names in a model file cannot be markup.

/** Create an element with properties (also `dataset`, `aria-*` and handlers) and children. */
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-") || name === "role" || name === "for") node.setAttribute(name, value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

let fields = 0;

/** A slider whose label shows its value. */
export function slider({ label, min, max, step = 1, value, unit = "", onInput }) {
  const output = element("output", {}, `${value}${unit}`);
  const id = `field-${(fields += 1)}`;
  const input = element("input", { type: "range", id, min, max, step, value });
  input.addEventListener("input", () => {
    output.textContent = `${input.value}${unit}`;
    onInput(Number(input.value));
  });
  const caption = element("label", { className: "caption", for: id }, label, output);
  return { root: element("div", { className: "field" }, caption, input), input };
}

/** A checkbox with its label. */
export function checkbox({ label, checked = false, onChange }) {
  const input = element("input", { type: "checkbox", checked });
  input.addEventListener("change", () => onChange(input.checked));
  return { root: element("label", { className: "check" }, input, label), input };
}

/** A group of radio buttons, shown side by side. */
export function segments({ label, options, selected, onChange, className = "" }) {
  const root = element("div", { className: `segments ${className}`, role: "radiogroup", "aria-label": label });
  fillSegments(root, options, selected, onChange);
  return root;
}

/** Add radio buttons to an existing element. */
export function fillSegments(root, options, selected, onChange) {
  const name = `choice-${(fields += 1)}`;
  for (const { value, text, title } of options) {
    const input = element("input", { type: "radio", name, value, checked: value === selected });
    if (title) input.setAttribute("aria-label", title);
    input.addEventListener("change", () => onChange(value));
    root.append(element("label", {}, input, element("span", {}, text)));
  }
}

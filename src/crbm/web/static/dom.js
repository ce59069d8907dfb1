// Elements made by hand: text is always text, so no name in a model file can be markup.

/** An element with properties and children; `dataset`, `aria-*` and handlers included. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-") || name === "role" || name === "for") made.setAttribute(name, value);
    else if (name === "dataset") Object.assign(made.dataset, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

let fields = 0;

/** A labelled input: the label's text follows its value. */
export function slider({ label, min, max, step = 1, value, unit = "", onInput }) {
  const shown = element("output", {}, `${value}${unit}`);
  const id = `field-${(fields += 1)}`;
  const input = element("input", { type: "range", id, min, max, step, value });
  input.addEventListener("input", () => {
    shown.textContent = `${input.value}${unit}`;
    onInput(Number(input.value));
  });
  const caption = element("label", { className: "caption", for: id }, label, shown);
  return { root: element("div", { className: "field" }, caption, input), input };
}

/** A checkbox with its label. */
export function checkbox({ label, checked = false, onChange }) {
  const input = element("input", { type: "checkbox", checked });
  input.addEventListener("change", () => onChange(input.checked));
  return { root: element("label", { className: "check" }, input, label), input };
}

/** One choice of several, side by side. */
export function segments({ label, options, chosen, onChange, className = "" }) {
  const root = element("div", { className: `segments ${className}`, role: "radiogroup", "aria-label": label });
  fillSegments(root, options, chosen, onChange);
  return root;
}

/** The same, into an element that is there already. */
export function fillSegments(root, options, chosen, onChange) {
  const name = `choice-${(fields += 1)}`;
  for (const { value, text, title } of options) {
    const input = element("input", { type: "radio", name, value, checked: value === chosen });
    if (title) input.setAttribute("aria-label", title);
    input.addEventListener("change", () => onChange(value));
    root.append(element("label", {}, input, element("span", {}, text)));
  }
}
